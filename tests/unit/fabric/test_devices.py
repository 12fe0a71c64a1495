# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's plan in terms of its devices, for the article's ring and for a pair, written out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._fabric.devices import devices
from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError
from tests.unit.fabric.fabric_world import Data, ring, views_of
from tests.unit.fabric.test_fabric_golden import load

P0A, P0B, P1A, P1B = "enp1s0f0np0", "enP2p1s0f0np0", "enp1s0f1np1", "enP2p1s0f1np1"
NETDEVS = {("p0", "A"): P0A, ("p0", "B"): P0B, ("p1", "A"): P1A, ("p1", "B"): P1B}


def functions(**change: Any) -> list[Data]:
    """What cx7_info shows; `change` by cage and root, as p0A."""
    shown = [
        {
            "cage": cage,
            "root": root,
            "netdev": netdev,
            "mac": f"4c:bb:47:00:00:0{number}",
            "rdma": f"roce{netdev[2:]}",
            "pci": f"{'0000' if root == 'A' else '0002'}:01:00.{cage[1]}",
            "carrier": True,
        }
        for number, ((cage, root), netdev) in enumerate(NETDEVS.items(), 1)
    ]
    return [{**function, **change.get(f"{function['cage']}{function['root']}", {})} for function in shown]


def article(host: str, mtu: int = 9000) -> dict[str, Any]:
    cables, hosts, settings = load("ring4")
    return devices(views_of(cables, hosts, **settings)[host], functions(), mtu)


def test_the_head_of_the_article() -> None:
    found = article("329f")
    assert [(port["netdev"], port["interface"], port["rdma"]) for port in found["ports"]] == [
        (P0A, "192.168.101.2/24", "rocep1s0f0np0"),
        (P0B, "192.168.103.2/24", "roceP2p1s0f0np0"),
        (P1A, "192.168.100.1/24", "rocep1s0f1np1"),
        (P1B, "192.168.102.1/24", "roceP2p1s0f1np1"),
    ]
    assert found["settings"] == [
        {"netdev": P0A, "mac": "4c:bb:47:00:00:01", "address": "192.168.101.2/24", "mtu": 9000},
        {"netdev": P0B, "mac": "4c:bb:47:00:00:02", "address": "192.168.103.2/24", "mtu": 9000},
        {"netdev": P1A, "mac": "4c:bb:47:00:00:03", "address": "192.168.100.1/24", "mtu": 9000},
        {"netdev": P1B, "mac": "4c:bb:47:00:00:04", "address": "192.168.102.1/24", "mtu": 9000},
    ]
    assert found["routes"] == [
        {"to": "192.168.104.0/24", "via": "192.168.100.2", "netdev": P1A},
        {"to": "192.168.105.0/24", "via": "192.168.102.2", "netdev": P1B},
        {"to": "192.168.106.0/24", "via": "192.168.101.1", "netdev": P0A},
        {"to": "192.168.107.0/24", "via": "192.168.103.1", "netdev": P0B},
    ]
    assert found["forward"] == [
        {"in": P0A, "out": P1A},
        {"in": P0B, "out": P1B},
        {"in": P1A, "out": P0A},
        {"in": P1B, "out": P0B},
    ]
    assert found["sysctl"] == {
        f"net.ipv4.conf.{P0A}.rp_filter": "2",
        f"net.ipv4.conf.{P0B}.rp_filter": "2",
        f"net.ipv4.conf.{P1A}.rp_filter": "2",
        f"net.ipv4.conf.{P1B}.rp_filter": "2",
        f"net.ipv4.conf.{P0A}.forwarding": "1",
        f"net.ipv4.conf.{P0B}.forwarding": "1",
        f"net.ipv4.conf.{P1A}.forwarding": "1",
        f"net.ipv4.conf.{P1B}.forwarding": "1",
    }
    assert found["pings"] == [
        {"name": "cable 4 root A from 329f:p0 to 3d38:p1", "source": "192.168.101.2", "target": "192.168.101.1"},
        {"name": "cable 4 root B from 329f:p0 to 3d38:p1", "source": "192.168.103.2", "target": "192.168.103.1"},
        {"name": "cable 1 root A from 329f:p1 to 355d:p1", "source": "192.168.100.1", "target": "192.168.100.2"},
        {"name": "cable 1 root B from 329f:p1 to 355d:p1", "source": "192.168.102.1", "target": "192.168.102.2"},
    ]
    assert found["connections"] == [
        {"name": "relay from 329f to c049", "target": "192.168.104.2"},
        {"name": "relay from 329f to c049", "target": "192.168.105.2"},
        {"name": "relay from 329f to c049", "target": "192.168.106.1"},
        {"name": "relay from 329f to c049", "target": "192.168.107.1"},
    ]


