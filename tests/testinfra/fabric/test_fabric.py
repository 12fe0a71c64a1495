# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The network of every node, asked of the node itself: nothing here uses a module of the collection."""

from __future__ import annotations

import json
from typing import Any

import pytest
from testinfra.host import Host

Facts = dict[str, Any]
DOMAIN = {"A": "0000", "B": "0002"}


@pytest.fixture(scope="session")
def links(host: Host) -> dict[str, Any]:
    """Give every device of the node by each of its IPv4 addresses."""
    found = json.loads(host.check_output("ip -j address show"))
    return {info["local"]: link for link in found for info in link["addr_info"] if info["family"] == "inet"}


@pytest.fixture(scope="session")
def netdevs(host: Host) -> dict[str, str]:
    """Give the devices of the ConnectX-7 by the PCI address of their function."""
    listing = host.check_output(
        "for d in /sys/class/net/*/device; do "
        "echo $(basename $(readlink -f $d)) $(cat $d/vendor) $(basename $(dirname $d)); done"
    )
    rows = (line.split() for line in listing.splitlines())
    return {row[0]: row[2] for row in rows if len(row) == 3 and row[1] == "0x15b3"}


def test_addresses_sit_on_the_right_cage_and_root(facts: Facts, links: dict[str, Any], netdevs: dict[str, str]) -> None:
    seen = {port["address"]: links.get(port["address"], {}).get("ifname") for port in facts["node"]["ports"]}
    expected = {
        port["address"]: netdevs[f"{DOMAIN[port['root']]}:01:00.{port['cage'][1]}"] for port in facts["node"]["ports"]
    }
    assert seen == expected


def test_mtu_of_every_port(facts: Facts, host: Host, netdevs: dict[str, str]) -> None:
    assert netdevs
    mtus = {netdev: int(host.check_output("cat /sys/class/net/%s/mtu", netdev)) for netdev in netdevs.values()}
    assert set(mtus.values()) == {facts["mtu"]}, mtus


def test_routes(facts: Facts, host: Host, netdevs: dict[str, str]) -> None:
    routes = json.loads(host.check_output("ip -j -4 route show"))
    seen = {
        (r["dst"] if "/" in r["dst"] else r["dst"] + "/32", r.get("gateway"))
        for r in routes
        if r["dev"] in netdevs.values()
    }
    assert {(route["to"], route["via"]) for route in facts["node"]["routes"]} <= seen
    assert not [r for r in routes if r["dst"] == "default" and r["dev"] in netdevs.values()]


def test_networkmanager_holds_no_port(host: Host, netdevs: dict[str, str]) -> None:
    states = dict(line.split(":", 1) for line in host.run("nmcli -t -f DEVICE,STATE device").stdout.splitlines())
    assert {states.get(netdev, "unmanaged") for netdev in netdevs.values()} == {"unmanaged"}


def test_files_and_units(host: Host) -> None:
    netplan = host.file("/etc/netplan/90-switchless-fabric.yaml")
    assert (netplan.mode, netplan.user) == (0o600, "root")
    assert host.service("switchless-fabric.service").is_enabled
    assert host.service("switchless-fabric-rollback.service").is_enabled
    assert not host.file("/var/lib/switchless/fabric/pending").exists


def test_relay_rules_are_loaded_and_saw_no_roce(host: Host) -> None:
    assert host.run("/usr/local/lib/switchless/fabric-relay check").rc == 0
    counters = json.loads(host.check_output("nft -j list counters table inet switchless_fabric"))["nftables"]
    packets = {entry["counter"]["name"]: entry["counter"]["packets"] for entry in counters if "counter" in entry}
    assert packets["roce_refused"] == 0


def test_every_neighbour_answers_at_the_full_mtu(facts: Facts, host: Host) -> None:
    payload = str(facts["mtu"] - 28)
    ping = "ping -n -c 2 -W 2 -M do -s %s -I %s %s"
    ports = facts["node"]["ports"]
    paths = [(port, peer) for port in ports for peer in port.get("peers") or [port["peer"]]]
    assert paths
    dead = [peer for port, peer in paths if host.run(ping, payload, port["address"], peer["address"]).rc]
    assert not dead


def test_far_nodes_answer_through_the_relay(facts: Facts, host: Host) -> None:
    far = [address for node in facts["node"]["far"] for address in node["addresses"]]
    dead = [address for address in far if not host.addr(address).port(22).is_reachable]
    assert not dead


def test_lldp_shows_the_planned_cables(facts: Facts, host: Host, links: dict[str, Any]) -> None:
    assert host.service("lldpd").is_running
    assert host.service("lldpd").is_enabled
    for port in facts["node"]["ports"]:
        netdev = links[port["address"]]["ifname"]
        seen = host.check_output("lldpcli -f keyvalue show neighbors ports %s", netdev)
        if port["peer"] is None:
            assert "switchless.spark" not in seen, "the cable does not lead to the switch"
            continue
        expected = f"switchless.spark {port['peer']['host']} {port['peer']['cage']} {port['root']}"
        assert f".port.descr={expected}" in seen, seen
