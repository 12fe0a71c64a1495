# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A conversation that goes on: what is cached of it is used, and the answers stay right and the same."""

from __future__ import annotations

from battery.judge.recall import recall
from battery.judge.sameness import distinct
from battery.material import Fact, asked, documents
from battery.model import Answer, Finding, Proof, Question, Result, Server, Task, judged
from battery.speed.rate import PLAIN

NAME = "prefix_reuse"
BLOCKS = 12
RESERVE = 768
LEAST = 0.5  # part of a prompt that has to come from the cache


async def judge(server: Server, task: Task) -> Result:
    """Four turns over one document; the last one repeats the first question."""
    fit = (task.context_tokens - RESERVE) // task.guards.block_tokens
    blocks = max(2, min(BLOCKS, fit))
    [one] = await documents(server, f"prefix {task.salt}", 1, blocks, task.guards.block_tokens)
    turns = [one.facts[0], one.facts[-1], one.facts[-2], one.facts[0]]
    messages: list[dict[str, str]] = []
    answers: list[Answer] = []
    parts: list[float] = []
    findings: list[Finding] = []
    for number, fact in enumerate(turns, 1):
        before = await server.counters()
        words = asked(fact) if messages else f"{one.text}\n\n{asked(fact)}"
        messages.append({"role": "user", "content": words})
        answer = await server.ask(Question(tuple(messages), 16, extra=dict(PLAIN)))
        after = await server.counters()
        parts.append((after.prefix_hits - before.prefix_hits) / max(1, answer.prompt_tokens))
        messages.append({"role": "assistant", "content": answer.content})
        answers.append(answer)
        if (verdict := recall(answer.content, fact.code, [other.code for other in one.facts])) != "right":
            findings.append(_wrong(number, fact, verdict, answer))
    if distinct([answers[0].content, answers[-1].content]) > 1:
        said = f"{answers[0].content[:80]!r}, then {answers[-1].content[:80]!r}"
        findings.append(Finding("another answer to the same question", "turns 1 and 4", said))
    figures = {f"ttft_turn{number}_seconds": answer.ttft for number, answer in enumerate(answers[:2], 1) if answer.ttft}
    figures["cached_part"] = min(parts[1:])
    summary = f"{len(turns)} turns, {min(parts[1:]):.0%} of each later prompt from the cache"
    return judged(NAME, summary, tuple(findings), (Proof("part from the cache", min(parts[1:]), LEAST),), figures)


def _wrong(turn: int, fact: Fact, verdict: str, answer: Answer) -> Finding:
    said = f"expected {fact.code}, it said {answer.content[:80]!r}"
    return Finding(f"a {verdict} answer", f"turn {turn}, block {fact.block}", said)