# The article's mixed cages: host, its addresses at p0 A, p0 B, p1 A, p1 B, and the host that shares no cable with it.
@pytest.mark.parametrize(
    ("host", "addresses", "far"),
    [
        ("355d", ["192.168.104.1/24", "192.168.105.1/24", "192.168.100.2/24", "192.168.102.2/24"], "3d38"),
        ("c049", ["192.168.104.2/24", "192.168.105.2/24", "192.168.106.1/24", "192.168.107.1/24"], "329f"),
        ("3d38", ["192.168.106.2/24", "192.168.107.2/24", "192.168.101.1/24", "192.168.103.1/24"], "355d"),
    ],
)
def test_the_other_nodes_of_the_article(host: str, addresses: list[str], far: str) -> None:
    found = article(host)
    assert [setting["address"] for setting in found["settings"]] == addresses
    assert {connection["name"] for connection in found["connections"]} == {f"relay from {host} to {far}"}
    assert (len(found["routes"]), len(found["forward"]), len(found["pings"])) == (4, 4, 4)


def pair(names: list[Data], cables: list[Data] | None = None) -> dict[str, Any]:
    return devices(views_of(cables or [{"ends": ["a:p1", "b:p0"]}], ["a", "b"])["a"], names, 9978)


def test_a_cage_without_a_cable_gets_the_mtu_and_no_address() -> None:
    found = pair(functions())
    assert [(s["netdev"], s["address"], s["mtu"]) for s in found["settings"]] == [
        (P1A, "198.18.0.1/24", 9978),
        (P1B, "198.18.1.1/24", 9978),
        (P0A, None, 9978),
        (P0B, None, 9978),
    ]
    assert [(p["cage"], p["root"], p["netdev"]) for p in found["ports"] if p["interface"] is None] == [
        ("p0", "A", P0A),
        ("p0", "B", P0B),
    ]
    assert (found["routes"], found["forward"], found["connections"]) == ([], [], [])
    assert sorted(found["sysctl"]) == sorted(f"net.ipv4.conf.{netdev}.rp_filter" for netdev in NETDEVS.values())
    assert len(found["pings"]) == 2


def test_a_pair_with_two_cables_forwards_nothing() -> None:
    found = pair(functions(), [{"ends": ["a:p0", "b:p0"]}, {"ends": ["a:p1", "b:p1"]}])
    assert [s["address"] for s in found["settings"]] == [
        "198.18.0.1/24",
        "198.18.1.1/24",
        "198.18.2.1/24",
        "198.18.3.1/24",
    ]
    assert (found["forward"], [key for key in found["sysctl"] if "forwarding" in key]) == ([], [])


@pytest.mark.parametrize("size", [3, 4, 5])
def test_only_a_ring_of_more_than_three_forwards(size: int) -> None:
    cables, hosts = ring(size)
    found = devices(views_of(cables, hosts)["n0"], functions(), 9000)
    assert bool(found["forward"]) is (size > 3)
    assert any("forwarding" in key for key in found["sysctl"]) is (size > 3)


def test_a_spare_cage_without_a_driver_is_passed_over() -> None:
    found = pair(functions(p0A={"netdev": None, "mac": None}))
    assert [setting["netdev"] for setting in found["settings"]] == [P1A, P1B, P0B]


def test_a_spare_cage_without_a_mac_address_is_still_text_to_the_module() -> None:
    assert pair(functions(p0A={"mac": None}))["settings"][2]["mac"] == ""


def test_a_cabled_port_without_a_device_is_an_error() -> None:
    with pytest.raises(FabricError, match="a: cage p1 on PCIe root A"):
        pair(functions(p1A={"netdev": None}))


@pytest.mark.parametrize(
    ("netdev", "key"),
    [
        ("fabric.0", "net.ipv4.conf.fabric/0.rp_filter"),
        ("enP2p1s0f0np0v1", "net.ipv4.conf.enP2p1s0f0np0v1.rp_filter"),
        ("left-cx7", "net.ipv4.conf.left-cx7.rp_filter"),
    ],
)
def test_the_sysctl_of_an_odd_name(netdev: str, key: str) -> None:
    assert key in pair(functions(p1A={"netdev": netdev}))["sysctl"]
