# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a run, each with its share of the time. A step that breaks takes no other with it."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from .model import Result, Server, ServerError, Task
from .outcome import Measure, SpeedTask
from .settings import Settings
from .status import Status

AskGuard = Callable[[Server, Task], Awaitable[Result]]
# One figure, or those of another's benchmark, which is one step.
AskSpeed = Callable[[Server, SpeedTask], Awaitable[Measure | tuple[Measure, ...]]]

GONE = 3  # errors of the server in a row, after which nothing more is asked
SHARES = 4  # one step gets at most this part of the time that is left: one that hangs leaves the others theirs
CUT_OFF = 1.25  # a step bounds itself by its budget; one that does not is cut off later


@dataclass
class Course:
    """The steps of a run, one after the other."""

    settings: Settings
    server: Server
    status: Status
    salt: str
    seconds: int
    ends_at: float
    gone: int = 0

    @property
    def over(self) -> bool:
        return self.gone >= GONE

    async def guard(self, name: str, call: AskGuard) -> Result:
        quick = self.status.level != "full"

        async def ask(budget: float) -> Result:
            settings = self.settings
            return await call(self.server, Task(settings.guards, settings.context_tokens, quick, self.salt, budget))

        began = time.monotonic()
        got = await self._step(name, ask)
        result = Result(name, "unknown", got) if isinstance(got, str) else got
        self.gone = self.gone if result.verdict == "unknown" else 0
        result = replace(result, seconds=time.monotonic() - began)
        self.status.results.append(result)
        return result

    async def measure(self, name: str, call: AskSpeed) -> tuple[Measure, ...]:
        quick = self.status.level != "full"

        async def ask(budget: float) -> Measure | tuple[Measure, ...]:
            settings = self.settings
            task = SpeedTask(quick, self.salt, settings.context_tokens, settings.expected(), budget)
            return await call(self.server, task)

        got = await self._step(name, ask)
        measured = (Measure(name, "", (), got),) if isinstance(got, str) else got if isinstance(got, tuple) else (got,)
        self.gone = 0 if any(measure.values for measure in measured) else self.gone
        self.status.measures += measured
        return measured

    async def _step[T](self, name: str, ask: Callable[[float], Awaitable[T]]) -> T | str:
        """What a step gives, or in words why it gives nothing."""
        self.status.step = name
        self.status.show()
        done = len(self.status.results) + len(self.status.measures)
        budget = (self.ends_at - time.monotonic()) / max(1, min(self.status.total - done, SHARES))
        more = f"give the level {self.status.level} more than {self.seconds} seconds"
        if budget <= 0:
            return f"not begun, there was no time left; {more}"
        limit = asyncio.timeout(budget * CUT_OFF)
        try:
            async with limit:
                return await ask(budget)
        except Exception as error:  # noqa: BLE001 (a guard that breaks must not take the others with it)
            said = server_error(error)
            if said is not None:
                self.gone += 1
                return str(said)
            if isinstance(error, TimeoutError) and limit.expired():
                return f"cut off after {budget * CUT_OFF:.3g} s; {more}"
            traceback.print_exc()
            return (
                f"it broke ({type(error).__name__}: {error}): a fault of the battery, its traceback is in the journal"
            )


def server_error(error: Exception) -> ServerError | None:
    """The server's error, also when all that a task group says is such errors."""
    if isinstance(error, ServerError):
        return error
    if isinstance(error, ExceptionGroup):
        found = [server_error(each) for each in error.exceptions]
        return None if None in found else found[0]
    return None
