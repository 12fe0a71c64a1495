# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small questions with one right answer each: whether this is the model that it should be, and thinks as it should."""

from __future__ import annotations

import re

from battery.judge.text import faults
from battery.model import Finding, Proof, Question, Result, Server, Task, judged
from battery.speed.rate import PLAIN

from .budget import Budget

NAME = "smoke"
# The question, the right answer, and wrong ones that may not stand beside it where the question names them all.
CASES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("What is 17 times 23? Answer with the number only.", "391", ()),
    ("Which is larger, 9.11 or 9.9? Answer with the number only.", "9.9", ("9.11",)),
    ("How many days has February in the year 2028? Answer with the number only.", "29", ()),
    ("Write the word 'lantern' backwards. Answer with that word only.", "nretnal", ()),
    (
        "Ann is older than Bo, and Bo is older than Cy. Who is the youngest? Answer with the name only.",
        "Cy",
        ("Ann", "Bo"),
    ),
    ("What is the capital of Mongolia? Answer with its name only.", "Ulaanbaatar", ()),
    ("A train leaves at 09:50 and needs 95 minutes. When does it arrive? Answer as HH:MM.", "11:25", ()),
    ("What is the chemical symbol of tungsten? Answer with the symbol only.", "W", ()),
)


async def judge(server: Server, task: Task) -> Result:
    """The first `smoke_cases` of them."""
    wanted, budget = min(task.guards.smoke_cases or 0, len(CASES)), Budget.of(task)
    if not wanted:
        return Result(NAME, "not asked", "the recipe leaves it out")
    findings: list[Finding] = []
    made = 0
    for number, (words, right, wrong) in enumerate(CASES[:wanted], 1):
        if budget.spent:
            break
        answer = await server.ask(Question.plain(words, 200, extra=dict(PLAIN)))
        where = f"question {number}"
        if not _has(answer.content, right) or any(_has(answer.content, other) for other in wrong):
            said = f"{words} expected {right}, it said {answer.content[:200]!r}"
            findings.append(Finding("a wrong answer", where, said))
        findings += faults(answer.content, words, where)
        made += 1
    bad = len({finding.where for finding in findings})
    summary = f"{made - bad} of {made} right{budget.missed(made, wanted, 'questions')}"
    return judged(NAME, summary, tuple(findings), (Proof("questions", made, wanted),))


def _has(text: str, answer: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(answer)}(?!\w|[.:]\d)", text, re.IGNORECASE) is not None
