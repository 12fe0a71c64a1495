# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Which ranks gave a journal, and whether it reaches back to the start."""

from __future__ import annotations

import re

from ansible_collections.switchless.spark.plugins.module_utils._fabric.plain import as_list

from .journal import Journal
from .runs import Run

LATE_START = 10.0

_JOINED = re.compile(r"(?P<joined>\d+)/(?P<wanted>\d+) clients joined")


def rank_of(key: object) -> int | str:
    return int(str(key)) if str(key).isdecimal() else str(key)


def order(rank: int | str) -> tuple[bool, int, str]:
    """Numbers first, as numbers."""
    return isinstance(rank, str), rank if isinstance(rank, int) else 0, str(rank)


def missing_of(by_rank: dict[int | str, Journal], all_runs: list[Run], expected: object) -> tuple[int | str, ...]:
    """Ranks that have to be there and gave nothing."""
    wanted: set[int | str] = set(by_rank)
    listed = as_list(expected)
    if listed is not None:
        wanted |= {rank_of(item) for item in listed}
    elif expected not in (None, ""):
        wanted |= set(range(int(str(expected))))
    elif by_rank and all(isinstance(rank, int) for rank in by_rank):
        joined = (match for run in all_runs for line in run.lines if (match := _JOINED.search(line.text)))
        most = max((int(match["wanted"]) for match in joined), default=0)
        wanted |= set(range(max(most, *(rank + 1 for rank in by_rank if isinstance(rank, int)))))
    return tuple(sorted((rank for rank in wanted if not by_rank.get(rank, Journal()).present), key=order))


def doubts_of(by_rank: dict[int | str, Journal], all_runs: list[Run]) -> list[str]:
    """Journals that do not reach back to the start of their unit."""
    late = []
    for run in all_runs:
        unit = by_rank[run.rank].unit
        started = unit.get("started")
        same = unit.get("invocation") in ("", None, run.invocation)
        if isinstance(started, (int, float)) and same and run.first is not None and run.first > started + LATE_START:
            late.append(f"the journal of rank {run.rank} begins {run.first - started:.0f} s after its start")
    return late
