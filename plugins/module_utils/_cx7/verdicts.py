# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdicts, what gives reasons for them, and what is known of a port that is judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from . import signs
from .load import DIRECTIONS, Expected, Measured
from .model import Cx7, Event, Function
from .remedies import REMEDIES
from .thresholds import (
    BANDWIDTH_OK_GBPS,
)

FAULT = "fault"
NEEDS_POWER_DRAIN = "needs_power_drain"
NEEDS_REBOOT = "needs_reboot"
MISCONFIGURED = "misconfigured"
UNKNOWN = "unknown"
OK = "ok"
NO_CABLE = "no_cable"
SEVERITY = (FAULT, NEEDS_POWER_DRAIN, NEEDS_REBOOT, MISCONFIGURED, UNKNOWN, OK, NO_CABLE)  # worst first
UNPROVEN = ("not_measured", "no_result", "tcp_proves_nothing")  # codes that only say that full speed was not shown


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that was seen, what it means for the verdict, and what to do."""

    code: str
    verdict: str
    text: str
    evidence: tuple[str, ...] = ()
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """Something worth knowing that changes no verdict."""

    code: str
    text: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Port:
    """Everything that the rules know about one port."""

    cage: str
    root: str
    cx7: Cx7
    function: Function | None
    twin: Function | None  # the same cage on the other root
    expected: Expected | None
    plan_given: bool
    measured: Mapping[str, Measured]  # by direction
    twin_measured: Mapping[str, Measured]

    @property
    def name(self) -> str:
        return f"cage {self.cage}, root {self.root}"

    @property
    def linked(self) -> bool:
        return self.function is not None and self.function.carrier is True

    @property
    def fast(self) -> bool:
        """Both directions were measured at full speed: the authority."""
        return all(
            row is not None and row.gbps is not None and row.gbps >= BANDWIDTH_OK_GBPS
            for row in (self.measured.get(direction) for direction in DIRECTIONS)
        )

    @property
    def peer(self) -> str:
        return self.expected.peer if self.expected is not None and self.expected.peer else "the other end"

    def events(self, *kinds: str) -> list[Event]:
        return signs.of_kind(self.cx7.events, *kinds, cage=self.cage, root=self.root)


def reason(code: str, verdict: str, text: str, evidence: Iterable[str] = ()) -> Reason:
    return Reason(code, verdict, text, tuple(evidence), REMEDIES[code])


def texts(events: Iterable[Event], limit: int = 3) -> list[str]:
    """The lines as evidence, with their times."""
    lines = []
    for event in list(events)[:limit]:
        when = event.stamp if event.stamp is not None else None if event.seconds is None else f"{event.seconds:.3f}"
        lines.append(f"[{when}] {event.text}" if when is not None else event.text)
    return lines
