# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A conversation that goes on: what is cached of it is used, and the answers stay right and the same."""

from __future__ import annotations

from battery.judge.recall import recall
from battery.judge.sameness import distinct
from battery.material import asked, documents
from battery.model import Answer, Finding, Proof, Question, Result, Server, Task, judged
from battery.speed.rate import PLAIN

NAME = "prefix_reuse"
BLOCKS = 12
RESERVE = 768
LEAST = 0.5  # part of a prompt that has to come from the cache


async def judge(server: Server, task: Task) -> Result:
    """Three turns over one document, and then each of them once more as it was.

    A question is not asked again in the same conversation: its key would stand there twice, once without its code.
    """
    fit = (task.context_tokens - RESERVE) // task.guards.block_tokens
    blocks = max(3, min(BLOCKS, fit))
    [one] = await documents(server, f"prefix {task.salt}", 1, blocks, task.guards.block_tokens)
    codes = [fact.code for fact in one.facts]
    turns = [one.facts[0], one.facts[-1], one.facts[-2]]
    messages: list[dict[str, str]] = []
    sent: list[Question] = []
    answers: list[Answer] = []
    parts: list[float] = []
    findings: list[Finding] = []
    for number, fact in enumerate([*turns, *turns]):
        turn, again = number % len(turns), number >= len(turns)
        if not again:
            words = asked(fact) if messages else f"{one.text}\n\n{asked(fact)}"
            messages.append({"role": "user", "content": words})
            sent.append(Question(tuple(messages), 16, extra=dict(PLAIN)))
        before = await server.counters()
        answer = await server.ask(sent[turn])
        after = await server.counters()
        parts.append((after.prefix_hits - before.prefix_hits) / max(1, answer.prompt_tokens))
        answers.append(answer)
        where = f"turn {turn + 1}{', asked again' if again else ''}, block {fact.block}"
        if (verdict := recall(answer.content, fact.code, codes)) != "right":
            said = f"expected {fact.code}, it said {answer.content[:80]!r}"
            findings.append(Finding(f"a {verdict} answer", where, said))
        if again and distinct([answers[turn].content, answer.content]) > 1:
            said = f"{answers[turn].content[:80]!r}, then {answer.content[:80]!r}"
            findings.append(Finding("another answer to the same question", where, said))
        if not again:
            messages.append({"role": "assistant", "content": answer.content})
    figures = {f"ttft_turn{number}_seconds": answer.ttft for number, answer in enumerate(answers[:2], 1) if answer.ttft}
    figures["cached_part"] = min(parts[1:])
    summary = f"{len(turns)} turns, twice, {min(parts[1:]):.0%} of each later prompt from the cache"
    return judged(NAME, summary, tuple(findings), (Proof("part from the cache", min(parts[1:]), LEAST),), figures)
