# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reboot of a group, on the controller: whether all nodes take part, and whether a NIC is back.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Port = tuple[str, str]  # cage, root


@dataclass(frozen=True, slots=True)
class Play:
    """What Ansible says of the play and the task."""

    host: str
    fabric: tuple[str, ...]
    targeted: tuple[str, ...]  # by hosts and --limit
    batch: tuple[str, ...]  # by serial
    active: tuple[str, ...]  # not failed, not unreachable
    forks: int
    throttle: int = 0
    run_once: bool = False


def _names(hosts: Iterable[str]) -> str:
    return ", ".join(hosts)


def problems(play: Play) -> list[str]:
    """Why not all nodes would go down at the same time. A peer that goes down makes a node drop its NIC."""
    return list(_problems(play))


def _problems(play: Play) -> Iterator[str]:
    def lack(hosts: Collection[str]) -> list[str]:
        return [host for host in play.fabric if host not in hosts]

    count = len(play.fabric)
    if play.host not in play.fabric:
        yield f"{play.host} is not one of the nodes to reboot, {_names(play.fabric)}: give the plan's order as hosts"
    if lack(play.targeted):
        yield (
            f"the play leaves out {_names(lack(play.targeted))}, and all of {_names(play.fabric)} have to reboot at "
            "the same time: run it without --limit"
        )
    elif lack(play.batch):
        yield f"serial leaves {_names(lack(play.batch))} for later: run the play without serial"
    elif lack(play.active):
        yield f"{_names(lack(play.active))} failed or cannot be reached: mend that first"
    if play.forks < count:
        yield f"forks is {play.forks}, so not all {count} nodes would reboot at once: set it to {count} or more"
    if 0 < play.throttle < count:
        yield f"the task has throttle {play.throttle}, so not all {count} nodes would reboot at once: take it away"
    if play.run_once:
        yield "the task has run_once: take it away"


def _ports(items: Iterable[Mapping[str, Any]]) -> list[Port]:
    return [(str(item.get("cage")), str(item.get("root"))) for item in items]


def missing(
    before: Iterable[Mapping[str, Any]], planned: Iterable[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]
) -> list[str]:
    """What a NIC still lacks: functions that were there or are planned, links of planned ports.

    A port that is not set up shows no link whatever is plugged, so that there is nothing to wait for.
    """
    shown = {(str(item.get("cage")), str(item.get("root"))): item for item in now}
    wanted = _ports(planned)
    lacks = []
    for cage, root in sorted({*_ports(before), *wanted}):
        function = shown.get((cage, root))
        if function is None:
            lacks.append(f"cage {cage}, root {root}: not on the bus")
        elif (cage, root) in wanted and function.get("admin_up") is not False and not function.get("carrier"):
            lacks.append(f"cage {cage}, root {root} ({function.get('netdev')}): no link")
    return lacks
