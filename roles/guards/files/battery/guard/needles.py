# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts in very much text, at several lengths and depths, several in one text, and four adjacent prompt lengths."""

from __future__ import annotations

import time
from collections.abc import Sequence

from battery.judge.recall import recall
from battery.material import LENGTHENING, Document, Fact, haystack
from battery.model import Answer, Finding, Guards, Proof, Result, Server, Task, judged

from .budget import Budget

NAME = "needles"
RESERVE = 512
QUICK_MOST = 50_000
MANY_TOKENS = 44_000  # of the text with several facts
ADJACENT = 4  # some faults show at one of four prompt lengths: DeepSeek-V4 with sparse attention, vllm#55927
DEARER = 1.5  # a token of a longer text takes more time, and being cut off would lose what was found

Text = tuple[int, tuple[int, ...]]  # tokens, and the depths in per cent at which it has a fact each


async def judge(server: Server, task: Task) -> Result:
    """The shortest text first. The adjacent lengths are those of questions about it."""
    if not task.guards.needle_tokens and not task.guards.needles:
        return Result(NAME, "not asked", "the recipe leaves it out")
    budget, salt = Budget.of(task), f"needles {task.salt}"
    plan, skipped = planned(task.guards, task.context_tokens - RESERVE, task.quick)
    findings: list[Finding] = []
    answers: list[Answer] = []
    remainders: set[int] = set()
    a_token = slowest = 0.0
    done = 0
    for number, (length, depths) in enumerate(plan):
        if budget.left <= length * a_token * DEARER:
            break
        began = time.monotonic()
        one = await haystack(server, f"{salt} {number}", length, depths)
        for fact, depth in zip(one.facts, sorted(depths), strict=True):
            answers.append(await _ask(server, one, fact, f"{one.name}, at {depth} %", findings))
        a_token = (time.monotonic() - began) / length
        slowest = max(slowest, time.monotonic() - began)
        if not number:
            middle = len(depths) // 2
            remainders = await _adjacent(server, one, one.facts[middle], answers[middle], findings)
        done += 1
    figures = {"needles": float(len(answers)), "lost": float(len(findings)), "slowest_text_seconds": slowest}
    longest = max((answer.prompt_tokens for answer in answers), default=0)
    figures["longest_tokens"] = longest
    summary = f"{len(answers)} needles in up to {longest} tokens, {len(findings)} lost"
    if skipped:
        where = "a quick run" if task.quick else "this context"
        summary += f"; not in {where}: {', '.join(map(str, skipped))} tokens"
    if done < len(plan):
        left = ", ".join(str(length) for length, _depths in plan[done:])
        summary += f"; not come to in {budget.seconds:.0f} s: {left} tokens"
    proofs = (Proof("texts searched", done, 1), Proof("adjacent prompt lengths", len(remainders), ADJACENT))
    return judged(NAME, summary, tuple(findings), proofs, figures)


def planned(guards: Guards, room: int, quick: bool) -> tuple[list[Text], list[int]]:
    """The texts to search, the shortest first, and the lengths of the recipe that are left out."""
    depths = guards.needle_depths_percent or (50,)
    most = min(room, QUICK_MOST) if quick else room
    plan: list[Text] = [(length, depths) for length in guards.needle_tokens if length <= most]
    if guards.needles:
        spread = tuple(100 * (number + 1) // (guards.needles + 1) for number in range(guards.needles))
        plan.append((min(MANY_TOKENS, room), spread))
    return sorted(plan), [length for length in guards.needle_tokens if length > most]


async def _ask(
    server: Server, one: Document, fact: Fact, where: str, findings: list[Finding], longer: int = 0
) -> Answer:
    answer = await server.ask(one.asks(fact, longer=longer))
    verdict = recall(answer.content, fact.code, _others(one.facts))
    if verdict != "right":
        said = f"expected {fact.code}, it said {answer.content[:80]!r}"
        findings.append(Finding(f"a needle is {verdict}", where, said))
    return answer


def _others(facts: Sequence[Fact]) -> list[str]:
    return [fact.code for fact in facts]


async def _adjacent(server: Server, one: Document, fact: Fact, first: Answer, findings: list[Finding]) -> set[int]:
    """Questions that are longer by a word each, until their prompts have had every remainder of four."""
    seen = {first.prompt_tokens % ADJACENT}
    for longer in range(1, len(LENGTHENING) + 1):
        if len(seen) == ADJACENT:
            break
        answer = await _ask(server, one, fact, f"{one.name}, a question longer by {longer} words", findings, longer)
        seen.add(answer.prompt_tokens % ADJACENT)
    return seen
