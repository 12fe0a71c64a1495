# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What apt-get would do, from its simulation.

B(Private) to the collection: it can change at any time.

Its exit status is 0 as well when packages are kept back or wait for their phase. Its counters count neither.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Result

from .family import Member, member
from .version import key

SIMULATE = ("apt-get", "-s", "dist-upgrade")
# What waits for its phase on this machine does come, and another machine may have it already.
WITH_PHASED = ("apt-get", "-s", "-o", "APT::Get::Always-Include-Phased-Updates=true", "dist-upgrade")

INSTALL, UPGRADE, DOWNGRADE, REMOVE = "install", "upgrade", "downgrade", "remove"
_INST = re.compile(
    r"Inst (?P<name>[^\s:]+)(?::\w+)?(?: \[(?P<old>[^\]]+)\])? "
    r"\((?P<new>\S+)(?: (?P<origin>.*?))? \[(?P<architecture>[^\]]+)\]\)(?: \[.*)?"
)
_REMV = re.compile(r"(?:Remv|Purg) (?P<name>[^\s:]+)(?::\w+)? \[(?P<old>[^\]]+)\](?: \[.*)?")
_COUNT = re.compile(r"\d+ upgraded, \d+ newly installed, ")
_KEPT, _DEFERRED = "have been kept back:", "have been deferred due to phasing:"
_ERROR = re.compile(r"(?:E: .*|The following packages have unmet dependencies:| \S+ : (?:Pre)?Depends: .*)")


@dataclass(frozen=True, slots=True)
class Move:
    """One package that would change."""

    name: str
    action: str
    old: str | None
    new: str | None
    origin: str | None = None

    @property
    def family(self) -> Member | None:
        return member(self.name)

    @property
    def text(self) -> str:
        """As a person would say it."""
        if self.action == REMOVE:
            return f"remove {self.name} {self.old}"
        said = f"{self.action} {self.name} {self.old} -> {self.new}" if self.old else f"install {self.name} {self.new}"
        return f"{said} from {self.origin}" if self.origin else said

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"kind": self.family.kind if self.family is not None else None, "text": self.text}


@dataclass(frozen=True, slots=True)
class Plan:
    """All that it would do. C(unread) are lines that tell of a change and were not understood."""

    rc: int
    moves: tuple[Move, ...] = ()
    kept_back: tuple[str, ...] = ()
    deferred: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    complete: bool = False  # it came to its end

    @property
    def pinned_moves(self) -> tuple[Move, ...]:
        """Those of the driver's packages and of kernels."""
        return tuple(move for move in self.moves if move.family is not None)


def _installed(match: re.Match[str]) -> Move:
    old, new = match["old"], match["new"]
    action = INSTALL if old is None else DOWNGRADE if key(new) < key(old) else UPGRADE
    return Move(match["name"], action, old, new, match["origin"] or None)


def parse(result: Result) -> Plan:
    """The plan; every architecture of a package is one move."""
    lists: Mapping[str, list[str]] = {_KEPT: [], _DEFERRED: []}
    moves: dict[Move, None] = {}
    unread: list[str] = []
    errors: list[str] = []
    current: list[str] | None = None
    lines = result.stdout.splitlines()
    for line in lines:
        if line.startswith("  ") and current is not None:
            current += line.split()
            continue
        current = next((names for ending, names in lists.items() if line.endswith(ending)), None)
        if match := _INST.fullmatch(line):
            moves[_installed(match)] = None
        elif match := _REMV.fullmatch(line):
            moves[Move(match["name"], REMOVE, match["old"], None)] = None
        elif line.startswith(("Inst ", "Remv ", "Purg ")):
            unread.append(line)
    if result.rc != 0:
        said = lines + result.stderr.splitlines()
        errors = [line.strip() for line in said if _ERROR.fullmatch(line)] or [f"apt-get returned {result.rc}"]
    return Plan(
        rc=result.rc,
        moves=tuple(sorted(moves, key=lambda move: (move.name, move.action))),
        kept_back=tuple(sorted(set(lists[_KEPT]))),
        deferred=tuple(sorted(set(lists[_DEFERRED]))),
        errors=tuple(errors),
        unread=tuple(unread),
        complete=any(_COUNT.match(line) for line in lines),
    )
