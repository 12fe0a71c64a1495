# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is watched while the guards ask: stalls all along, and at the end what became of the group and its head.

Journals of the other ranks are the controller's to read, which adds them when the run is over.
"""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import Self

from . import head
from .model import Counters, Finding, Proof, Result, Server, judged
from .settings import Settings
from .stall import dumped, watch
from .status import warn
from .stopping import stopped

EVERY = 5.0  # seconds between looks at the counters
STALL, GROUP = "stall", "group"


class Beside:
    """From entering it to leaving it, the server is watched. What it saw is in `stall` and `group`."""

    def __init__(self, settings: Settings, server: Server, run: str) -> None:
        self.settings, self.server = settings, server
        self.folder = settings.records / "dumps" / run
        self.stalls: list[Finding] = []
        self.before = head.life(settings.state_file)
        self.began = time.time()
        self.since = time.monotonic()
        self.task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        seconds = float(self.settings.guards.stall_seconds)
        self.task = asyncio.create_task(watch(self.server, seconds, min(EVERY, seconds / 3), self._stalled))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self.task:
            await stopped(self.task)

    async def _stalled(self, words: str) -> None:
        try:
            files = await dumped(self.settings.state_file, self.folder)
            kept = f"; what the processes of the head do: {', '.join(str(file) for file in files)}"
        except OSError as trouble:
            kept = f"; {self.folder} cannot be written: {trouble.strerror}"
        warn(f"stall: {words}{kept}")
        self.stalls.append(Finding("requests run and no token comes", "the server", words + kept))

    def stall(self) -> Result:
        """Whether anything stood still for as long as the recipe allows. A shorter run could not show it."""
        needed = float(self.settings.guards.stall_seconds)
        watched = Proof("seconds watched", round(time.monotonic() - self.since, 1), needed)
        if not self.stalls and not watched.met:
            return Result(STALL, "not asked", f"the run was shorter than a stall of {needed:g} s", (), (watched,))
        return judged(STALL, f"{len(self.stalls)} stalls of {needed:g} s", tuple(self.stalls), (watched,))

    async def group(self, before: Counters | None, after: Counters | None) -> Result:
        """Whether the group lived through the run, its head said no error, and nothing was preempted beyond measure."""
        lines, read = await head.journal(self.settings.unit, self.began)
        now = head.life(self.settings.state_file)
        findings = [Finding("an error line", self.settings.unit, line) for line in lines] if read else []
        unknown = [] if read else list(lines)
        if self.before and now:
            findings += head.changed(self.before, now)
        else:
            unknown.append(f"{self.settings.state_file} cannot be read: is the battery on the head of the group?")
        preempted = after.preemptions - before.preemptions if before and after else 0.0
        if preempted > (most := self.settings.guards.preemptions_most):
            what = f"{preempted:g} requests were preempted, at most {most} are expected: the KV pool is too small"
            findings.append(Finding("preemptions", "the scheduler", what))
        summary = f"{len(lines) if read else 0} error lines on the head, {preempted:g} preemptions"
        result = judged(GROUP, summary, tuple(findings), (), {"preemptions": preempted})
        if unknown and not findings:
            return Result(GROUP, "unknown", "; ".join(unknown), (), (), result.figures)
        return result
