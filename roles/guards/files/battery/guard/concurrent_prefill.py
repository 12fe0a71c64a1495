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
from collections.abc import Sequence
from dataclasses import dataclass, field

from battery.judge.recall import recall
from battery.material import NUMBERS, Document, Fact, documents
from battery.model import Answer, Finding, Proof, Result, Server, Task, judged
from battery.speed.rate import Watched, watched

from .budget import Budget
from .count import asks
from .neighbour import going_on, started

NAME = "concurrent_prefill"
LOOK = 0.05  # seconds between looks at the counters
# Blocks of each document, round by round. Short ones share a step; long ones are read in parts.
QUICK_ROUNDS, ROUNDS = (7,), (7, 7, 7, 32)
RESERVE = 512  # tokens of the context for the introduction, the question and the answer
TOGETHER = 4  # questions at a time when the order is shuffled
QUICK_PART = 3  # one block of so many is asked for again in a quick run
STREAM_TOKENS, KEPT_RUNNING = 400, 24  # what is generated beside the prefills, and by each document after its own
PROMPT_TOKENS_A_TOKEN = 1024  # while so many are read, one that decodes beside them may generate one and more
SAME_STEP = 0.1  # seconds between first tokens that one step may take to arrive
CACHED = 0.5  # part of what is read back that has to come from the cache, which is what is looked at

Place = tuple[Document, Fact]


@dataclass(slots=True)
class Reading:
    """What reading back came to. `wrong` has what was said the first time; `sticky` those that were so again later."""

    blocks: int = 0
    first: int = 0  # blocks that were read at least once
    reads: int = 0
    wrong: dict[Place, tuple[str, str]] = field(default_factory=dict)
    sticky: set[Place] = field(default_factory=set)
    together: int = 0
    beside: int = 0


async def judge(server: Server, task: Task) -> Result:
    """Prefill `documents` at once beside a decode stream, then ask for every block serially, shuffled, and again."""
    guards, budget = task.guards, Budget.of(task)
    if not guards.documents:
        return Result(NAME, "not asked", "the recipe leaves it out")
    fit = max(1, min((task.context_tokens - RESERVE) // guards.block_tokens, NUMBERS // guards.documents))
    rounds, seen, cached, done = QUICK_ROUNDS if task.quick else ROUNDS, Reading(), [0.0, 0.0], 0
    for number, blocks in enumerate(rounds, 1):
        if budget.spent:
            break
        salt = f"{task.salt} {number}"
        made = await documents(server, salt, guards.documents, min(blocks, fit), guards.block_tokens)
        together, beside = await _prefill(server, made, len(made[0].facts) * guards.block_tokens)
        seen.together, seen.beside = max(seen.together, together), seen.beside + beside
        before = await server.counters()
        await _read_back(server, made, task.quick, budget, seen)
        after = await server.counters()
        cached[0] += after.prefix_hits - before.prefix_hits
        cached[1] += after.prefix_queries - before.prefix_queries
        done += 1
    findings = tuple(
        Finding(f"a block is {verdict}", f"{one.name}, block {fact.block}", f"{said}; {_stuck((one, fact), seen)}")
        for (one, fact), (verdict, said) in seen.wrong.items()
    )
    figures = {
        "documents": guards.documents * done,
        "blocks": seen.blocks,
        "reads": seen.reads,
        "wrong": sum(verdict == "wrong" for verdict, _said in seen.wrong.values()),
        "missing": sum(verdict == "missing" for verdict, _said in seen.wrong.values()),
        "sticky": len(seen.sticky),
        "together": seen.together,
    }
    proofs = (
        Proof("documents prefilled together", seen.together, guards.documents_least),
        Proof("rounds with a decode stream beside the prefills", seen.beside, 1),
        Proof("blocks read back", seen.first, max(1, seen.blocks)),
        Proof("part of the reads from the prefix cache", cached[0] / max(1.0, cached[1]), CACHED),
    )
    summary = f"{guards.documents * done} documents, {seen.reads} reads, {len(seen.wrong)} blocks wrong"
    summary += budget.missed(done, len(rounds), "rounds") + budget.missed(seen.first, seen.blocks, "blocks")
    return judged(NAME, summary, findings, proofs, figures)


async def _read_back(server: Server, made: Sequence[Document], quick: bool, budget: Budget, seen: Reading) -> None:
    """Every block in order, then in a shuffled order a few at a time, and then those that were wrong."""
    places = [(one, fact) for one in made for fact in one.facts]
    codes = [fact.code for _one, fact in places]
    seen.blocks += len(places)

    async def read(place: Place) -> bool:
        one, fact = place
        answer = await server.ask(one.asks(fact))
        verdict = recall(answer.content, fact.code, codes)
        seen.reads += 1
        if verdict != "right":
            seen.wrong.setdefault(place, (verdict, f"expected {fact.code}, it said {answer.content[:80]!r}"))
        return verdict == "right"

    for place in places:
        if budget.spent:
            return
        await read(place)
        seen.first += 1
    again = len(places) // QUICK_PART if quick else len(places)
    shuffled = random.Random(codes[0]).sample(places, again)  # noqa: S311 (an order, not a secret)
    for start in range(0, len(shuffled), TOGETHER):
        if budget.spent:
            return
        async with asyncio.TaskGroup() as group:
            for place in shuffled[start : start + TOGETHER]:
                group.create_task(read(place))
    for place in [place for place in seen.wrong if place[0] in made]:
        if budget.spent:
            return
        if not await read(place):
            seen.sticky.add(place)


def _stuck(place: Place, seen: Reading) -> str:
    return "and again when asked later: it is in the prefix cache" if place in seen.sticky else "once"


async def _prefill(server: Server, made: Sequence[Document], tokens: int) -> tuple[int, bool]:
    """All at once: how many were prefilled together, and whether a stream was generating when they were."""
    kept = KEPT_RUNNING + len(made) * tokens // PROMPT_TOKENS_A_TOKEN
    questions = [going_on(one.asks(one.facts[-1]), kept) for one in made]
    async with asyncio.TaskGroup() as group:
        stream = await started(server, group, going_on(asks(100), STREAM_TOKENS))
        seen = await watched(server, questions, LOOK)
    return together(seen, stream.result())


def together(seen: Watched, stream: Answer) -> tuple[int, bool]:
    """How many first tokens came as of one step, if so many were seen to run; and whether the stream was beside them.

    All wait at the same time. Prefilled one after the other, their first tokens would come in even steps: those count
    as one that are nearer to each other than half of such a step.
    """
    starts = sorted(answer.first_at for answer in seen.answers if answer.first_at is not None)
    if not starts or stream.first_at is None:
        return 0, False
    waited = starts[-1] - min(answer.sent_at for answer in seen.answers)
    near = max(SAME_STEP, waited / len(seen.answers) / 2)
    clustered = max(sum(0 <= other - start <= near for other in starts) for start in starts)
    running = max(look.running - (stream.sent_at <= look.at <= stream.ended_at) for look in seen.looks)
    return int(min(clustered, running)), stream.first_at <= starts[-1] and starts[0] <= stream.ended_at
