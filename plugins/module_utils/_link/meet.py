# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""One end of one measurement. Both ends run the same list at the same time and meet at each item.

Nothing is told to wait for the other: the server listens, the client tries until somebody answers. So that one failure
does not spoil the rest, the i-th item since the ends were last together has until i slots after that to begin, on both
ends: whoever is early because something failed at once meets the other, who waited in vain, at the next item. A figure
puts them together again, so a server never waits longer than its last failures explain: the first that goes silent,
as by a cable that is pulled, ends a slot and a limit after it began, however many were good before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._cx7 import gids
from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree, flag, integer
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Result, Runner

from . import iperf, perftest
from .reading import Reading, bounded

RDMA = "rdma"
TCP = "tcp"
CLIENT = "client"
SERVER = "server"
ROCE = "RoCE v2"
GRACE_SECONDS = 8
"""What a tool may take beyond the time of measuring: to connect, to exchange figures, to end."""
PAUSE_SECONDS = 0.2
"""Between two tries to meet."""


@dataclass(frozen=True, slots=True)
class Item:
    """One measurement as one end takes part in it. The client sends, the server receives."""

    cable: int
    root: str
    cage: str
    direction: str
    peer: str
    side: str
    method: str
    netdev: str
    rdma: str | None
    address: str
    peer_address: str
    port: int

    @property
    def name(self) -> dict[str, Any]:
        """What it is, in results."""
        return {
            "cable": self.cable,
            "cage": self.cage,
            "root": self.root,
            "direction": self.direction,
            "peer": self.peer,
            "method": self.method,
        }


@dataclass(frozen=True, slots=True)
class Link:
    """The state of a port's link. Null: cannot be read."""

    carrier: bool | None
    downs: int | None

    def lost_since(self, before: Link) -> bool:
        """It was lost between then and now, also if it came back."""
        if before.downs is not None and self.downs is not None and self.downs > before.downs:
            return True
        return before.carrier is True and self.carrier is not True


@dataclass(frozen=True, slots=True)
class Bench:
    """What the measuring runs on."""

    sys: Tree
    runner: Runner
    now: Callable[[], float]
    sleep: Callable[[float], None]
    seconds: int
    streams: int
    wait: int

    @property
    def limit(self) -> int:
        """Seconds that a tool may take once the ends have met."""
        return self.seconds + GRACE_SECONDS

    @property
    def slot(self) -> int:
        """Seconds in which an item is over, whatever happens."""
        return self.limit + self.wait

    def link(self, netdev: str) -> Link:
        read = [self.sys.read("class", "net", netdev, name) for name in ("carrier", "carrier_down_count")]
        return Link(flag(read[0]), integer(read[1]))


class CannotBeginError(Exception):
    """The tool cannot even be started; the message says why."""


def take_all(bench: Bench, items: list[Item]) -> list[dict[str, Any]]:
    """Take part in all measurements, one after the other."""
    together, since = bench.now(), 0
    outcomes = []
    for item in items:
        since += 1
        outcome = take(bench, item, together + since * bench.slot)
        if outcome["gbps"] is not None:  # the tools end at the same time
            together, since = bench.now(), 0
        outcomes.append(outcome)
    return outcomes


def take(bench: Bench, item: Item, deadline: float) -> dict[str, Any]:
    """Take part in one. The two ends have to meet before the deadline."""
    before = bench.link(item.netdev)
    if before.carrier is not True:
        return _outcome(item, Reading(None, f"{item.netdev} has no link"))
    try:
        reading, result = _meet(bench, item, deadline)
    except CannotBeginError as problem:
        return _outcome(item, Reading(None, str(problem)))
    lost = bench.link(item.netdev).lost_since(before)
    if lost:
        said = f"{reading.gbps:.2f} Gb/s" if reading.gbps is not None else reading.words
        reading = Reading(None, f"{item.netdev} lost its link during the measurement; {_program(item)} says: {said}")
    return _outcome(item, reading, result, lost=lost)


def _meet(bench: Bench, item: Item, deadline: float) -> tuple[Reading, Result]:
    while True:
        left = max(0.0, deadline - bench.now())
        # The client may start when no time is left, and the server has to be there still.
        limit = bench.limit + (left if item.side == SERVER else 0)
        result = bench.runner.run(bounded(limit, _command(bench, item)))
        reading = _parse(bench, item, result)
        if reading.met or left == 0 or result.missing or bench.link(item.netdev).carrier is not True:
            return reading, result
        bench.sleep(PAUSE_SECONDS)


def _program(item: Item) -> str:
    return perftest.PROGRAM if item.method == RDMA else iperf.PROGRAM


def _command(bench: Bench, item: Item) -> list[str]:
    if item.method == RDMA:
        peer = item.peer_address if item.side == CLIENT else None
        device = item.rdma or ""
        return perftest.command(device, _gid_index(bench.sys, device, item.address), item.port, bench.seconds, peer)
    if item.side == CLIENT:
        return iperf.client(item.address, item.peer_address, item.port, bench.seconds, bench.streams)
    return iperf.server(item.address, item.port)


def _gid_index(sys: Tree, device: str, address: str) -> int:
    """Index of the RoCE v2 GID of an address, read at this moment: indexes drift while a node runs."""
    table = gids.read(sys, "class", "infiniband", device, "ports", "1")
    for gid in table:
        if gid.ipv4 == address and gid.type == ROCE:
            return gid.index
    seen = ", ".join(f"{gid.index}: {gid.ipv4 or gid.gid} {gid.type}" for gid in table) or "none"
    raise CannotBeginError(f"{device} has no {ROCE} GID of {address}; it has {seen}")


def _parse(bench: Bench, item: Item, result: Result) -> Reading:
    if result.missing:
        return Reading(None, f"{_program(item)} cannot be started: {result.stderr.strip()}", met=False)
    if item.method == RDMA:
        return perftest.parse(result.rc, result.stdout, result.stderr)
    return iperf.parse(result.rc, result.stdout, result.stderr, bench.seconds)


def _outcome(item: Item, reading: Reading, result: Result | None = None, *, lost: bool = False) -> dict[str, Any]:
    raw = "" if result is None else "\n".join(text for text in (result.stdout, result.stderr) if text)
    return item.name | {"side": item.side, "gbps": reading.gbps, "detail": reading.words, "lost": lost, "raw": raw}
