# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Who takes which file from whom: a function of the plan of the fabric, the manifest and the source.

A lane is a way round the fabric on one PCIe root: onward from rank to rank, or back. In a ring the two ways share no
cable in one direction, so a ring of any size has four lanes, each with a quarter of the bytes, and every node gets one
half of them from each neighbour. A node takes the files of a lane in one order and passes each on once it has verified
it. So all nodes are done in about half the time that one cable needs for one copy, plus one file for each node passed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError
from ansible_collections.switchless.spark.plugins.module_utils._fabric.host import host_view
from ansible_collections.switchless.spark.plugins.module_utils._fabric.model import (
    ROOTS,
    SWITCH,
    HostView,
    Plan,
    dotted,
)

from .manifest import Entry, Manifest

ONWARD, BACK = "onward", "back"
DEFAULT_PORT = 18600


@dataclass(frozen=True, slots=True)
class Lane:
    """One way round on one root."""

    way: str
    root: str

    def __str__(self) -> str:
        return f"{self.way} {self.root}"


@dataclass(frozen=True, slots=True)
class Hop:
    """One node takes the files of a lane from one of its neighbours, over the cable between two addresses."""

    lane: Lane
    giver: str
    taker: str
    cable: int
    giver_address: str
    taker_address: str
    files: tuple[Entry, ...]


def hops(plan: Plan, manifest: Manifest, source: str) -> list[Hop]:
    """Every transfer, lane by lane in the order in which they depend on each other."""
    views = {host: host_view(plan, host) for host in plan.order}
    if source not in views:
        raise FabricError(f"the source {source} is not in the fabric: expected one of {', '.join(plan.order)}")
    start, size = plan.order.index(source), len(plan.order)
    lanes = _lanes(views[source])
    found: list[Hop] = []
    for lane, files in zip(lanes, deal(manifest.files, len(lanes)), strict=True):
        step = 1 if lane.way == ONWARD else -1
        for count in range(1, size):
            giver = plan.order[(start + step * (count - 1)) % size]
            taker = plan.order[(start + step * count) % size]
            cable, own, peer = _cable(views[taker], giver, lane)
            found.append(Hop(lane, giver, taker, cable, dotted(peer), dotted(own), files))
    return found


def deal(files: Sequence[Entry], lanes: int) -> list[tuple[Entry, ...]]:
    """The files in as many parts of about equal size, each in the order of names."""
    parts: list[list[Entry]] = [[] for _lane in range(lanes)]
    for entry in sorted(files, key=lambda entry: (-entry.size, entry.name)):
        min(parts, key=lambda part: (sum(item.size for item in part), len(part))).append(entry)
    return [tuple(sorted(part, key=lambda entry: entry.name)) for part in parts]


def _lanes(view: HostView) -> list[Lane]:
    """Both ways round, unless there is one cable only."""
    ways = (ONWARD,) if any(port.towards == "both" for port in view.ports) else (ONWARD, BACK)
    return [Lane(way, root) for way in ways for root in ROOTS]


def _cable(view: HostView, giver: str, lane: Lane) -> tuple[int, int, int]:
    """Cable, own address and the giver's. On a switch the two ways use the two cages, where there are two."""
    towards = ("previous" if lane.way == ONWARD else "next", "both", SWITCH)
    ports = [port for port in view.ports if port.root == lane.root and port.towards in towards]
    port = ports[0 if lane.way == ONWARD else -1]
    peer = next(peer for peer in port.peers if peer.end.host == giver)
    return port.cable, port.address, peer.address


def seconds(found: Sequence[Hop], rates: Mapping[tuple[int, str, str], float]) -> float:
    """When the last node has its last file: arithmetic on the plan, with rates by (cable, root, taker).

    A file goes on when its giver has all of it, and after the one before it on the same hop.
    """
    ready: dict[tuple[str, str], float] = {}
    free: dict[tuple[Lane, str], float] = {}
    for hop in found:
        rate = rates[hop.cable, hop.lane.root, hop.taker]
        for entry in hop.files:
            begin = max(free.get((hop.lane, hop.taker), 0.0), ready.get((hop.giver, entry.name), 0.0))
            free[hop.lane, hop.taker] = ready[hop.taker, entry.name] = begin + entry.size / rate
    return max(ready.values(), default=0.0)


def jobs(plan: Plan, manifest: Manifest, source: str, *, path: str, port: int, reserve: int) -> dict[str, Any]:
    """What the agent of each host has to do, as it reads it."""
    found = hops(plan, manifest, source)
    taken = {host: [hop for hop in found if hop.taker == host] for host in plan.order}
    given = {host: [hop for hop in found if hop.giver == host] for host in plan.order}
    return {
        host: job(manifest, path=path, reserve=reserve)
        | {
            "host": host,
            "lanes": [_taken(hop, {other.lane for other in given[host]}) for hop in taken[host]]
            or [_own(lane, files) for lane, files in {hop.lane: hop.files for hop in found}.items()],
            "serve": sorted({hop.giver_address for hop in given[host]}),
            "allow": sorted({hop.taker_address for hop in given[host]}),
            "port": port,
        }
        for host in plan.order
    }


def job(manifest: Manifest, *, path: str, reserve: int = 0) -> dict[str, Any]:
    """The part of a job that all hosts share."""
    return {"schema": 1, "path": path, "reserve_bytes": reserve, "manifest": manifest.as_dict()}


def _own(lane: Lane, files: Sequence[Entry]) -> dict[str, Any]:
    return {"lane": str(lane), "peer": None, "files": [entry.name for entry in files], "last": False}


def _taken(hop: Hop, passed: set[Lane]) -> dict[str, Any]:
    return _own(hop.lane, hop.files) | {
        "peer": hop.giver,
        "address": hop.giver_address,
        "bind": hop.taker_address,
        "last": hop.lane not in passed,
    }


def reading_job(files: Sequence[Mapping[str, Any]], path: str) -> dict[str, Any]:
    """The job of a source that nothing vouches for: measure every file once. Four at a time keep the disk busy."""
    entries = [Entry(file["name"], file["size"], "") for file in files]
    lanes = [
        {"lane": f"read {number}", "peer": None, "files": [entry.name for entry in part], "last": False}
        for number, part in enumerate(deal(entries, 4), 1)
        if part
    ]
    listed = [{"name": entry.name, "size": entry.size, "sha256": None} for entry in entries]
    return {"schema": 1, "path": path, "reserve_bytes": 0, "manifest": {"files": listed}, "lanes": lanes}
