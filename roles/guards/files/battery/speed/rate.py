# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tokens per second, from the client's clock and the server's usage, held against what /metrics counted meanwhile.

A client's clock alone is easily fooled: when a server or a proxy holds chunks back, most tokens come at once, and
the time between the first and the last says nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from battery.model import Answer, Counters, Question, Server, ServerError
from battery.stopping import stopped

# What is measured is the text that was asked for: templates that know neither word pass over it.
PLAIN = {"chat_template_kwargs": {"enable_thinking": False, "thinking": False}}
LOOK_SECONDS = 0.25
LEAST_TOKENS = 32
LEAST_CHUNKS = 4
MOST_OVER = 1.10  # so much may the client's figure be above the server's
AGAIN = "the server's counters went down: it was started again meanwhile"


@dataclass(frozen=True, slots=True)
class Rate:
    """One figure, or none and the note that says why."""

    value: float | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Watched:
    """Answers that were asked for at once. The first look is from before they were sent, the last from after."""

    answers: tuple[Answer, ...]
    looks: tuple[Counters, ...]


async def watched(server: Server, questions: Sequence[Question], every: float = LOOK_SECONDS) -> Watched:
    """Ask at once, and look at the counters every so many seconds. ServerError when one cannot be asked."""
    looks = [await server.counters()]

    async def look() -> None:
        with suppress(ServerError):
            while True:
                await asyncio.sleep(every)
                looks.append(await server.counters())

    tasks = [asyncio.create_task(server.ask(question)) for question in questions]
    looker = asyncio.create_task(look())
    try:
        answers = await asyncio.gather(*tasks)
    finally:
        await stopped(*tasks, looker)
    looks.append(await server.counters())
    return Watched(tuple(answers), tuple(looks))


def rate(seen: Watched, least_tokens: int = LEAST_TOKENS) -> Rate:
    """Tokens per second of all answers together, while they are generated."""
    answers, looks = seen.answers, seen.looks
    tokens = sum(answer.completion_tokens for answer in answers)
    fewest = min(answer.completion_tokens for answer in answers)
    counted = looks[-1].generated_tokens - looks[0].generated_tokens
    sent, ended = min(answer.sent_at for answer in answers), max(answer.ended_at for answer in answers)
    starts = [answer.first_at for answer in answers if answer.first_at is not None]
    if counted < 0:
        return Rate(None, AGAIN)
    if fewest < least_tokens or ended <= sent:
        return Rate(None, f"{fewest} tokens generated, expected at least {least_tokens}: too few for a rate")
    chunks = min(len(answer.arrivals) for answer in answers)
    if chunks < LEAST_CHUNKS or len(starts) < len(answers) or ended <= min(starts):
        note = f"over the whole time of the request: its tokens came in {chunks} chunks"
        return _checked(tokens / (ended - sent), counted / (ended - sent), note)
    first = min(starts)
    if max(starts) - first > (ended - first) / 4:
        return Rate(None, "the streams did not run beside each other: the second began late")
    note = f"others had {counted - tokens:.0f} tokens generated beside it" if counted > tokens * MOST_OVER else ""
    client = (tokens - len(answers)) / (ended - first)
    return _checked(client, inside(looks, first, ended) or counted / (ended - sent), note)


def inside(looks: Sequence[Counters], first: float, ended: float) -> float | None:
    """What the server counted a second between two moments; none when it was looked at in less than half of the time.

    The whole time of a request will not do where there is enough of this: it has the prefill in it.
    """
    within = [look for look in looks if first <= look.at <= ended]
    if len(within) < 2 or within[-1].at - within[0].at < (ended - first) / 2:
        return None
    return (within[-1].generated_tokens - within[0].generated_tokens) / (within[-1].at - within[0].at)


def _checked(client: float, server: float, note: str) -> Rate:
    if client > server * MOST_OVER:
        return Rate(
            None,
            f"thrown away: {client:,.1f} tokens/s by the client's clock, {server:,.1f} by the server's count: the "
            "tokens did not come when they were generated",
        )
    return Rate(client, note)
