# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tool calls: well formed, with the right arguments: alone, in the middle of a long text, and many in one talk."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from battery.judge.calls import call_faults
from battery.model import Answer, Finding, Proof, Question, Result, Server, Task, judged
from battery.speed.rate import PLAIN
from battery.speed.text import sized

from .budget import Budget

NAME = "tools"
QUICK = 8
LONG_TOKENS = 8_000
EVERY = 4  # of four calls one stands in a long text, two go on with a talk
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
    chance, budget = random.Random(task.salt), Budget.of(task)  # noqa: S311 (texts, not secrets)
    half = await sized(server, f"tools {task.salt}", min(LONG_TOKENS, task.context_tokens // 2) // 2)
    talk: list[Mapping[str, Any]] = []
    findings: list[Finding] = []
    made = 0
    for number in range(1, wanted + 1):
        if budget.spent:
            break
        city, day = chance.choice(CITIES), chance.randint(1, 31)
        words = f"Use the tool to look up the weather in {city} on day {day} of the month."
        kind = ("alone", "in a talk", "in a talk", "in a long text")[number % EVERY - 1]
        if kind == "in a long text":
            words = f"{half}\n\n{words}\n\n{half}\n\nDo what is asked between the two reports."
        asked: Mapping[str, Any] = {"role": "user", "content": words}
        messages = (*talk, asked) if kind == "in a talk" else (asked,)
        answer = await server.ask(Question(messages, 300, tools=(TOOL,), extra=dict(PLAIN)))
        wrong = call_faults(answer, "weather", {"city": city, "day": day}, f"call {number} of {wanted}, {kind}")
        findings += wrong
        made += 1
        if kind == "in a talk" and not wrong:
            talk += [asked, *_done(answer, number)]
    bad = len({finding.where for finding in findings})
    summary = f"{made - bad} of {made} calls right{budget.missed(made, wanted, 'calls')}"
    return judged(NAME, summary, tuple(findings), (Proof("calls", made, wanted),))


def _done(answer: Answer, number: int) -> tuple[Mapping[str, Any], ...]:
    """The call as the server gave it, what the tool said, and what was made of it."""
    [call] = answer.calls
    name = f"call{number:05d}"
    made = {"id": name, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
    return (
        {"role": "assistant", "content": "", "tool_calls": [made]},
        {"role": "tool", "tool_call_id": name, "content": '{"weather": "dry, 18 degrees"}'},
        {"role": "assistant", "content": "It will be dry, at 18 degrees."},
    )
