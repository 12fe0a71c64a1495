# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same measurement again and again, within its time."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable

from battery.model import ServerError
from battery.outcome import Measure, SpeedTask

from .rate import Rate

FULL, QUICK = 3, 1
Once = Callable[[int], Awaitable[Rate]]


def times(task: SpeedTask) -> int:
    return QUICK if task.quick else FULL


async def repeat(count: int, seconds: float, once: Once) -> list[Rate]:
    """The first is always begun, another one only when it fits. What there was before the server went is kept."""
    began, longest = time.monotonic(), 0.0
    done: list[Rate] = []
    for number in range(count):
        at = time.monotonic()
        if done and at + longest > began + seconds:
            done.append(Rate(None, f"{number} of {count} times: there was no time for more"))
            break
        try:
            done.append(await once(number))
        except ServerError as error:
            if not any(each.value is not None for each in done):
                raise
            done.append(Rate(None, f"{number} of {count} times: {error}"))
            break
        longest = max(longest, time.monotonic() - at)
    return done


def measure(name: str, unit: str, rates: Iterable[Rate]) -> Measure:
    rates = list(rates)
    values = tuple(each.value for each in rates if each.value is not None)
    return Measure(name, unit, values, "; ".join(dict.fromkeys(each.note for each in rates if each.note)))
