# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One judgement of all nodes of a run.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from . import node, nodes
from .model import NOTE, SEVERITY, STOP, WARN, Finding, Wanted

MILDER = {STOP: WARN, WARN: NOTE, NOTE: NOTE}
CODES = frozenset(
    {
        "clock_skew",
        "cma",
        "desktop",
        "disk_short",
        "disk_unknown",
        "driver_differs",
        "driver_not_loaded",
        "driver_pending",
        "driver_proprietary",
        "gb10_missing",
        "gb10_unknown",
        "hostname_duplicate",
        "kernel_breaks_rdma",
        "kernel_differs",
        "machine_id_duplicate",
        "machine_id_unknown",
        "memory_differs",
        "ota_differs",
        "ota_torn",
        "port_taken",
        "same_machine",
        "secure_boot_dkms",
        "swap_used",
    }
)
"""What may stop or warn, and so may be accepted."""


def unknown_codes(accept: Collection[str]) -> list[str]:
    """Slips in what a user accepts."""
    return sorted(set(accept) - CODES)


def judge(seen: nodes.Nodes, wanted: Wanted, accept: Collection[str] = ()) -> tuple[Finding, ...]:
    """The worst first. What is accepted is a degree milder. Nodes of which the same is to be said share a finding."""
    found = [finding for host, one in seen.items() for finding in node.judge(host, one, wanted)]
    found += nodes.judge(seen, wanted)
    merged: dict[Finding, list[str]] = {}
    for finding in found:
        verdict = MILDER[finding.verdict] if finding.code in accept else finding.verdict
        merged.setdefault(replace(finding, verdict=verdict, hosts=()), []).extend(finding.hosts)
    shared = (replace(finding, hosts=tuple(hosts)) for finding, hosts in merged.items())
    return tuple(sorted(shared, key=lambda finding: SEVERITY.index(finding.verdict)))
