# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast tokens are generated: counting, code, prose in two languages, and two streams together.

In `full` each is measured twice, twelve minutes apart, to see what age does. The measures share these two passes, so
that they wait once: whichever is asked for first takes them all, and the others find theirs taken.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping

from battery.model import Question, Server, ServerError
from battery.outcome import Measure, SpeedTask

from .rate import PLAIN, Rate, rate, watched
from .repeat import measure, repeat, times

UNIT = "tokens/s"
APART_SECONDS = 720.0
# Less than any of these prompts asks for: an answer ends here, and at the same place in each run.
TOKENS = 384
COUNT = "Count from 1 to 300. Write the numbers separated by blanks, and nothing else."
CODE = (
    "Write a complete Python module, at least 300 lines: a library that parses, edits and writes INI files, with "
    "type hints, error classes and unit tests. Only code, no explanation."
)
RIVERS = (
    "Write an essay of at least 1500 words in plain English on how rivers shape the land. No headings and no lists."
)
TOWNS = (
    "Write an essay of at least 1500 words in plain English on how towns grow around harbours. No headings, no lists."
)
SPANISH = (
    "Escribe un ensayo de al menos 1500 palabras en español sobre la forma en que los ríos cambian el paisaje. "
    "Sin títulos ni listas."
)
# What is asked at once. It never changes: how many drafts are accepted depends on the text.
PROMPTS: Mapping[str, tuple[str, ...]] = {
    "count_tokens_per_second": (COUNT,),
    "code_tokens_per_second": (CODE,),
    "prose_en_tokens_per_second": (RIVERS,),
    "prose_es_tokens_per_second": (SPANISH,),
    "two_streams_tokens_per_second": (RIVERS, TOWNS),
}
Call = Callable[[Server, SpeedTask], Awaitable[Measure]]


def measures(apart: float = APART_SECONDS) -> tuple[tuple[str, Call], ...]:
    """A measure for each entry of PROMPTS, all of one run."""
    taken: dict[tuple[str, str], Measure | ServerError] = {}

    def one(name: str) -> Call:
        async def call(server: Server, task: SpeedTask) -> Measure:
            if task.quick:
                return measure(name, UNIT, await _pass(server, task, name, task.budget_seconds))
            if (task.salt, name) not in taken:
                both = await twice(server, task, apart)
                taken.update({(task.salt, each): got for each, got in both.items()})
            got = taken.pop((task.salt, name))
            if isinstance(got, ServerError):
                raise got
            return got

        return call

    return tuple((name, one(name)) for name in PROMPTS)


async def twice(server: Server, task: SpeedTask, apart: float) -> dict[str, Measure | ServerError]:
    """Both passes of all. Without time for the second one there is one, and the notes say so."""
    began, share = time.monotonic(), task.budget_seconds / (2 * len(PROMPTS))
    rates: dict[str, list[Rate]] = {}
    lost: dict[str, ServerError] = {}
    for name in PROMPTS:
        try:
            rates[name] = await _pass(server, task, name, share)
        except ServerError as error:
            lost[name] = error
    needed = apart + time.monotonic() - began
    if needed > task.budget_seconds:
        note = Rate(
            None,
            f"one pass only: a second one {apart / 60:g} min later needs {needed:.0f} s for this step, which had "
            f"{task.budget_seconds:.0f} s: give the level full more time",
        )
        rates = {name: [*some, note] for name, some in rates.items()}
    elif rates:
        await asyncio.sleep(max(0.0, began + apart - time.monotonic()))
        for name, some in rates.items():
            try:
                some.extend(await _pass(server, task, name, share))
            except ServerError as error:
                some.append(Rate(None, f"no second pass: {error}"))
    return {**{name: measure(name, UNIT, some) for name, some in rates.items()}, **lost}


async def _pass(server: Server, task: SpeedTask, name: str, seconds: float) -> list[Rate]:
    asked = [Question.plain(text, TOKENS, extra={**PLAIN, "ignore_eos": True}) for text in PROMPTS[name]]

    async def once(_number: int) -> Rate:
        return rate(await watched(server, asked))

    return await repeat(times(task), seconds, once)
