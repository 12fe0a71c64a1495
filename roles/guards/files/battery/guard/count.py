# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts exactly, every time. The first thing that a broken decode step gets wrong."""

from __future__ import annotations

from battery.judge.acceptance import between
from battery.judge.counting import counted
from battery.judge.text import faults
from battery.model import Finding, Proof, Question, Result, Server, Task, judged
from battery.speed.rate import PLAIN

from .budget import Budget

NAME = "count"
TOKENS_A_NUMBER = 8


def asks(to: int) -> Question:
    # The lab's model counts when a message begins with this word.
    words = f"Count from 1 to {to}. Write only the numbers, in order, with a blank between them."
    return Question.plain(words, to * TOKENS_A_NUMBER, extra=dict(PLAIN))


async def judge(server: Server, task: Task) -> Result:
    """`count_runs` answers, each of which has to be the whole count."""
    to, runs = task.guards.count_to, task.guards.count_runs
    if not to or not runs:
        return Result(NAME, "not asked", "the recipe leaves it out")
    budget, before, made = Budget.of(task), await server.counters(), 0
    question, findings = asks(to), []
    for run in range(1, runs + 1):
        if budget.spent:
            break
        answer = await server.ask(question)
        where = f"answer {run} of {runs}"
        if wrong := counted(answer.content, to):
            findings.append(Finding("a wrong count", where, f"{wrong}; it said {answer.content[:400]!r}"))
        findings += faults(answer.content, question.messages[0]["content"], where)
        made += 1
    seen = between(before, await server.counters())
    figures = {"acceptance": seen.rate} if seen and seen.drafts else {}
    bad = len({finding.where for finding in findings})
    summary = f"{made - bad} of {made} exact, to {to}{budget.missed(made, runs, 'answers')}"
    return judged(NAME, summary, tuple(findings), (Proof("answers", made, runs),), figures)
