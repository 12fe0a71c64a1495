# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Ranks that say nothing of their end, and what can be said of them all the same."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ansible_collections.switchless.spark.plugins.module_utils._nccl.diagnose import diagnose as nccl_diagnose
from ansible_collections.switchless.spark.plugins.module_utils._nccl.log import parse

from .causes import PRIMARY, SILENT
from .events import Event
from .journal import Journal, Line
from .runs import Run

_LAUNCHED = re.compile(r"Rank (?P<rank>\d+) has launched up to operation (?P<operation>\d+)")
_ABSENT = re.compile(r"missing ranks: \{(?P<ranks>[\d, ]+)\}")


def vanished(run: Run, journal: Journal) -> Iterator[Event]:
    """A node that went down under its unit: the journal of that boot ends, and another boot runs now."""
    now = str(journal.host.get("boot") or "")
    if not now or not run.boot or run.boot.replace("-", "") == now.replace("-", "") or run.stopped or not run.lines:
        return
    line = run.lines[-1]
    yield Event(
        run,
        line,
        len(run.lines),
        "node_restarted",
        "the node went down while its unit ran: the journal of that boot ends without a stop",
        "Find out why the node went down: power, a hang of the driver, someone's hand",
        "the end of `journalctl -b -1` on that node: NVRM lines before it mean that the node ran out of memory",
        SILENT,
        run.last,
    )


def standing(run: Run) -> Iterator[Event]:
    """What NCCL's lines say of settings that cannot be right, where no line is an error."""
    for row in nccl_diagnose({run.rank: "\n".join(line.text for line in run.lines)}):
        if row["line"] is None:
            yield Event(
                run,
                Line(""),
                len(run.lines),
                row["code"],
                row["cause"],
                row["cure"],
                row["check"],
                PRIMARY,
                run.first,
            )


def interfaces(runs: list[Run]) -> str:
    """The ranks need not be of one mind: the odd one is the one to look at."""
    named = (
        (run.rank, parse("\n".join(line.text for line in run.lines)).environment.get("NCCL_SOCKET_IFNAME"))
        for run in runs
    )
    return ", ".join(f"rank {rank} has {name}" for rank, name in named if name)


def suspects(runs: list[Run], symptoms: list[Event], waiting: set[int | str]) -> tuple[int | str | None, str]:
    """The rank that the others waited for, and how that is known. Nothing is better than a guess."""
    launched: dict[int, int] = {}
    absent: set[int] = set()
    for run in runs:
        for line in run.lines:
            for match in _LAUNCHED.finditer(line.text):
                launched[int(match["rank"])] = int(match["operation"])
            for match in _ABSENT.finditer(line.text):
                absent |= {int(rank) for rank in match["ranks"].split(",") if rank.strip()}
    behind = [rank for rank, operation in launched.items() if operation == min(launched.values())]
    if len(behind) == 1 and len(launched) > 1:
        return behind[0], f"rank {behind[0]} launched fewer operations than the others"
    if len(absent) == 1:
        rank = absent.pop()
        return rank, f"rank {rank} was missing in the collective"
    noticed = {event.run.rank for event in symptoms if event.code != "ended_by_hand"} | waiting
    quiet = sorted({run.rank for run in runs} - noticed, key=str)
    if len(quiet) == 1 and noticed:
        return quiet[0], f"rank {quiet[0]} alone noticed nothing"
    return None, ""
