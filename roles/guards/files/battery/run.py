# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run: the guards in their order, then the speed. Whatever happens, what was found is kept."""

from __future__ import annotations

import asyncio
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median

from . import outside
from .beside import Beside
from .course import GONE, AskGuard, AskSpeed, Course
from .failure import Api
from .model import Counters, Server, ServerError
from .outcome import Measure, Run, State, conclusion, slow
from .server import HttpServer
from .settings import Settings
from .status import Status, say, warn
from .stopping import cancel_until

Guard = tuple[str, AskGuard]
Speed = tuple[str, AskSpeed]
Finish = Callable[[Settings, Run], Path]
Parts = tuple[Sequence[Guard], Sequence[Speed], Finish]

COUNTERS_SECONDS = 30.0
ABORTED = 143


async def run(
    settings: Settings,
    salt: str,
    server: Server,
    status: Status,
    guards: Sequence[Guard],
    measures: Sequence[Speed],
    beside: Beside | None = None,
) -> tuple[Run, int]:
    """All steps of a level, and the exit code. Being cancelled ends a run, with what it has."""
    seconds = settings.full_seconds if status.level == "full" else settings.quick_seconds
    course = Course(settings, server, status, salt, seconds, time.monotonic() + seconds)
    status.total = len(guards) + len(measures)
    before = after = None
    state: State
    try:
        before = await counted(server)
        await _steps(course, guards, measures)
        after = await counted(server)
        if beside:
            status.results += [beside.stall(), await beside.group(before, after)]
            for result in status.results[-2:]:
                say(f"all along: {result.guard}: {result.verdict}: {result.summary}")
        gate = settings.speed_is_gate
        too_slow = slow(status.measures, settings.expected(), settings.tolerance)
        for words in too_slow:
            warn(f"speed: {words}" + ("" if gate else " (a warning: speed is no gate)"))
        state, code = conclusion(
            status.results, status.measures, settings.expected() if gate else {}, gate and bool(too_slow)
        )
        if course.over and code != 1:
            state, code = "incomplete", 3
    except asyncio.CancelledError:
        state, code = "aborted", ABORTED
    return ended(settings, status, salt, state, before, after), code


def ended(
    settings: Settings, status: Status, salt: str, state: State, before: Counters | None, after: Counters | None
) -> Run:
    """What there is of a run now that it is over, of whatever level."""
    return Run(
        id=status.run,
        level=status.level,
        recipe=settings.recipe,
        salt=salt,
        began_wall=status.began,
        ended_wall=time.time(),
        state=state,
        results=tuple(status.results),
        measures=tuple(status.measures),
        fingerprint=settings.fingerprint,
        tolerance=settings.tolerance,
        expected=settings.expected(),
        counters_before=before,
        counters_after=after,
        server={"url": settings.url, "model": settings.model, "unit": settings.unit},
    )


async def _steps(course: Course, guards: Sequence[Guard], measures: Sequence[Speed]) -> None:
    for number, (name, guard) in enumerate(guards, 1):
        if course.over:
            break
        result = await course.guard(name, guard)
        words = f"{result.verdict} in {result.seconds:.1f} s: {result.summary}"
        say(f"guard {number} of {len(guards)}: {name}: {words}")
    for number, (name, speed) in enumerate(measures, 1):
        if course.over:
            break
        for measure in await course.measure(name, speed):
            say(f"speed {number} of {len(measures)}: {measure.name}: {figures(measure)}")
    if course.over:
        warn(f"the server failed {GONE} times in a row: nothing more is asked, what was found is kept")


def figures(measure: Measure) -> str:
    if not measure.values:
        return f"not measured: {measure.note}"
    least, most, many = min(measure.values), max(measure.values), len(measure.values)
    spread = f" (median of {many}, {least:.4g} to {most:.4g})" if many > 1 else ""
    return f"{median(measure.values):.4g} {measure.unit}{spread}" + (f": {measure.note}" if measure.note else "")


async def counted(server: Server) -> Counters | None:
    try:
        async with asyncio.timeout(COUNTERS_SECONDS):
            return await server.counters()
    except (ServerError, TimeoutError) as error:
        warn(str(error) or f"/metrics did not answer within {COUNTERS_SECONDS:g} s")
        return None


async def execute(
    settings: Settings,
    api: Api,
    status: Status,
    salt: str,
    parts: Parts | None = None,
) -> int:
    """A run from its first word to its record. SIGTERM ends it early; while it is written down, nothing does."""
    guards, measures, finish = parts or ours(status.level, outside.measures(settings, api))
    told, task = asyncio.Event(), asyncio.current_task()

    if task:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, cancel_until, told, task)
    say(f"run {status.run} of recipe {settings.recipe}, salt {salt}, server {settings.url}")
    async with HttpServer(api) as server, AsyncExitStack() as stack:
        beside = None if parts else await stack.enter_async_context(Beside(settings, server, status.run))
        done, code = await run(settings, salt, server, status, guards, measures, beside)
        told.set()
    kept = keep(settings, done, finish)
    status.state, status.step = done.state, None
    status.show()
    code = 3 if code in (0, 4) and (status.trouble or not kept) else code
    say(f"run {status.run}: {summary(done)}" + (f"; its record is {kept}" if kept else "; it has no record"))
    return code


def summary(done: Run) -> str:
    seen: Mapping[str, int] = Counter(result.verdict for result in done.results)
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in seen.items()) or "nothing was asked"
    return f"{done.state} in {done.ended_wall - done.began_wall:.0f} s: {verdicts}"


def keep(settings: Settings, done: Run, finish: Finish) -> Path | None:
    try:
        return finish(settings, done)
    except OSError as error:
        warn(f"the record of the run cannot be written: {error}; make room, or put {settings.records} right")
    except Exception:  # noqa: BLE001 (the status must still say that the run is over)
        traceback.print_exc()
    return None


def ours(level: str, others: Sequence[Speed] = ()) -> Parts:
    """What a level consists of, with benchmarks of others. Imported when it is needed: tests bring their own."""
    from .guard import CANARY, GUARDS  # noqa: PLC0415
    from .record import finish  # noqa: PLC0415
    from .speed import MEASURES  # noqa: PLC0415

    if level == "canary":
        return [guard for guard in GUARDS if guard[0] in CANARY], [], finish
    if level == "full":
        return GUARDS, [*MEASURES, *others], finish
    return GUARDS, MEASURES, finish
