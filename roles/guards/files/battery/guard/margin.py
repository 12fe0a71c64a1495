# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Guard 5: how sure the model is of a code that it read, alone and beside a neighbour, before and after a mixed batch.

A right answer of temperature 0 has a log-probability of nearly 0. What the second article's finding 13 looks like: soft
and wrong when a request is alone, sharp as soon as another shares the batch, and only once mixed batches have run.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

from battery.judge.recall import recall
from battery.judge.scores import frozen, margin
from battery.material import Document, documents
from battery.model import Answer, Finding, Proof, Question, Result, Server, Task, judged

from .count import asks

NAME = "margin"
TIMES = 3
FIRST = 2  # tokens that are looked at: the code is determined, what comes after it need not be
BLOCKS = 6
LONG_TOKENS, QUICK_LONG_TOKENS = 44_000, 8_000  # of each long request of the mixed batch
RESERVE = 512
QUIET_SECONDS, LOOK = 10.0, 0.05
NEIGHBOUR_TOKENS, LONG_ANSWER = 400, 64


async def judge(server: Server, task: Task) -> Result:
    """The same question three times alone and three times beside another, then the trigger, then all of it again."""
    guards = task.guards
    fit = (task.context_tokens - RESERVE) // guards.block_tokens
    own, neighbour = await documents(server, f"margin {task.salt}", 2, max(1, min(BLOCKS, fit)), guards.block_tokens)
    long = QUICK_LONG_TOKENS if task.quick else LONG_TOKENS
    blocks = max(1, min(long // guards.block_tokens, fit))
    await server.ask(own.asks(own.facts[0]))  # from now on its prefix is cached
    phases: list[tuple[str, list[Answer]]] = []
    overlaps = 0
    for when in ("", "_after"):
        phases.append((f"margin_alone{when}", await _alone(server, own)))
        beside, met = await _beside(server, own, neighbour)
        overlaps += met
        phases.append((f"margin_neighbour{when}", beside))
        if not when:
            mixed = await _mixed(server, task.salt, blocks, guards.block_tokens)
    fact = own.facts[len(own.facts) // 2]
    figures: dict[str, float] = {}
    findings: list[Finding] = []
    for name, answers in phases:
        seen = [found for answer in answers if (found := margin(answer.scores, FIRST)) is not None]
        if seen:
            figures[name] = min(seen)
        where = name.removeprefix("margin_").replace("_after", ", after a mixed batch")
        said = [answer.content for answer in answers]
        if seen and min(seen) < guards.margin_least:
            what = f"log-probability {min(seen):.3f}, at least {guards.margin_least:g} is expected; it said {said}"
            findings.append(Finding("soft logits", where, what))
        elif wrong := [text for text in said if recall(text, fact.code, _codes(own, neighbour)) != "right"]:
            findings.append(Finding("a wrong answer", where, f"expected {fact.code}, it said {wrong}"))
        if any(frozen(answer.scores) for answer in answers):
            findings.append(Finding("one log-probability for all tokens", where, str(answers[0].scores[:4])))
    alone = sum(len(answers) for name, answers in phases if "alone" in name)
    proofs = (
        Proof("answers while nothing else ran", alone, 2 * TIMES),
        Proof("answers beside a neighbour that generated", overlaps, 2),
        Proof("requests of the mixed batch that ran together", mixed, 4),
        Proof("log-probabilities measured", len(figures), len(phases)),
    )
    least = min(figures.values(), default=float("nan"))
    summary = f"lowest log-probability {least:.3f} of {alone} answers alone and {overlaps} beside a neighbour"
    return judged(NAME, summary, tuple(findings), proofs, figures)


def _codes(*made: Document) -> list[str]:
    return [fact.code for one in made for fact in one.facts]


def _probe(own: Document) -> Question:
    return own.asks(own.facts[len(own.facts) // 2], 8, logprobs=5)


async def _alone(server: Server, own: Document) -> list[Answer]:
    """Answers of a server that ran nothing else; fewer when others use it all the time."""
    found = []
    for _time in range(TIMES):
        for _look in range(int(QUIET_SECONDS / LOOK)):
            counters = await server.counters()
            if counters.running + counters.waiting == 0:
                found.append(await server.ask(_probe(own)))
                break
            await asyncio.sleep(LOOK)
    return found


async def _beside(server: Server, own: Document, neighbour: Document) -> tuple[list[Answer], int]:
    """Answers that came while another request generated; one that was too late counts for nothing."""
    found = []
    for _time in range(TIMES):
        other = neighbour.asks(neighbour.facts[0], NEIGHBOUR_TOKENS)
        stream = asyncio.create_task(server.ask(Question(other.messages, other.max_tokens, extra=_on(other))))
        try:
            for _look in range(int(QUIET_SECONDS / LOOK)):
                if stream.done() or (await server.counters()).running:
                    break
                await asyncio.sleep(LOOK / 5)
            answer = await server.ask(_probe(own))
        finally:
            ended = (await asyncio.gather(stream, return_exceptions=True))[0]
        if isinstance(ended, Answer) and ended.sent_at < answer.sent_at and answer.ended_at < ended.ended_at:
            found.append(answer)
    return found, len(found)


async def _mixed(server: Server, salt: str, blocks: int, block_tokens: int) -> int:
    """Three long requests and a short one at once; how many of them were generating at the same time."""
    chance = random.Random(salt).randrange(10**6)  # noqa: S311
    made = await documents(server, f"mixed {salt} {chance}", 3, blocks, block_tokens)
    questions = [one.asks(one.facts[0], LONG_ANSWER) for one in made] + [asks(40)]
    answers = await asyncio.gather(
        *(server.ask(Question(one.messages, LONG_ANSWER, extra=_on(one))) for one in questions)
    )
    return max(_with(one, answers) for one in answers)


def _with(one: Answer, answers: Sequence[Answer]) -> int:
    return sum(one.overlaps(other) for other in answers)


def _on(question: Question) -> dict[str, object]:
    return {**question.extra, "ignore_eos": True}
