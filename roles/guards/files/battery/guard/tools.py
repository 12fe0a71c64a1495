# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tool calls: well formed, with the right arguments, one after the other, and in the middle of a long text."""

from __future__ import annotations

import random
import time

from battery.judge.calls import call_faults
from battery.model import Finding, Proof, Question, Result, Server, Task, judged
from battery.speed.rate import PLAIN
from battery.speed.text import sized

NAME = "tools"
QUICK = 8
LONG_TOKENS = 8_000
EVERY = 4  # each fourth call stands in a long text
CITIES = ("Lisbon", "Osaka", "Nairobi", "Quito", "Tallinn", "Hobart", "Windhoek", "Bergen")
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city on a day.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "day": {"type": "integer", "minimum": 1, "maximum": 31}},
            "required": ["city", "day"],
        },
    },
}


async def judge(server: Server, task: Task) -> Result:
    """`tool_calls` calls; eight of them when it has to be quick."""
    wanted = min(task.guards.tool_calls, QUICK) if task.quick else task.guards.tool_calls
    if not wanted:
        return Result(NAME, "not asked", "the recipe leaves it out")
    chance = random.Random(task.salt)  # noqa: S311
    began, made = time.monotonic(), 0
    long = await sized(server, f"tools {task.salt}", min(LONG_TOKENS, task.context_tokens // 2))
    findings: list[Finding] = []
    for number in range(1, wanted + 1):
        if time.monotonic() - began > task.budget_seconds:
            break
        city, day = chance.choice(CITIES), chance.randint(1, 31)
        words = f"Use the tool to look up the weather in {city} on day {day} of the month."
        if number % EVERY == 0:
            words = f"{long}\n\n{words}"
        answer = await server.ask(Question.plain(words, 300, tools=(TOOL,), extra=dict(PLAIN)))
        findings += call_faults(answer, "weather", {"city": city, "day": day}, f"call {number} of {wanted}")
        made += 1
    bad = len({finding.where for finding in findings})
    return judged(NAME, f"{made - bad} of {made} calls right", tuple(findings), (Proof("calls", made, wanted),))
