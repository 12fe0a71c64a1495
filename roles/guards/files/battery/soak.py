# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hours of mixed traffic with the canary's guards in between: what needs age to show, and when it began to show."""

from __future__ import annotations

import asyncio
import secrets
import signal
import time
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from . import stall
from .failure import Api
from .model import Counters, Finding, Result, Server
from .outcome import Run, State, conclusion
from .rounds import Soak, go_on
from .run import ABORTED, Finish, Guard, counted, ended, keep, ours, summary
from .server import HttpServer
from .settings import Settings
from .status import Status, say, warn
from .stopping import cancel_until, stopped

LEVEL = "soak"
INTERVAL_SECONDS = 600.0  # of traffic between two rounds of guards
LOOK_SECONDS = 15.0


async def soak(
    settings: Settings,
    hours: float,
    server: Server,
    status: Status,
    salt: str,
    guards: Sequence[Guard],
    interval: float = INTERVAL_SECONDS,
    every: float = LOOK_SECONDS,
) -> tuple[Run, int]:
    """Until the time is over, a guard fails, it stalls, or the server is gone; and the exit code.

    Being cancelled ends it with what it has.
    """
    began = time.monotonic()
    course = Soak(settings, server, status, salt, guards, began, began + 3600 * hours, interval)
    before = await counted(server)
    after: Counters | None = None
    state: State
    try:
        await _until_over(course, every)
        after = await counted(server)
        course.show()
        state, code = conclusion(status.results, status.measures, {}, too_slow=False)
        if course.gone and code != 1:
            state, code = "incomplete", 3
    except asyncio.CancelledError:
        course.show()
        state, code = "aborted", ABORTED
    except Exception:  # noqa: BLE001 (hours of findings are kept, whatever breaks)
        traceback.print_exc()
        course.show()
        state, code = "incomplete", 3
    return ended(settings, status, salt, state, before, after), code


async def _until_over(course: Soak, every: float) -> None:
    """The rounds, beside the watch that ends them."""
    seconds = float(course.settings.guards.stall_seconds)
    told: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def tell(words: str) -> None:
        if not told.done():
            told.set_result(words)

    rounds = asyncio.create_task(go_on(course))
    watcher = asyncio.create_task(stall.watch(course.server, seconds, min(every, seconds / 4), tell))
    ends: set[asyncio.Future[Any]] = {rounds, watcher, told}
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if told.done():
            await _stalled(course, told.result())
        else:
            # What broke is raised. The watch has no end of its own.
            (rounds if rounds.done() else watcher).result()
    finally:
        await stopped(rounds, watcher)


async def _stalled(course: Soak, words: str) -> None:
    """What the ranks of this machine do is kept beside the records."""
    folder = course.settings.records / "dumps" / course.status.run
    try:
        kept = await stall.dumped(course.settings.state_file, folder)
        names = ", ".join(path.name for path in kept)
        where = f"{folder} has {names}" if names else "no process of the head is known, so none was looked at"
    except OSError as error:
        where = f"{folder} cannot be written: {error.strerror}"
    warn(f"stall: {words}; {where}")
    course.stalled = Result("stall", "failed", words, (Finding("a stall", course.age(), f"{words}; {where}"),))


def main(settings: Settings, hours: float) -> int:
    """For the command line: the exit code."""
    began = time.time()
    run = f"{datetime.fromtimestamp(began, UTC):%Y%m%dT%H%M%SZ}-{LEVEL}"
    status = Status(settings.records, run, LEVEL, settings.recipe, began)
    guards, _measures, finish = ours("canary")
    return asyncio.run(execute(settings, settings.api(), status, hours, guards, finish))


async def execute(
    settings: Settings, api: Api, status: Status, hours: float, guards: Sequence[Guard], finish: Finish
) -> int:
    """From its first word to its record. SIGTERM ends it early; while it is written down, nothing does."""
    salt, told, task = secrets.token_hex(4), asyncio.Event(), asyncio.current_task()

    if task:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, cancel_until, told, task)
    say(f"run {status.run} of recipe {settings.recipe}, salt {salt}, server {settings.url}, {hours:g} hours")
    async with HttpServer(api) as server:
        done, code = await soak(settings, hours, server, status, salt, guards)
        told.set()
    kept = keep(settings, done, finish)
    status.state, status.step = done.state, None
    status.show()
    say(f"run {status.run}: {summary(done)}" + (f"; its record is {kept}" if kept else "; it has no record"))
    return 3 if code in (0, 4) and (status.trouble or not kept) else code
