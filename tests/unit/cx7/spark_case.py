# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a case is, and the words in which cases are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.unit.cx7 import spark_logs as log
from tests.unit.cx7.spark_tree import Shown

Gbps = float | None
UP = Shown(cables="p0")
DARK = Shown(cables="", absent="all")
LOW = "insufficient_power_line"


@dataclass(frozen=True)
class Case:
    id: str
    expected: Mapping[str, str]  # port, or "node" → "verdict code"
    shown: Shown = UP
    log: str = log.HEALTHY
    rdma: Mapping[str, tuple[Gbps, Gbps]] = field(default_factory=dict)  # port → (out, in)
    tcp: Mapping[str, tuple[Gbps, Gbps]] = field(default_factory=dict)
    plan: str = "p0"  # cages that the plan uses
    port: Mapping[str, Any] = field(default_factory=dict)  # more of what the plan wants of each of them
    already_rebooted: bool = False
    notes: Mapping[str, str] = field(default_factory=dict)  # port → codes of its notes
    measure: str = ""  # ports that only lack a measurement

    @property
    def expect(self) -> list[dict[str, Any]]:
        return [
            {"cage": cage, "root": root, "peer": {"host": "spark2", "cage": "p1"}, **self.port}
            for cage in self.plan.split()
            for root in "AB"
        ]

    @property
    def bandwidth(self) -> list[dict[str, Any]]:
        return [
            {"cage": port.split()[0], "root": port.split()[1], "direction": direction, "gbps": gbps, "method": method}
            for method, rows in (("rdma", self.rdma), ("tcp", self.tcp))
            for port, both in rows.items()
            for direction, gbps in zip(("out", "in"), both, strict=True)
        ]


def both(out: Gbps, back: Gbps | None = None) -> dict[str, tuple[Gbps, Gbps]]:
    """The same on both roots of p0."""
    pair = (out, out if back is None else back)
    return {"p0 A": pair, "p0 B": pair}


def p0(verdict: str, node: str | None = None) -> dict[str, str]:
    return {"node": node or verdict.split(maxsplit=1)[0], "p0 A": verdict, "p0 B": verdict}


SLOW = both(13.23)
FAST = both(98.03)
