# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fabrics to test with, and a kernel's forwarding played over nothing but what the filters give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._fabric.host import host_to_dict, host_view
from ansible_collections.switchless.spark.plugins.module_utils._fabric.plan import build_plan, plan_to_dict

Data = dict[str, Any]
Port = tuple[str, str]
"""(cage, root)."""

Hop = tuple[str, Port, str, Port]
"""Out of a host's port, into another host's port."""


def plan_of(cables: object, hosts: object, **settings: object) -> Data:
    """The plan as a dictionary."""
    return plan_to_dict(build_plan(cables, hosts=hosts, **settings))


def views_of(cables: object, hosts: Sequence[str], **settings: object) -> dict[str, Data]:
    """What every node gets."""
    plan = build_plan(cables, hosts=hosts, **settings)
    return {host: host_to_dict(host_view(plan, host)) for host in hosts}


def ring(size: int, prefix: str = "n") -> tuple[list[Data], list[str]]:
    """Cables p0 to p1 all the way round, and the hosts n0, n1, …"""
    hosts = [f"{prefix}{number}" for number in range(size)]
    return [{"ends": [f"{host}:p0", f"{hosts[(rank + 1) % size]}:p1"]} for rank, host in enumerate(hosts)], hosts


@dataclass
class Node:
    """A node's forwarding tables, from its view of the plan."""

    view: Data
    own: dict[int, Port] = field(default_factory=dict)
    source: dict[Port, int] = field(default_factory=dict)
    across: dict[Port, tuple[int, str, Port]] = field(default_factory=dict)
    # Mask to network to the port and the gateway (None: on the cable itself).
    tables: dict[int, dict[int, tuple[Port, int | None]]] = field(default_factory=dict)
    relays: set[tuple[Port, Port]] = field(default_factory=set)

    def __post_init__(self) -> None:
        for port in self.view["ports"]:
            key, peer = (port["cage"], port["root"]), port["peer"]
            self.own[number(port["address"])] = key
            self.source[key] = number(port["address"])
            self.across[key] = (number(peer["address"]), peer["host"], (peer["cage"], port["root"]))
            self._add(port["subnet"], key, None)
        for route in self.view["routes"]:
            self._add(route["to"], (route["cage"], route["root"]), number(route["via"]))
        self.relays = {
            ((pair["in"]["cage"], pair["in"]["root"]), (pair["out"]["cage"], pair["out"]["root"]))
            for pair in self.view["relays"]
        }

    def _add(self, subnet: str, port: Port, via: int | None) -> None:
        mask, first = mask_and_network(subnet)
        table = self.tables.setdefault(mask, {})
        assert first not in table, f"two routes to {subnet}"
        table[first] = (port, via)

    def lookup(self, address: int) -> tuple[Port, int]:
        """The port and the next address on its cable: the longest prefix that matches, as the kernel chooses."""
        for mask in sorted(self.tables, reverse=True):
            if found := self.tables[mask].get(address & mask):
                port, via = found
                return port, address if via is None else via
        raise AssertionError(f"{self.view['host']} has no route to {IPv4Address(address)}")


class World:
    """All nodes of a fabric."""

    def __init__(self, views: dict[str, Data]) -> None:
        self.nodes = {host: Node(view) for host, view in views.items()}
        self.used: dict[str, set[tuple[Port, Port]]] = {host: set() for host in views}

    def send(self, host: str, address: int) -> list[Hop]:
        """The way of a packet from a host to an address; every relay must be declared, and none may be met twice."""
        hops: list[Hop] = []
        came: Port | None = None
        while address not in self.nodes[host].own:
            node = self.nodes[host]
            port, onward = node.lookup(address)
            if came is not None:
                assert (came, port) in node.relays, f"{host} does not relay {came} to {port}"
                self.used[host].add((came, port))
            there, neighbour, enters = node.across[port]
            assert there == onward, f"{host}: {IPv4Address(onward)} is not at the other end of {port}"
            hops.append((host, port, neighbour, enters))
            assert len(hops) <= len(self.nodes), f"loop: {hops}"
            host, came = neighbour, enters
        return hops

    def check_conversation(self, host: str, address: int) -> list[Hop]:
        """Send from the address of the outgoing port, as the kernel does; the answer must come back the same way."""
        there = self.send(host, address)
        source = self.nodes[host].source[there[0][1]]
        back = self.send(there[-1][2], source)
        assert back == [(to, entered, start, left) for start, left, to, entered in reversed(there)]
        return there


@cache
def number(address: str) -> int:
    """An address as an integer, by another way than the code under test."""
    return int(IPv4Address(address))


@cache
def mask_and_network(subnet: str) -> tuple[int, int]:
    """Netmask and first address of a network as integers."""
    network = IPv4Network(subnet)
    return int(network.netmask), int(network.network_address)
