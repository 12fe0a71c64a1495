# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One fact in very much text, at several lengths and depths, and several facts in one text."""

from __future__ import annotations

import time

from battery.judge.recall import recall
from battery.material import Document, haystack
from battery.model import Finding, Proof, Result, Server, Task, judged

NAME = "needles"
RESERVE = 512
QUICK_MOST = 50_000
MANY_TOKENS = 44_000  # of the text with several facts
NEAR = 4  # adjacent lengths: some faults show at one of four (DeepSeek-V4 with sparse attention, vllm#55927)


async def judge(server: Server, task: Task) -> Result:
    """Every length of the recipe that fits, the several facts, the depths, and four adjacent lengths."""
    guards = task.guards
    room = task.context_tokens - RESERVE
    lengths = sorted(length for length in guards.needle_tokens if length <= room)
    if not guards.needle_tokens:
        return Result(NAME, "not asked", "the recipe leaves it out")
    wanted = [length for length in lengths if not task.quick or length <= QUICK_MOST]
    many = min(MANY_TOKENS, room)
    depths = list(guards.needle_depths_percent or (50,))
    plan: list[tuple[int, list[int]]] = [(length, [50]) for length in wanted]
    plan += [(min([*wanted, many]), [depth]) for depth in depths]
    plan += [(min([*wanted, many]) + step, [50]) for step in range(NEAR)]
    if guards.needles:
        plan.append((many, [100 * (number + 1) // (guards.needles + 1) for number in range(guards.needles)]))
    began = time.monotonic()
    findings: list[Finding] = []
    asked = slowest = 0.0
    for number, (length, places) in enumerate(sorted(plan), 1):
        if time.monotonic() - began + slowest > task.budget_seconds:
            left = f"{len(plan) - number + 1} of {len(plan)} not come to in {task.budget_seconds:.0f} s"
            proof = Proof("texts searched", number - 1, len(plan))
            return judged(NAME, f"{asked:.0f} needles, {len(findings)} lost, {left}", tuple(findings), (proof,))
        started = time.monotonic()
        one = await haystack(server, f"{task.salt} {number}", length, places)
        for fact, place in zip(one.facts, sorted(places), strict=True):
            findings += await _search(server, one, fact.key, place)
            asked += 1
        slowest = max(slowest, time.monotonic() - started)
    figures = {"needles": asked, "lost": len(findings), "longest_tokens": max([length for length, _places in plan])}
    figures["slowest_text_seconds"] = slowest
    summary = f"{asked:.0f} needles in up to {max(length for length, _places in plan)} tokens, {len(findings)} lost"
    if skipped := [length for length in guards.needle_tokens if length not in wanted]:
        summary += f"; not in {'a quick run' if task.quick else 'this context'}: {', '.join(map(str, skipped))} tokens"
    return judged(NAME, summary, tuple(findings), (Proof("texts searched", len(plan), len(plan)),), figures)


async def _search(server: Server, one: Document, key: str, depth: int) -> list[Finding]:
    fact = next(fact for fact in one.facts if fact.key == key)
    answer = await server.ask(one.asks(fact))
    verdict = recall(answer.content, fact.code, [other.code for other in one.facts])
    if verdict == "right":
        return []
    said = f"expected {fact.code}, it said {answer.content[:80]!r}"
    return [Finding(f"a needle is {verdict}", f"{one.name}, at {depth} %", said)]
