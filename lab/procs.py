# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes remembered by pid *and* start time, so that a number used again is never taken for the old process."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lab.common import read_json, write_atomic

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Stat:
    """The fields of /proc/PID/stat that the lab needs."""

    pid: int
    state: str
    parent: int
    start: int


def parse_stat(text: str) -> Stat:
    """Parse /proc/PID/stat. The command name may hold spaces and parentheses: fields count from the last ')'."""
    head, _, tail = text.rpartition(")")
    fields = tail.split()
    return Stat(int(head.split(" ", 1)[0]), fields[0], int(fields[1]), int(fields[19]))


def stat(pid: int) -> Stat | None:
    """None when there is no such process, or only its zombie."""
    try:
        found = parse_stat(Path(f"/proc/{pid}/stat").read_text())
    except (OSError, ValueError, IndexError):
        return None
    return None if found.state in "ZX" else found


@dataclass(frozen=True)
class Process:
    """One process, told apart from a later one with the same number by its start time."""

    pid: int
    start: int

    @classmethod
    def of(cls, pid: int) -> Process | None:
        found = stat(pid)
        return cls(pid, found.start) if found else None

    @classmethod
    def load(cls, path: Path) -> Process | None:
        """The living process that a file names."""
        data = read_json(path)
        if not isinstance(data, dict):
            return None
        process = cls(int(data.get("pid", 0)), int(data.get("start", -1)))
        return process if process.alive() else None

    def save(self, path: Path) -> None:
        write_atomic(path, f'{{"pid": {self.pid}, "start": {self.start}}}\n')

    def alive(self) -> bool:
        found = stat(self.pid)
        return found is not None and found.start == self.start

    def signal(self, number: signal.Signals) -> bool:
        """Send a signal through a pidfd, so that it reaches this process or none."""
        try:
            handle = os.pidfd_open(self.pid)
        except OSError:
            return False
        try:
            if not self.alive():
                return False
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, number)
            return True
        finally:
            os.close(handle)


def children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def init_of(pids: Iterable[int]) -> int | None:
    """Of some processes, the one that is PID 1 of its own namespace."""
    for pid in pids:
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("NSpid:") and line.split()[-1] == "1" and len(line.split()) > 2:
                    return pid
    return None
