# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdicts on a node's driver, what gives reasons for them, and what is wanted.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from .version import branch

FAULT = "fault"
BLOCKED = "blocked"  # neither reboot nor upgrade
CONFIG = "config"
UNKNOWN = "unknown"
PENDING_REBOOT = "pending_reboot"
OK = "ok"
SEVERITY = (FAULT, BLOCKED, CONFIG, UNKNOWN, PENDING_REBOOT, OK)  # worst first; what is not known is no way to a reboot
EVIDENCE_LINES = 12


@dataclass(frozen=True, slots=True)
class Pin:
    """What is wanted. Without a kernel the running one is."""

    version: str
    open: bool = True
    kernel: str | None = None
    allow_change: bool = False  # judge an upgrade by whether what it leaves fits together

    @property
    def branch(self) -> int | None:
        return branch(f"{self.version}.")

    @property
    def flavour(self) -> str:
        return "open" if self.open else "proprietary"


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that was seen, and what it alone makes of the verdict. One that is C(OK) is a note."""

    code: str
    verdict: str
    seen: str
    expected: str = ""
    remedy: str = ""
    evidence: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All of it but the evidence, in one line."""
        parts = (self.seen, f"expected: {self.expected}" if self.expected else "", self.remedy)
        return "; ".join(part for part in parts if part)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"evidence": list(self.evidence), "text": self.text}


def flavour(is_open: bool | None) -> str | None:
    return None if is_open is None else "open" if is_open else "proprietary"


def listed(names: Iterable[str], limit: int = 4) -> str:
    """A few names and how many more there are."""
    kept = list(names)
    more = f" and {len(kept) - limit} more" if len(kept) > limit else ""
    return ", ".join(kept[:limit]) + more


def evidence(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(lines)[:EVIDENCE_LINES]


def worst(reasons: Iterable[Reason]) -> str:
    return min((reason.verdict for reason in reasons), key=SEVERITY.index, default=OK)
