# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs, and what must not be changed, line by line."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._node.fabric import (
    Seen,
    Wanted,
    WantedPort,
    differences,
    refusals,
    sysctl_path,
)
from ansible_collections.switchless.spark.plugins.module_utils._node.ip import Link, Route

USED, SPARE, LAN = "enp1s0f0np0", "enp1s0f1np1", "enP7s7"
KEY = f"net.ipv4.conf.{USED}.rp_filter"
ROUTE = Route("198.18.2.0/24", "198.18.0.2", USED)
HOST_ROUTE = Route("198.18.4.1/32", "198.18.0.2", USED)
WANTED = Wanted(
    ports=(WantedPort(USED, 9000, "198.18.0.1/24"), WantedPort(SPARE, 9000, None)),
    routes=(ROUTE, HOST_ROUTE),
    sysctl={KEY: "2"},
    subnets=("198.18.0.0/24", "198.18.2.0/24", "198.18.4.0/24"),
)
LINKS = {
    USED: Link(USED, 9000, True, ("198.18.0.1/24",)),
    SPARE: Link(SPARE, 9000, True, ()),
    LAN: Link(LAN, 1500, True, ("192.0.2.11/24",)),
}
DEFAULT = Route("0.0.0.0/0", "192.0.2.1", LAN)
KERNEL = (Route("192.0.2.0/24", None, LAN), Route("198.18.0.0/24", None, USED))
SEEN = Seen(links=LINKS, routes=(DEFAULT, *KERNEL, ROUTE, HOST_ROUTE), managed=frozenset(), sysctl={KEY: "2"}, relay="")


def port(netdev: str, **change: Any) -> dict[str, Any]:
    return {"links": {**LINKS, netdev: replace(LINKS[netdev], **change)}}


DIFFERENCES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing": ({}, []),
    "a port is gone": ({"links": {name: LINKS[name] for name in (USED, LAN)}}, [f"{SPARE} is gone"]),
    "a port is down": (port(SPARE, up=False), [f"{SPARE} is down"]),
    "another MTU": (port(SPARE, mtu=1500), [f"{SPARE} has MTU 1500, not 9000"]),
    "no address": (port(USED, addresses=()), [f"{USED} has no address, not 198.18.0.1/24"]),
    "another prefix": (port(USED, addresses=("198.18.0.1/16",)), [f"{USED} has 198.18.0.1/16, not 198.18.0.1/24"]),
    "one address more": (
        port(USED, addresses=("198.18.0.1/24", "10.0.0.1/8")),
        [f"{USED} has 198.18.0.1/24 10.0.0.1/8, not 198.18.0.1/24"],
    ),
    "an address where none belongs": (
        port(SPARE, addresses=("10.0.0.1/8",)),
        [f"{SPARE} has 10.0.0.1/8, not none"],
    ),
    "held by NetworkManager": ({"managed": frozenset({SPARE, LAN})}, [f"{SPARE} is held by NetworkManager"]),
    "no route": (
        {"routes": (DEFAULT, *KERNEL, HOST_ROUTE)},
        [f"route to 198.18.2.0/24 via 198.18.0.2 ({USED}) is missing"],
    ),
    "a route the other way": (
        {"routes": (DEFAULT, *KERNEL, HOST_ROUTE, Route("198.18.2.0/24", "198.18.9.1", SPARE))},
        [
            f"route to 198.18.2.0/24 via 198.18.0.2 ({USED}) is missing",
            f"route to 198.18.2.0/24 via 198.18.9.1 ({SPARE}) is not of the plan",
        ],
    ),
    "routes of an older plan": (
        {"routes": (*SEEN.routes, Route("198.18.6.0/24", "198.18.0.2", USED), Route("10.8.0.0/16", "10.0.0.9", SPARE))},
        [
            f"route to 198.18.6.0/24 via 198.18.0.2 ({USED}) is not of the plan",
            f"route to 10.8.0.0/16 via 10.0.0.9 ({SPARE}) is not of the plan",
        ],
    ),
    "a planned route and another way to the same": (
        {"routes": (*SEEN.routes, Route("198.18.2.0/24", "198.18.0.3", USED))},
        [f"route to 198.18.2.0/24 via 198.18.0.3 ({USED}) is not of the plan"],
    ),
    "routes of others over their own devices": (
        {"routes": (*SEEN.routes, Route("10.8.0.0/16", "192.0.2.9", LAN), Route("10.9.0.0/16", None, "wg0"))},
        [],
    ),
    "a network of the kernel's own making": (
        {"routes": (*SEEN.routes, Route("169.254.0.0/16", None, SPARE))},
        [],
    ),
    "a default route by DHCP": (
        {"routes": (*SEEN.routes, Route("0.0.0.0/0", "198.18.0.9", USED))},
        [f"default route over {USED} (198.18.0.9)"],
    ),
    "sysctl": ({"sysctl": {KEY: "1"}}, [f"{KEY} is 1, not 2"]),
    "a kernel without the sysctl": ({"sysctl": {KEY: None}}, [f"{KEY} is None, not 2"]),
    "relay": ({"relay": "the relay rules were not loaded since boot"}, ["the relay rules were not loaded since boot"]),
    "a fresh node, in the order of a person's questions": (
        {
            "links": {**LINKS, USED: Link(USED, 1500, False, ()), SPARE: Link(SPARE, 1500, True, ("169.254.7.7/16",))},
            "routes": (DEFAULT,),
            "managed": frozenset({USED, SPARE, LAN}),
            "sysctl": {KEY: "0"},
            "relay": "the relay is not installed",
        },
        [
            f"{USED} is down",
            f"{USED} has MTU 1500, not 9000",
            f"{USED} has no address, not 198.18.0.1/24",
            f"{USED} is held by NetworkManager",
            f"{SPARE} has MTU 1500, not 9000",
            f"{SPARE} has 169.254.7.7/16, not none",
            f"{SPARE} is held by NetworkManager",
            f"route to 198.18.2.0/24 via 198.18.0.2 ({USED}) is missing",
            f"route to 198.18.4.1/32 via 198.18.0.2 ({USED}) is missing",
            f"{KEY} is 0, not 2",
            "the relay is not installed",
        ],
    ),
}


