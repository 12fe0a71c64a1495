# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The light in the cables: keeps each jack up exactly while its cable is plugged and the port at the other end is up.

A veth port has carrier only while its jack is up, so a node sees no carrier when the cable is out, the far port is
down or the far node has no power. Driven by netlink events of all nodes; state is also looked at once a second.
"""

from __future__ import annotations

import select
import signal
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from lab import cables, faults, netns
from lab.common import wait_for
from lab.hardware import FUNCTIONS
from lab.site import Site

if TYPE_CHECKING:
    from types import FrameType

    from lab.wiring import End

NETDEV = {(function.cage, function.root): function.netdev for function in FUNCTIONS}


def poke(site: Site) -> None:
    """Tell a running watcher that something changed."""
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", _address(site))


def _address(site: Site) -> bytes:
    return f"\0spark-lab/{site.name}-{site.id}/watch".encode()  # an abstract name: a checkout's path may be too long


class Watcher:
    """Holds one netlink socket for each node, and one for the wire."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.open: dict[str, netns.Links] = {}
        self.pokes = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.pokes.bind(_address(site))
        self.pokes.setblocking(False)

    def links(self, name: str) -> netns.Links | None:
        held = self.open.get(name)
        if held and held.current():
            return held
        if held:
            held.close()
            del self.open[name]
        try:
            self.open[name] = netns.Links(name)
        except OSError:
            return None
        return self.open[name]

    def look(self) -> None:
        wire = self.links(self.site.wire)
        if wire is None:
            return
        nodes = {node: self.links(self.site.netns(node)) for node in self.site.wiring.nodes}
        wanted = wanted_jacks(self.site, ports_of({node: links for node, links in nodes.items() if links}))
        for link in wire.list().values():
            if link.name in wanted and link.up != wanted[link.name]:
                wire.set_up(link, up=wanted[link.name])

    def wait(self) -> None:
        sources = [self.pokes, *(links.events for links in self.open.values())]
        select.select(sources, [], [], 1.0)
        for links in self.open.values():
            links.drain()
        with suppress(BlockingIOError):
            while self.pokes.recv(16):
                pass


def ports_of(nodes: dict[str, netns.Links]) -> set[tuple[str, str]]:
    """(node, netdev) of every port that is administratively up."""
    return {(node, link.name) for node, links in nodes.items() for link in links.list().values() if link.up}


def lit(ports: set[tuple[str, str]], end: End, root: str) -> bool:
    return (end.node, NETDEV[end.cage, root]) in ports


def wanted_jacks(site: Site, ports: set[tuple[str, str]]) -> dict[str, bool]:
    """Which jacks of the wire namespace should be up."""
    wanted: dict[str, bool] = {}
    dark = {node for node in site.wiring.nodes if faults.is_dark(faults.load(site, node))}
    for patch in cables.load(site):
        there_is_one = patch.plugged and not dark.intersection(end.node for end in patch.cable.ends)
        for root in ("A", "B"):
            for here, there in ((patch.near, patch.far), (patch.far, patch.near)):
                wanted[cables.jack(site, here, root)] = there_is_one and lit(ports, there, root)
    return wanted


def ports_up(site: Site) -> set[tuple[str, str]]:
    """The same as ports_of, looked up once."""
    nodes = {node: netns.Links(site.netns(node)) for node in site.wiring.nodes if netns.exists(site.netns(node))}
    try:
        return ports_of(nodes)
    finally:
        for links in nodes.values():
            links.close()


def settle(site: Site) -> None:
    """Wait until the jacks are as the cables say, so that a verb's effect is there when it returns."""
    wire = netns.Links(site.wire)

    def settled() -> bool:
        wanted = wanted_jacks(site, ports_up(site))
        return all(link.up == wanted[link.name] for link in wire.list().values() if link.name in wanted)

    try:
        wait_for(settled, 5)
    finally:
        wire.close()


def _stop(_number: int, _frame: FrameType | None) -> None:
    sys.exit(0)


def main() -> None:
    signal.signal(signal.SIGTERM, _stop)
    watcher = Watcher(Site(sys.argv[1]))
    while True:
        watcher.look()
        watcher.wait()


if __name__ == "__main__":
    main()
