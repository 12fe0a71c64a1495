# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who moved what: apt's own history.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from .family import member

LOG = ("var", "log", "apt", "history.log")
TAIL_BYTES = 262144
KEPT = 5  # the latest that touched the driver or a kernel
_ACTIONS = ("Install", "Upgrade", "Downgrade", "Remove", "Purge", "Reinstall")
_CHANGE = re.compile(r"(?P<name>[^\s:,()]+):(?P<architecture>\w+) \((?P<versions>[^)]*)\)")


@dataclass(frozen=True, slots=True)
class Transaction:
    """One run of apt, with what it did to the driver and to kernels."""

    date: str
    command: str
    changes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def _changes(action: str, text: str) -> list[str]:
    found = []
    for match in _CHANGE.finditer(text):
        if member(match["name"]) is not None:
            versions = [part for part in match["versions"].split(", ") if part != "automatic"]
            found.append(f"{action.lower()} {match['name']} {' -> '.join(versions)}")
    return found


def parse(text: str) -> tuple[Transaction, ...]:
    """The latest ones that touched the driver or a kernel, oldest first. The first one may have lost its beginning."""
    found = []
    for paragraph in re.split(r"\n\s*\n", text):
        fields = dict(line.partition(": ")[::2] for line in paragraph.splitlines() if ": " in line)
        changes = [change for action in _ACTIONS for change in _changes(action, fields.get(action, ""))]
        if changes and "Start-Date" in fields:
            date = " ".join(fields["Start-Date"].split())
            found.append(Transaction(date, fields.get("Commandline", ""), tuple(changes)))
    return tuple(found[-KEPT:])
