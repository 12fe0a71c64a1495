# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Guard 4: documents that are prefilled at the same time, and every block of them read back.

What it looks for needs three prefills in one step: a block that another request still owns is lost, its document
answers one question wrong, and the prefix cache keeps it so until the server starts again (second article, finding 12).
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter

from battery.judge.recall import recall
from battery.material import Document, Fact, documents
from battery.model import Finding, Proof, Question, Result, Server, Task, judged
from battery.speed.rate import PLAIN

from .count import asks

NAME = "concurrent_prefill"
LOOK = 0.01  # seconds between looks at the counters
BLOCKS, QUICK_BLOCKS = 32, 7
RESERVE = 512  # tokens of the context for the introduction, the question and the answer
TOGETHER = 4  # questions at a time when the order is shuffled
KEPT_RUNNING = 24  # tokens that each document generates, so that they are seen to run together

Place = tuple[Document, Fact]


async def judge(server: Server, task: Task) -> Result:
    """Prefill `documents` at once beside a decode stream, then ask for every block serially, shuffled, and again."""
    guards = task.guards
    if not guards.documents:
        return Result(NAME, "not asked", "the recipe leaves it out")
    began = time.monotonic()
    fit = (task.context_tokens - RESERVE) // guards.block_tokens
    blocks = max(1, min(QUICK_BLOCKS if task.quick else BLOCKS, fit))
    made = await documents(server, task.salt, guards.documents, blocks, guards.block_tokens)
    together = await _prefill(server, made)
    places = [(one, fact) for one in made for fact in one.facts]
    codes = [fact.code for _one, fact in places]
    wrong: dict[Place, str] = {}
    reads = 0
    kinds: Counter[str] = Counter()

    async def read(place: Place) -> str:
        one, fact = place
        answer = await server.ask(one.asks(fact))
        verdict = recall(answer.content, fact.code, codes)
        if verdict != "right":
            kinds[verdict] += 1
            wrong.setdefault(place, f"{verdict}: expected {fact.code}, it said {answer.content[:80]!r}")
        return verdict

    unread = 0
    for place in places:
        if time.monotonic() - began > task.budget_seconds / 2:
            unread += 1
            continue
        await read(place)
        reads += 1
    shuffled = random.Random(task.salt).sample(places, len(places) // 3 if task.quick else len(places))  # noqa: S311
    for start in range(0, len(shuffled), TOGETHER):
        if time.monotonic() - began > task.budget_seconds:
            break
        reads += len(await asyncio.gather(*(read(place) for place in shuffled[start : start + TOGETHER])))
    sticky = [place for place in list(wrong) if await read(place) != "right"]
    findings = tuple(
        Finding("a block answers wrong", f"{one.name}, block {fact.block}", f"{words}; {_stuck((one, fact) in sticky)}")
        for (one, fact), words in wrong.items()
    )
    figures = {
        "documents": len(made),
        "blocks": len(places),
        "reads": reads,
        "wrong": kinds["wrong"],
        "missing": kinds["missing"],
        "sticky": len(sticky),
        "together": together,
    }
    proofs = (
        Proof("documents prefilled together", together, guards.documents_least),
        Proof("blocks read back", len(places) - unread, len(places)),
    )
    summary = f"{len(made)} documents, {reads} reads, {len(wrong)} blocks wrong"
    return judged(NAME, summary, findings, proofs, figures)


def _stuck(sticks: bool) -> str:
    return "wrong again when asked later: it is in the prefix cache" if sticks else "right when asked later"


async def _prefill(server: Server, made: list[Document]) -> int:
    """All at once; how many were seen to run at the same time, without the decode stream beside them."""
    stream = asyncio.create_task(server.ask(_stream()))
    looking = asyncio.create_task(_most(server))
    keep = {**PLAIN, "ignore_eos": True}
    questions = [_kept(one.asks(one.facts[-1], KEPT_RUNNING), keep) for one in made]
    try:
        answers = await asyncio.gather(*(server.ask(question) for question in questions))
        beside = not stream.done()
    finally:
        looking.cancel()
        most = (await asyncio.gather(looking, return_exceptions=True))[0]
        await asyncio.gather(stream, return_exceptions=True)
    running = int(most) if isinstance(most, float) else 0
    overlapping = max(sum(one.overlaps(other) for other in answers) for one in answers)
    return min(running - beside, overlapping)


def _stream() -> Question:
    question = asks(100)
    return _kept(question, {**question.extra, "ignore_eos": True})


def _kept(question: Question, extra: dict[str, object]) -> Question:
    return Question(question.messages, question.max_tokens, extra=extra)


async def _most(server: Server) -> float:
    """The most requests that ran at any look, until it is cancelled."""
    most = 0.0
    try:
        while True:
            most = max(most, (await server.counters()).running)
            await asyncio.sleep(LOOK)
    except asyncio.CancelledError:
        return most
