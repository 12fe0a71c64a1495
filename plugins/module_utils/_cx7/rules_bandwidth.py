# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules: what was measured, which is the authority."""

from __future__ import annotations

from collections.abc import Iterator

from .load import DIRECTIONS, Measured
from .thresholds import (
    BANDWIDTH_DEGRADED_GBPS,
    BANDWIDTH_OK_GBPS,
    THROTTLED_GBPS,
    THROTTLED_TOGETHER_GBPS,
)
from .verdicts import (
    NEEDS_REBOOT,
    UNKNOWN,
    Port,
    Reason,
    reason,
)


def _shown(row: Measured) -> str:
    value = "no result" if row.gbps is None else f"{row.gbps:g} Gb/s"
    return f"{row.direction}: {value} by {row.method.upper()}"


def _is_throttled(port: Port, direction: str) -> bool:
    """Only RDMA can say so: one TCP stream of a healthy link gives the same figure."""
    row, twin = port.measured.get(direction), port.twin_measured.get(direction)
    if row is None or row.gbps is None or row.method != "rdma":
        return False
    if THROTTLED_GBPS[0] <= row.gbps <= THROTTLED_GBPS[1]:
        return True
    if twin is None or twin.gbps is None or twin.method != "rdma" or max(row.gbps, twin.gbps) > THROTTLED_GBPS[0]:
        return False
    return THROTTLED_TOGETHER_GBPS[0] <= row.gbps + twin.gbps <= THROTTLED_TOGETHER_GBPS[1]


def bandwidth_shown(port: Port) -> Iterator[Reason]:
    if not port.linked:
        return
    rows = {direction: port.measured.get(direction) for direction in DIRECTIONS}
    missing = [direction for direction, row in rows.items() if row is None]
    if missing:
        yield reason("not_measured", UNKNOWN, f"Bandwidth of {port.name} was not measured: {', '.join(missing)}")
    for direction, row in rows.items():
        if row is not None:
            yield from _one_direction(port, direction, row)


def _one_direction(port: Port, direction: str, row: Measured) -> Iterator[Reason]:
    shown = [_shown(row)]
    if row.gbps is None:
        text = f"The measurement of {port.name}, {direction}, gave no result"
        yield reason("no_result", UNKNOWN, text, shown)
    elif row.gbps >= BANDWIDTH_OK_GBPS:
        return
    elif _is_throttled(port, direction) and (direction == "out" or _is_throttled(port, "out")):
        # The cap sits on what a node sends. When it sends slowly, its slow receiving is not judged on its own.
        text = (
            f"{port.name} {'sends' if direction == 'out' else 'receives'} {row.gbps:g} Gb/s: the cap after a hot-plug"
        )
        yield reason("throttled", NEEDS_REBOOT, text, shown)
    elif _is_throttled(port, direction):
        text = f"{port.name} receives {row.gbps:g} Gb/s: {port.peer} is capped in what it sends"
        yield reason("peer_throttled", UNKNOWN, text, shown)
    elif row.method == "tcp":
        text = f"TCP reached {row.gbps:g} Gb/s on {port.name}, {direction}: that proves neither full speed nor a cap"
        yield reason("tcp_proves_nothing", UNKNOWN, text, shown)
    elif row.gbps >= BANDWIDTH_DEGRADED_GBPS:
        text = f"{port.name}, {direction}, reaches {row.gbps:g} Gb/s of at least {BANDWIDTH_OK_GBPS:g}"
        yield reason("bandwidth_degraded", UNKNOWN, text, shown)
    else:
        text = f"{port.name}, {direction}, reaches {row.gbps:g} Gb/s: neither healthy nor the cap after a hot-plug"
        yield reason("bandwidth_unexplained", UNKNOWN, text, shown)
