# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NCCL is told on every node, held against the node itself: nothing here uses a module of the collection."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from testinfra.host import Host

Facts = dict[str, Any]
FOLDER = "/etc/switchless"
DOMAIN = {"A": "0000", "B": "0002"}


def environment(host: Host) -> dict[str, str]:
    lines = host.file(f"{FOLDER}/nccl.env").content_string.splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def devices(host: Host, facts: Facts) -> list[dict[str, Any]]:
    """The node's ports in the order in which the environment names their RDMA devices."""
    ports = {}
    for port in facts["node"]["ports"]:
        pci = f"/sys/bus/pci/devices/{DOMAIN[port['root']]}:01:00.{port['cage'][1]}"
        ports[host.check_output("ls %s/infiniband", pci)] = port
    named = environment(host)["NCCL_IB_HCA"]
    assert named.startswith("=")
    assert sorted(named[1:].split(",")) == sorted(ports)
    return [ports[name] for name in named[1:].split(",")]


def test_files_belong_to_root_and_all_can_read_them(host: Host) -> None:
    for name in ("nccl.env", "nccl-graph.xml"):
        file = host.file(f"{FOLDER}/{name}")
        if name == "nccl-graph.xml" and "NCCL_GRAPH_FILE" not in environment(host):
            assert not file.exists
            continue
        assert (file.user, file.group, file.mode) == ("root", "root", 0o644)


def test_the_gid_index_is_set_nowhere(host: Host) -> None:
    assert "NCCL_IB_GID_INDEX" not in environment(host)
    assert not host.run("grep -rs '^[^#]*NCCL_IB_GID_INDEX' /etc/nccl.conf /etc/environment /etc/environment.d").stdout


def test_devices_are_named_in_the_order_of_their_pci_addresses(host: Host, facts: Facts) -> None:
    order = [(port["root"], port["cage"]) for port in devices(host, facts)]
    assert order == sorted(order)


def cabled(facts: Facts) -> None:
    """On a switch there is no graph, and NCCL may choose."""
    if any(port["towards"] == "switch" for port in facts["node"]["ports"]):
        pytest.skip("the nodes are on a switch")


def test_each_channel_follows_the_cables_on_one_root(host: Host, facts: Facts) -> None:
    cabled(facts)
    named = devices(host, facts)
    text = host.file(environment(host)["NCCL_GRAPH_FILE"]).content_string
    channels = ET.fromstring(text).findall("graph/channel")  # noqa: S314 - our own file
    assert channels
    roots = []
    for channel in channels:
        receive, send = (named[int(net.attrib["dev"], 16)] for net in channel.findall("net"))
        assert receive["towards"] in ("previous", "both")
        assert send["towards"] in ("next", "both")
        assert receive["root"] == send["root"]
        roots.append(send["root"])
    assert roots.count("A") == roots.count("B")


def test_control_goes_over_an_interface_that_has_the_address(host: Host) -> None:
    told = environment(host)
    shown = json.loads(host.check_output("ip -j -4 address show dev %s", told["GLOO_SOCKET_IFNAME"]))
    assert told["VLLM_HOST_IP"] in [address["local"] for address in shown[0]["addr_info"]]
    assert told["NCCL_SOCKET_IFNAME"] == f"={told['GLOO_SOCKET_IFNAME']}"


def test_subnets_are_told_apart_by_the_plan_s_prefix(host: Host, facts: Facts) -> None:
    cabled(facts)
    told = environment(host)
    assert told["NCCL_IB_SUBNET_AWARE_ROUTING"] == "1"
    assert {int(told["NCCL_IB_SUBNET_PREFIX_LEN"])} == {port["prefix_length"] for port in facts["node"]["ports"]}


def test_ranks_connect_when_they_first_need_to(host: Host, facts: Facts) -> None:
    cabled(facts)
    told = environment(host)
    assert (told["NCCL_ALGO"], told["NCCL_CUMEM_ENABLE"], told["NCCL_RUNTIME_CONNECT"]) == ("Ring", "1", "1")
