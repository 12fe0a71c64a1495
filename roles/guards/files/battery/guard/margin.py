# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Guard 5: how sure the model is of a code that it read, alone and beside a neighbour, before and after a mixed batch.

A right answer of temperature 0 has a log-probability of nearly 0. What the second article's finding 13 looks like: soft
and wrong when a request is alone, sharp as soon as another shares the batch, and only once mixed batches have run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from battery.judge.recall import recall
from battery.judge.scores import frozen, margin
from battery.material import Document, Fact, documents
from battery.model import Answer, Finding, Proof, Question, Result, Server, Task, judged

from .budget import Budget
from .count import asks
from .neighbour import going_on, started

NAME = "margin"
TIMES = 3
FIRST = 2  # tokens that are looked at: the code is determined, what comes after it need not be
BLOCKS = 6
LONG_TOKENS, QUICK_LONG_TOKENS = 44_000, 8_000  # of each long request of the mixed batch
RESERVE = 1024  # tokens of the context for questions and answers
QUIET_SECONDS, LOOK = 10.0, 0.05
NEIGHBOUR_TOKENS = 400
MIXED, MIXED_TOKENS, PROMPT_TOKENS_A_TOKEN = 3, 64, 1024  # the short one has to last until the last prompt is read
PHASES = ("alone", "neighbour")


async def judge(server: Server, task: Task) -> Result:
    """The same question three times alone and three times beside another, then the trigger, then all of it again."""
    guards, budget = task.guards, Budget.of(task)
    fit = max(1, (task.context_tokens - RESERVE) // guards.block_tokens)
    own, neighbour = await documents(server, f"margin {task.salt}", 2, min(BLOCKS, fit), guards.block_tokens)
    blocks = max(1, min((QUICK_LONG_TOKENS if task.quick else LONG_TOKENS) // guards.block_tokens, fit))
    await server.ask(_probe(own))  # from now on its prefix is cached
    phases: dict[str, list[Answer]] = {}
    mixed = 0
    for when in ("", "_after"):
        if budget.spent:
            break
        if when:
            mixed = await _mixed(server, task.salt, blocks, guards.block_tokens)
        phases[f"margin_alone{when}"] = await _alone(server, own)
        phases[f"margin_neighbour{when}"] = await _beside(server, own, neighbour)
    code, codes = _fact(own).code, [fact.code for one in (own, neighbour) for fact in one.facts]
    figures: dict[str, float] = {}
    findings: list[Finding] = []
    for name, answers in phases.items():
        seen = [found for answer in answers if (found := margin(answer.scores, FIRST)) is not None]
        if seen:
            figures[name] = min(seen)
        where = name.removeprefix("margin_").replace("_after", ", after a mixed batch")
        said = [answer.content for answer in answers]
        if seen and min(seen) < guards.margin_least:
            what = f"log-probability {min(seen):.3f}, at least {guards.margin_least:g} is expected; it said {said}"
            findings.append(Finding("soft logits", where, what))
        elif wrong := [text for text in said if recall(text, code, codes) != "right"]:
            findings.append(Finding("a wrong answer", where, f"expected {code}, it said {wrong}"))
        if any(frozen(answer.scores) for answer in answers):
            findings.append(Finding("one log-probability for all tokens", where, str(answers[0].scores[:4])))
    least = {kind: min(len(phases.get(f"margin_{kind}{when}", ())) for when in ("", "_after")) for kind in PHASES}
    proofs = (
        Proof("answers while nothing else ran, before and after", least["alone"], TIMES - 1),
        Proof("answers beside a neighbour that generated, before and after", least["neighbour"], 1),
        Proof("requests of the mixed batch that ran together", mixed, MIXED + 1),
        Proof("log-probabilities measured", len(figures), 2 * len(PHASES)),
    )
    lowest = f"lowest log-probability {min(figures.values()):.3f}" if figures else "no log-probability"
    many = [sum(len(answers) for name, answers in phases.items() if kind in name) for kind in PHASES]
    summary = f"{lowest} of {many[0]} answers alone and {many[1]} beside a neighbour"
    return judged(NAME, summary + budget.missed(len(phases) // 2, 2, "rounds"), tuple(findings), proofs, figures)


def _fact(own: Document) -> Fact:
    return own.facts[len(own.facts) // 2]


def _probe(own: Document) -> Question:
    return own.asks(_fact(own), 8, logprobs=5)


async def _alone(server: Server, own: Document) -> list[Answer]:
    """Answers of a server that ran nothing else; fewer when others use it all the time."""
    found: list[Answer] = []
    looks = int(QUIET_SECONDS / LOOK)
    while len(found) < TIMES and looks > 0:
        looks -= 1
        before = await server.counters()
        if before.running + before.waiting:
            await asyncio.sleep(LOOK)
            continue
        answer = await server.ask(_probe(own))
        # Its own tokens may be counted a moment later; those of others make the count too high.
        others = (await server.counters()).generated_tokens - before.generated_tokens - answer.completion_tokens
        if others < answer.completion_tokens / 2:
            found.append(answer)
    return found


async def _beside(server: Server, own: Document, neighbour: Document) -> list[Answer]:
    """Answers that came while another request generated; one that was too late counts for nothing."""
    found = []
    for _time in range(TIMES):
        async with asyncio.TaskGroup() as group:
            stream = await started(server, group, going_on(neighbour.asks(neighbour.facts[0]), NEIGHBOUR_TOKENS))
            answer = await server.ask(_probe(own))
        other = stream.result()
        # It shared the batch from its first token on: the neighbour had its own by then, and was not over before.
        begun = other.first_at is not None and answer.first_at is not None and other.first_at <= answer.first_at
        if begun and answer.ended_at < other.ended_at:
            found.append(answer)
    return found


async def _mixed(server: Server, salt: str, blocks: int, block_tokens: int) -> int:
    """Three long requests and a short one at once; how many of them were generating at the same time."""
    made = await documents(server, f"mixed {salt}", MIXED, blocks, block_tokens)
    tokens = MIXED_TOKENS + MIXED * blocks * block_tokens // PROMPT_TOKENS_A_TOKEN
    async with asyncio.TaskGroup() as group:
        sent = [
            group.create_task(server.ask(going_on(question, tokens)))
            for question in [*(one.asks(one.facts[0]) for one in made), asks(40)]
        ]
    answers = [each.result() for each in sent]
    return max(_with(one, answers) for one in answers)


def _with(one: Answer, answers: Sequence[Answer]) -> int:
    return sum(one.overlaps(other) for other in answers)
