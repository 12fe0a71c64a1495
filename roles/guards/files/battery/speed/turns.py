# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""TTFT of a conversation: the first turn brings a long text that nothing knows, the second is about the same text."""

from __future__ import annotations

from battery.model import Answer, Question, Server
from battery.outcome import Measure, SpeedTask

from .prefill import ASK, length, warm
from .rate import AGAIN, PLAIN, Rate
from .repeat import measure, repeat, times
from .text import sized

FIRST, SECOND = "turn1_ttft_seconds", "turn2_ttft_seconds"
TOKENS = 48
MORE = "And who is mentioned in it? Name three."
LEAST_REUSED = 0.5


async def first(server: Server, task: SpeedTask) -> Measure:
    """Seconds; a turn of which something was cached is thrown away."""
    tokens, bounded = length(task)

    async def once(number: int) -> Rate:
        text = await sized(server, f"{task.salt} {FIRST} {number}", tokens)
        before = await server.counters()
        answer = await server.ask(Question.plain(text + ASK, TOKENS, extra=PLAIN))
        why = warm(answer, before, await server.counters())
        return Rate(None, why) if why else _ttft(answer, bounded)

    return measure(FIRST, "s", await repeat(times(task), task.budget_seconds, once))


async def second(server: Server, task: SpeedTask) -> Measure:
    """Seconds. How much of the prompt the prefix cache had is said when it was little."""
    tokens, bounded = length(task)

    async def once(number: int) -> Rate:
        text = await sized(server, f"{task.salt} {SECOND} {number}", tokens)
        opening = Question.plain(text + ASK, TOKENS, extra=PLAIN)
        said = await server.ask(opening)
        turn = {"role": "assistant", "content": said.content or "It is a report."}
        before = await server.counters()
        answer = await server.ask(
            Question((*opening.messages, turn, {"role": "user", "content": MORE}), TOKENS, extra=PLAIN)
        )
        reused = (await server.counters()).prefix_hits - before.prefix_hits
        if reused < 0:
            return Rate(None, AGAIN)
        few = f"only {reused:.0f} of {answer.prompt_tokens} prompt tokens came from the prefix cache"
        little = reused < answer.prompt_tokens * LEAST_REUSED
        return _ttft(answer, "; ".join(filter(None, (bounded, few if little else ""))))

    return measure(SECOND, "s", await repeat(times(task), task.budget_seconds, once))


def _ttft(answer: Answer, note: str) -> Rate:
    if answer.ttft is None:
        return Rate(None, f"no text came within {answer.completion_tokens} tokens, expected some: no first token")
    return Rate(answer.ttft, note)
