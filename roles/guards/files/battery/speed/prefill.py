# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast a prompt is read that the prefix cache knows nothing of."""

from __future__ import annotations

from battery.model import Answer, Counters, Question, Server
from battery.outcome import Measure, SpeedTask

from .rate import AGAIN, PLAIN, Rate
from .repeat import measure, repeat, times
from .text import sized

NAME = "prefill_tokens_per_second"
TOKENS = 21_900  # the article's prompt
ROOM = 512  # for the template, the question and the answer
# A template's own beginning may be cached: it is the same for everybody.
MOST_CACHED = 0.01
LEAST_COUNTED = 0.9
ASK = "\n\nIn one sentence: what is this report about?"


def length(task: SpeedTask) -> tuple[int, str]:
    """Tokens of the prompt, and a note when the context is too short for what is wanted."""
    wanted = int(task.expected.get("prefill_tokens") or TOKENS)
    most = max(1, task.context_tokens - ROOM)
    if wanted <= most:
        return wanted, ""
    return most, f"with about {most} tokens, not {wanted}: the context is {task.context_tokens}"


def warm(answer: Answer, before: Counters, after: Counters) -> str:
    """Why this prompt was not read as a whole; nothing when it was."""
    hits, counted = after.prefix_hits - before.prefix_hits, after.prompt_tokens - before.prompt_tokens
    tokens = answer.prompt_tokens
    if counted < 0 or hits < 0:
        return AGAIN
    cached = max(hits, answer.cached_tokens or 0)
    if cached > tokens * MOST_CACHED:
        return f"thrown away: {cached:.0f} of {tokens} prompt tokens came from the prefix cache, expected none"
    if counted < tokens * LEAST_COUNTED:
        return f"thrown away: the answer says {tokens} prompt tokens, /metrics counted {counted:.0f}"
    return ""


async def cold(server: Server, task: SpeedTask) -> Measure:
    """Prompt tokens by the seconds that a request for one token takes."""
    tokens, bounded = length(task)

    async def once(number: int) -> Rate:
        text = await sized(server, f"{task.salt} prefill {number}", tokens)
        before = await server.counters()
        answer = await server.ask(Question.plain(text + ASK, 1, extra=PLAIN))
        why = warm(answer, before, await server.counters())
        seconds = answer.ended_at - answer.sent_at
        return Rate(None, why) if why or seconds <= 0 else Rate(answer.prompt_tokens / seconds, bounded)

    return measure(NAME, "tokens/s", await repeat(times(task), task.budget_seconds, once))
