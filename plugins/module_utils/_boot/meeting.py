# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the workers of one task meet: a folder on the controller in which each host says how far it is.

B(Private) to the collection: it can change at any time.

Ansible runs a task for each host in a process of its own. They share the file system and nothing else.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

PAUSE_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Word:
    """What a host says at a stage: nothing when all is well, otherwise why not."""

    host: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Meeting:
    """One host's view."""

    folder: Path
    hosts: Sequence[str]
    host: str
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def _file(self, stage: str, host: str) -> Path:
        return self.folder / f"{stage}.{self.hosts.index(host)}"

    def tell(self, stage: str, problem: str = "") -> None:
        """Say that this host has come to a stage, or why it has not."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self._file(stage, self.host)
        new = path.with_suffix(".new" + path.suffix)
        new.write_text(json.dumps({"problem": problem}), encoding="utf-8")
        new.rename(path)

    def _heard(self, stage: str) -> dict[str, str]:
        said = {}
        for host in self.hosts:
            try:
                said[host] = str(json.loads(self._file(stage, host).read_text(encoding="utf-8"))["problem"])
            except OSError:
                continue
        return said

    def wait(self, stage: str, seconds: float) -> list[Word]:
        """Wait until every host has said something or the time is over; gives the problems, in order of the hosts."""
        end = self.clock() + seconds
        while len(said := self._heard(stage)) < len(self.hosts) and self.clock() < end:
            self.sleep(PAUSE_SECONDS)
        silent = f"did not get there within {seconds:g} s"
        return [Word(host, said.get(host, silent)) for host in self.hosts if said.get(host, silent)]
