# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has to be done on a node, and how the rules collect it.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from .model import OURS, Seen, Wanted


@dataclass(frozen=True, slots=True)
class Write:
    """A file to write. C(backup): what is there is someone else's."""

    path: str
    content: str
    backup: bool = False


@dataclass(frozen=True, slots=True)
class Changes:
    """The work. C(differences) is the same in words, and empty on a node that is as it should be.

    C(remember) is written before anything is changed, so that a run that breaks off can be taken back, and C(keep)
    after it; both are the node's memory, and null when nothing changes in it. An empty C(keep) removes it.
    """

    refusals: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    write: tuple[Write, ...] = ()
    remove: tuple[str, ...] = ()
    reload: bool = False
    install: tuple[str, ...] = ()
    uninstall: tuple[str, ...] = ()
    restart: tuple[str, ...] = ()
    start: tuple[str, ...] = ()
    stop: tuple[str, ...] = ()
    sysctl: tuple[str, ...] = ()
    default_target: str = ""
    swap: str = ""
    hosts: str = ""
    remember: str | None = None
    keep: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(slots=True)
class Work:
    """Collects what the rules find. C(before) is the node's memory, C(memory) what it has to be in the end."""

    seen: Seen
    wanted: Wanted
    before: dict[str, Any]
    memory: dict[str, Any]
    found: dict[str, list[Any]] = field(default_factory=dict)

    def add(self, kind: str, value: object, text: str = "") -> None:
        """One thing to do, and why."""
        self.found.setdefault(kind, []).append(value)
        if text:
            self.found.setdefault("differences", []).append(text)

    def write(self, path: str, content: str) -> None:
        there = self.seen.file(path).content
        backup = there is not None and OURS not in there
        self.add("write", Write(path, content, backup), f"{path} {'is missing' if there is None else 'differs'}")

    def all(self, kind: str) -> tuple[Any, ...]:
        """In the order in which they were found, each once."""
        return tuple(dict.fromkeys(self.found.get(kind, ())))

    def one(self, kind: str) -> str:
        found = self.all(kind)
        return str(found[0]) if found else ""
