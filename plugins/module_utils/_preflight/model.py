# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is found of nodes before a run, and what of it stops the run.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

STOP = "stop"  # the run cannot end well
WARN = "warn"  # it can, and somebody should know
NOTE = "note"
SEVERITY = (STOP, WARN, NOTE)

Seen = Mapping[str, Any]
"""C(preflight) of preflight_info. What it lacks is not known."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What nodes are judged by."""

    require_gb10: bool = True
    max_clock_skew_seconds: float = 60
    max_swap_used_mib: float = 1024
    judged_at: float | None = None  # of the controller's clock, behind all looks


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was seen of one or several nodes. Findings of one C(check) are about the same question."""

    check: str
    code: str
    verdict: str
    hosts: tuple[str, ...]
    seen: str
    expected: str = ""
    remedy: str = ""

    @property
    def text(self) -> str:
        """All of it in one line."""
        expected = f", expected {self.expected}" if self.expected else ""
        return f"{', '.join(self.hosts)}: {self.seen}{expected}." + (f" {self.remedy}." if self.remedy else "")

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"hosts": list(self.hosts), "text": self.text}


def field(seen: Seen, *keys: str) -> Any:
    """What lies there; null when a part of the way is missing."""
    value: Any = seen
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def number(seen: Seen, *keys: str) -> float | None:
    value = field(seen, *keys)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def rows(seen: Seen, *keys: str) -> list[Seen] | None:
    """A list of mappings."""
    value = field(seen, *keys)
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else None
