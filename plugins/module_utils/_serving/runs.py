# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""A rank's lines in the order in which they were written, one start of its unit apart from the other.

Within a node the monotonic clock orders lines, since the other one can be set while a service runs. Between nodes only
that other one compares, so a line's time is the monotonic one brought to what the node's clock said last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from .aftermath import STOPPING
from .journal import KERNEL, SYSTEMD, Journal, Line

_STOPPING = re.compile(STOPPING)
_KEEPER_ENDS = "rank keeper: ending: "
"""From here on the keeper of the rank ends vLLM, for a reason that lies before, on this rank or on another."""
_MET = re.compile(r"rank \d+ in world size \d+ is assigned as")


@dataclass(frozen=True, slots=True)
class Run:
    """One start of a rank's unit. C(lines) end where somebody asked it to stop, or its keeper ends it."""

    rank: int | str
    invocation: str
    boot: str
    lines: tuple[Line, ...]
    stopped: bool = False

    @property
    def first(self) -> float | None:
        return next((line.time for line in self.lines if line.time is not None), None)

    @property
    def last(self) -> float | None:
        return next((line.time for line in reversed(self.lines) if line.time is not None), None)

    @property
    def met(self) -> float | None:
        """When the ranks had found each other: a moment that all of them share."""
        return next((line.time for line in self.lines if _MET.search(line.text)), None)


def runs(rank: int | str, journal: Journal) -> list[Run]:
    """All starts, the first one first. Lines of the kernel belong to the start in which they fall."""
    groups: dict[tuple[str, str], list[Line]] = {}
    kernel = []
    for line in journal.lines:
        if line.source == KERNEL:
            kernel.append(line)
        else:
            groups.setdefault((line.boot, line.invocation), []).append(line)
    ordered = sorted(groups.items(), key=lambda item: _start(item[1]))
    if not ordered and kernel:
        ordered = [(("", ""), [])]
    for line in kernel:
        late = [lines for (boot, _id), lines in ordered if boot in ("", line.boot) or not line.boot]
        begun = [lines for lines in late if lines and _start(lines) <= (line.time or 0.0)]
        (begun[-1] if begun else (late or [ordered[0][1]])[0]).append(line)
    return [_run(rank, boot, invocation, lines) for (boot, invocation), lines in ordered]


def _start(lines: Iterable[Line]) -> float:
    return min((line.time for line in lines if line.time is not None), default=0.0)


def _run(rank: int | str, boot: str, invocation: str, lines: list[Line]) -> Run:
    written = _in_order(lines)
    for place, line in enumerate(written):
        if line.text.startswith(_KEEPER_ENDS) or (line.source == SYSTEMD and _STOPPING.search(line.text)):
            return Run(rank, invocation, boot, tuple(written[:place]), stopped=True)
    return Run(rank, invocation, boot, tuple(written))


def _in_order(lines: list[Line]) -> list[Line]:
    if all(line.monotonic is not None and line.time is not None for line in lines):
        ordered = sorted(lines, key=lambda line: line.monotonic or 0.0)
        clock = (ordered[-1].time or 0.0) - (ordered[-1].monotonic or 0.0) if ordered else 0.0
        return [replace(line, time=clock + (line.monotonic or 0.0)) for line in ordered]
    if all(line.time is not None for line in lines):
        return sorted(lines, key=lambda line: line.time or 0.0)
    return lines


def aligned(all_runs: list[Run], tolerance: float) -> tuple[list[Run], dict[int | str, float]]:
    """Bring the nodes' clocks together where a start of the group shows that they differ, and say by how much.

    All ranks leave the rendezvous at one moment. A node whose clock puts that moment elsewhere than the first rank's
    is moved to that one; what is within the tolerance stays, and so do ranks with more than one start.
    """
    moments = [(run.rank, run.met) for run in all_runs if run.met is not None]
    met = dict(moments)
    if len(met) < 2 or len(met) != len(moments):
        return all_runs, {}
    ours = moments[0][1]
    off = {rank: when - ours for rank, when in moments if abs(when - ours) > tolerance}
    return [_moved(run, off[run.rank]) if run.rank in off else run for run in all_runs], off


def _moved(run: Run, seconds: float) -> Run:
    lines = (replace(line, time=None if line.time is None else line.time - seconds) for line in run.lines)
    return replace(run, lines=tuple(lines))
