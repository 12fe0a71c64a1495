# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runs that are kept, and which of them go."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from pathlib import Path

from battery.render.report import Past

from . import document, store
from .comparison import medians


def read(records: Path) -> tuple[Past, ...]:
    """The oldest first. A record that cannot be read is none: it is not shown, and not removed either."""
    found = []
    for name in store.names(records):
        try:
            data = store.get_run(records, name)
            run = document.run(data)
            found.append(Past(name, run.level, data["verdict"], run.began_wall, medians(run.measures)))
        except (store.RecordError, KeyError, TypeError):
            continue
    return ordered(found)


def ordered(runs: Collection[Past]) -> tuple[Past, ...]:
    return tuple(sorted(runs, key=lambda each: (each.began_wall, each.id)))


def superfluous(runs: Sequence[Past], keep: int, spared: Collection[str]) -> list[str]:
    """All but the last `keep` of each level, the last failed one of each level, and those that are spared.

    By level, because a canary of every hour would otherwise push all else out within a day.
    """
    levels: dict[str, list[Past]] = defaultdict(list)
    for run in runs:
        levels[run.level].append(run)
    gone = []
    for of_level in levels.values():
        failed = [run.id for run in of_level if run.verdict == "failed"]
        safe = {*spared, *failed[-1:], *(run.id for run in of_level[-keep:])}
        gone += [run.id for run in of_level if run.id not in safe]
    return gone
