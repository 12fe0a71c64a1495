# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the network of a node should be, how that differs from what it is, and why a change would be refused."""

from __future__ import annotations

import ipaddress
import typing as t
from dataclasses import dataclass

from .ip import Link, Route

DEFAULT = "0.0.0.0/0"


def sysctl_path(key: str) -> str:
    """Path under /proc/sys of a dotted key, in which a dot within a name (of a netdev) is written as a slash."""
    return key.translate({ord("."): "/", ord("/"): "."})


@dataclass(frozen=True, slots=True)
class WantedPort:
    """One port; ``address`` with prefix (``192.0.2.1/24``), None where the cage has no cable. ``mtu`` in bytes."""

    netdev: str
    mtu: int
    address: str | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """The whole of it. ``sysctl`` by dotted key; ``subnets`` are all subnets of the fabric."""

    ports: tuple[WantedPort, ...]
    routes: tuple[Route, ...]
    sysctl: t.Mapping[str, str]
    subnets: tuple[str, ...]

    @property
    def netdevs(self) -> frozenset[str]:
        """Names of the ports."""
        return frozenset(port.netdev for port in self.ports)


@dataclass(frozen=True, slots=True)
class Seen:
    """The state of a node. ``managed``: devices that NetworkManager holds; ``relay``: what its check complains of."""

    links: t.Mapping[str, Link]
    routes: tuple[Route, ...]
    managed: frozenset[str]
    sysctl: t.Mapping[str, str | None]
    relay: str


def differences(wanted: Wanted, seen: Seen) -> list[str]:
    """List in words what has to change, in a stable order; empty when nothing has."""
    found = []
    for port in wanted.ports:
        link = seen.links.get(port.netdev)
        if link is None:
            found.append(f"{port.netdev} is gone")
            continue
        if not link.up:
            found.append(f"{port.netdev} is down")
        if link.mtu != port.mtu:
            found.append(f"{port.netdev} has MTU {link.mtu}, not {port.mtu}")
        expected = (port.address,) if port.address else ()
        if link.addresses != expected:
            found.append(f"{port.netdev} has {' '.join(link.addresses) or 'no address'}, not {port.address or 'none'}")
        if port.netdev in seen.managed:
            found.append(f"{port.netdev} is held by NetworkManager")
    present = set(seen.routes)
    found += [f"route to {r.to} via {r.via} ({r.dev}) is missing" for r in wanted.routes if r not in present]
    found += [
        f"default route over {r.dev} ({r.via})"
        if r.to == DEFAULT
        else f"route to {r.to} via {r.via} ({r.dev}) is not of the plan"
        for r in unplanned(wanted, seen.routes)
    ]
    found += [
        f"{key} is {seen.sysctl.get(key)}, not {value}"
        for key, value in wanted.sysctl.items()
        if seen.sysctl.get(key) != value
    ]
    if seen.relay:
        found.append(seen.relay)
    return found


def unplanned(wanted: Wanted, routes: t.Iterable[Route]) -> list[Route]:
    """Routes over a port that the plan does not have; a network without a gateway comes and goes with its address."""
    over = [route for route in routes if route.dev in wanted.netdevs and route not in wanted.routes]
    return [route for route in over if route.via is not None or route.to == DEFAULT]


def refusals(wanted: Wanted, seen: Seen, management_address: str | None) -> list[str]:
    """List why the node must not be changed: what was seen, what was expected, what to do."""
    found = []
    subnets = [ipaddress.ip_network(subnet) for subnet in wanted.subnets]
    networks = {
        (link.name, ipaddress.ip_interface(address).network): f"the network {{}} of {link.name}"
        for link in seen.links.values()
        for address in link.addresses
    }
    for route in seen.routes:
        if route.to != DEFAULT:  # a network of the node is also a route; what it was called first, it stays
            networks.setdefault((route.dev, ipaddress.ip_network(route.to)), f"the route to {{}} over {route.dev}")
    for (dev, network), what in networks.items():
        if dev in wanted.netdevs:
            continue
        clash = [str(subnet) for subnet in subnets if network.overlaps(subnet)]
        if clash:
            found.append(
                f"{what.format(network)} overlaps the fabric's {', '.join(clash)}: choose another "
                "fabric_subnet_pool, or other subnets for the cables"
            )
    for port in wanted.ports:
        link = seen.links.get(port.netdev)
        held = {address.split("/")[0] for address in link.addresses} if link else set()
        planned = (port.address or "").split("/")[0]
        if management_address in held and management_address != planned:
            found.append(
                f"this node is managed at {management_address}, an address of the fabric port {port.netdev}, which the "
                "fabric would take away: set ansible_host to an address on the management network"
            )
    return found