@pytest.mark.parametrize(("change", "expected"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_what_differs(change: dict[str, Any], expected: list[str]) -> None:
    assert differences(WANTED, replace(SEEN, **change)) == expected


OTHER_POOL = "choose another fabric_subnet_pool, or other subnets for the cables"
ALL = "198.18.0.0/24, 198.18.2.0/24, 198.18.4.0/24"
TAKEN = "which the fabric would take away: set ansible_host to an address on the management network"
REFUSALS: dict[str, tuple[dict[str, Any], str | None, list[str]]] = {
    "nothing": ({}, "192.0.2.11", []),
    "no management address known": ({}, None, []),
    "the LAN is in the fabric": (
        port(LAN, addresses=("192.0.2.11/24", "198.18.2.11/24")),
        "192.0.2.11",
        [f"the network 198.18.2.0/24 of {LAN} overlaps the fabric's 198.18.2.0/24: {OTHER_POOL}"],
    ),
    "the fabric is in the LAN": (
        port(LAN, addresses=("198.18.77.7/15",)),
        "198.18.77.7",
        [f"the network 198.18.0.0/15 of {LAN} overlaps the fabric's {ALL}: {OTHER_POOL}"],
    ),
    "a network and its own route are one": (
        {
            "links": {**LINKS, "docker0": Link("docker0", 1500, True, ("198.18.4.1/24",))},
            "routes": (*SEEN.routes, Route("198.18.4.0/24", None, "docker0")),
        },
        None,
        [f"the network 198.18.4.0/24 of docker0 overlaps the fabric's 198.18.4.0/24: {OTHER_POOL}"],
    ),
    "a route through a gateway": (
        {"routes": (*SEEN.routes, Route("198.18.0.0/16", "192.0.2.9", LAN))},
        None,
        [f"the route to 198.18.0.0/16 over {LAN} overlaps the fabric's {ALL}: {OTHER_POOL}"],
    ),
    "a VPN's route, which has no gateway": (
        {"routes": (*SEEN.routes, Route("198.18.4.0/24", None, "wg0"))},
        None,
        [f"the route to 198.18.4.0/24 over wg0 overlaps the fabric's 198.18.4.0/24: {OTHER_POOL}"],
    ),
    "a network beside the fabric": ({"routes": (*SEEN.routes, Route("198.18.5.0/24", None, "wg0"))}, None, []),
    "an old network on a port of the fabric itself": (port(SPARE, addresses=("198.18.4.9/24",)), "192.0.2.11", []),
    "managed over a port that keeps its address": ({}, "198.18.0.1", []),
    "managed over a port that loses its address": (
        port(USED, addresses=("10.0.0.7/24",)),
        "10.0.0.7",
        [f"this node is managed at 10.0.0.7, an address of the fabric port {USED}, {TAKEN}"],
    ),
    "managed over a cage without a cable": (
        port(SPARE, addresses=("10.0.0.7/24",)),
        "10.0.0.7",
        [f"this node is managed at 10.0.0.7, an address of the fabric port {SPARE}, {TAKEN}"],
    ),
    "managed by a name": (port(USED, addresses=("10.0.0.7/24",)), "spark1.local", []),
    "managed over IPv6": ({}, "fe80::1%enP7s7", []),
}


@pytest.mark.parametrize(("change", "management", "expected"), REFUSALS.values(), ids=REFUSALS)
def test_what_is_refused(change: dict[str, Any], management: str | None, expected: list[str]) -> None:
    assert refusals(WANTED, replace(SEEN, **change), management) == expected


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("net.ipv4.ip_forward", "net/ipv4/ip_forward"),
        ("net.ipv4.conf.enp1s0f0np0.rp_filter", "net/ipv4/conf/enp1s0f0np0/rp_filter"),
        ("net.ipv4.conf.fabric/0.rp_filter", "net/ipv4/conf/fabric.0/rp_filter"),
    ],
)
def test_the_path_of_a_sysctl(key: str, path: str) -> None:
    assert sysctl_path(key) == path
