# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``ip -j`` says. All output below is that of iproute2 6.1.0 in a network namespace, shortened in `recorded`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._node.ip import Link, Route, parse_links, parse_routes

FOREVER = {"valid_life_time": 4294967295, "preferred_life_time": 4294967295}
ETHERNET = {"qdisc": "noqueue", "group": "default", "txqlen": 1000, "link_type": "ether"}


def link(name: str, flags: str, mtu: int, operstate: str, *addresses: dict[str, Any]) -> dict[str, Any]:
    """What is the same in every entry is put in here."""
    return {
        "ifindex": 3,
        "link": "far0",
        "ifname": name,
        "flags": flags.split(),
        "mtu": mtu,
        "operstate": operstate,
        **ETHERNET,
        "address": "56:24:da:2c:52:cf",
        "broadcast": "ff:ff:ff:ff:ff:ff",
        "addr_info": [{**address, **FOREVER} if address else {} for address in addresses],
    }


LOOPBACK = link(
    "lo",
    "LOOPBACK UP LOWER_UP",
    65536,
    "UNKNOWN",
    {"family": "inet", "local": "127.0.0.1", "prefixlen": 8, "scope": "host", "label": "lo"},
    {"family": "inet6", "local": "::1", "prefixlen": 128, "scope": "host"},
)
PORT = link(
    "enp1s0f0np0",
    "BROADCAST MULTICAST UP LOWER_UP",
    9000,
    "UP",
    {"family": "inet", "local": "192.168.100.1", "prefixlen": 24, "scope": "global", "label": "enp1s0f0np0"},
    {"family": "inet6", "local": "fe80::5424:daff:fe2c:52cf", "prefixlen": 64, "scope": "link"},
)
NO_CARRIER = link(
    "enp1s0f1np1",
    "NO-CARRIER BROADCAST MULTICAST UP M-DOWN",
    9000,
    "LOWERLAYERDOWN",
    {"family": "inet", "local": "169.254.3.4", "prefixlen": 16, "scope": "link", "label": "enp1s0f1np1"},
)
DOWN = link("far1", "BROADCAST MULTICAST", 1500, "DOWN")
MANAGEMENT = link(
    "enP7s7",
    "BROADCAST MULTICAST UP LOWER_UP",
    1500,
    "UP",
    {
        "family": "inet",
        "local": "192.0.2.11",
        "prefixlen": 24,
        "broadcast": "192.0.2.255",
        "scope": "global",
        "label": "enP7s7",
    },
    {
        "family": "inet",
        "local": "192.0.2.12",
        "prefixlen": 24,
        "scope": "global",
        "secondary": True,
        "label": "enP7s7",
    },
    {"family": "inet6", "local": "2001:db8::7", "prefixlen": 64, "scope": "global"},
)
POINT_TO_POINT = link(
    "wg0",
    "POINTOPOINT NOARP UP LOWER_UP",
    1420,
    "UNKNOWN",
    {"family": "inet", "local": "10.6.0.1", "address": "10.6.0.2", "prefixlen": 32, "scope": "global", "label": "wg0"},
)
# `ip -j address show up scope link`: an address that the filter left out is an empty object within its link.
FILTERED = link(
    "enp1s0f0np0",
    "BROADCAST MULTICAST UP LOWER_UP",
    9000,
    "UP",
    {},
    {"family": "inet6", "local": "fe80::5424:daff:fe2c:52cf", "prefixlen": 64, "scope": "link"},
)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (LOOPBACK, Link("lo", 65536, True, ())),
        (PORT, Link("enp1s0f0np0", 9000, True, ("192.168.100.1/24",))),
        (NO_CARRIER, Link("enp1s0f1np1", 9000, True, ())),
        (DOWN, Link("far1", 1500, False, ())),
        (MANAGEMENT, Link("enP7s7", 1500, True, ("192.0.2.11/24", "192.0.2.12/24"))),
        (POINT_TO_POINT, Link("wg0", 1420, True, ("10.6.0.1/32",))),
        (FILTERED, Link("enp1s0f0np0", 9000, True, ())),
    ],
    ids=["loopback", "port", "no carrier", "down", "management", "point to point", "filtered"],
)
def test_a_link(entry: dict[str, Any], expected: Link) -> None:
    assert parse_links(json.dumps([entry])) == {expected.name: expected}


@pytest.mark.parametrize("text", ["", "[]", "[{},{},{}]"], ids=["no output", "no links", "all filtered out"])
def test_no_links(text: str) -> None:
    assert parse_links(text) == {}


def test_links_that_a_filter_left_out_stand_between_the_others() -> None:
    assert list(parse_links(json.dumps([{}, PORT, {}, MANAGEMENT]))) == ["enp1s0f0np0", "enP7s7"]


TWO_HOPS = (
    '{"dst":"172.20.0.0/16","flags":[],"nexthops":[{"gateway":"192.0.2.1","dev":"enP7s7","weight":1,"flags":[]},'
    '{"gateway":"192.168.100.2","dev":"enp1s0f0np0","weight":1,"flags":[]}]}'
)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            '{"dst":"default","gateway":"192.0.2.1","dev":"enP7s7","protocol":"dhcp","metric":100,"flags":[]}',
            [Route("0.0.0.0/0", "192.0.2.1", "enP7s7")],
        ),
        ('{"dst":"10.0.0.0/8","dev":"wg0","scope":"link","flags":[]}', [Route("10.0.0.0/8", None, "wg0")]),
        (
            '{"dst":"10.6.0.2","dev":"wg0","protocol":"kernel","scope":"link","prefsrc":"10.6.0.1","flags":[]}',
            [Route("10.6.0.2/32", None, "wg0")],
        ),
        (
            '{"dst":"169.254.0.0/16","dev":"enp1s0f1np1","protocol":"kernel","scope":"link","flags":["linkdown"]}',
            [Route("169.254.0.0/16", None, "enp1s0f1np1")],
        ),
        (
            '{"dst":"192.168.104.0/24","gateway":"192.168.100.2","dev":"enp1s0f0np0","flags":[]}',
            [Route("192.168.104.0/24", "192.168.100.2", "enp1s0f0np0")],
        ),
        (
            '{"dst":"192.168.105.7","gateway":"192.168.100.2","dev":"enp1s0f0np0","flags":[]}',
            [Route("192.168.105.7/32", "192.168.100.2", "enp1s0f0np0")],
        ),
        (
            '{"dst":"172.21.0.0/16","via":{"family":"inet6","host":"fe80::1"},"dev":"enp1s0f0np0","flags":[]}',
            [Route("172.21.0.0/16", None, "enp1s0f0np0")],
        ),
        (
            TWO_HOPS,
            [Route("172.20.0.0/16", "192.0.2.1", "enP7s7"), Route("172.20.0.0/16", "192.168.100.2", "enp1s0f0np0")],
        ),
        ('{"type":"unreachable","dst":"203.0.113.0/24","flags":[]}', []),
        ('{"type":"blackhole","dst":"198.51.100.0/24","flags":[]}', []),
    ],
    ids=[
        "default",
        "on the link",
        "peer",
        "link-local",
        "subnet",
        "one address",
        "over IPv6",
        "two hops",
        "unreachable",
        "blackhole",
    ],
)
def test_a_route(entry: str, expected: list[Route]) -> None:
    assert parse_routes(f"[{entry}]") == tuple(expected)


@pytest.mark.parametrize("text", ["", "[]"])
def test_no_routes(text: str) -> None:
    assert parse_routes(text) == ()
