# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Broken scripts, bursts, loops and leaked markup in answers of several languages and in long ones."""

from __future__ import annotations

from battery.judge.text import faults
from battery.model import Finding, Proof, Question, Result, Server, Task, judged
from battery.speed.rate import PLAIN

from .budget import Budget
from .count import asks

NAME = "corruption"
LETTERS = 200  # of all answers, without which nothing was seen
PROMPTS = (
    "Explain to a beginner, in about two hundred words, why the sky is blue.",
    "Explica en unas doscientas palabras por qué el mar es salado.",
    "Erkläre in etwa zweihundert Wörtern, wie ein Fahrrad das Gleichgewicht hält.",
    "Magyarázd el körülbelül kétszáz szóban, hogyan készül a kenyér.",
    "请用大约两百个字解释月亮为什么有圆缺。",
    "바다가 왜 파란지 이백 단어 정도로 설명해 주세요.",
    "Write a Python function that merges two sorted lists, with a docstring and three tests, and nothing else.",
)


async def judge(server: Server, task: Task) -> Result:
    """`corruption_passes` over all prompts; one when it has to be quick. A long count stands beside them."""
    passes = min(task.guards.corruption_passes, 1) if task.quick else task.guards.corruption_passes
    if not passes:
        return Result(NAME, "not asked", "the recipe leaves it out")
    budget = Budget.of(task)
    questions = [Question.plain(prompt, 600, extra=dict(PLAIN)) for prompt in PROMPTS]
    questions += [asks(to) for to in (60, 80, 100)]
    findings: list[Finding] = []
    wanted = passes * len(questions)
    letters = made = 0
    for number in range(wanted):
        if budget.spent:
            break
        question = questions[number % len(questions)]
        answer = await server.ask(question)
        letters += len(answer.content)
        where = f"pass {number // len(questions) + 1}, prompt {number % len(questions) + 1}"
        findings += faults(answer.content, question.messages[0]["content"], where)
        made += 1
    summary = f"{made} answers, {letters} letters, {len(findings)} signs of corruption"
    proofs = (Proof("answers", made, wanted), Proof("letters", letters, LETTERS))
    return judged(NAME, summary + budget.missed(made, wanted, "answers"), tuple(findings), proofs)
