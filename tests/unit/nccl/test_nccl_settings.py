# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole environment of nodes in each layout, written out by hand."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.switchless.spark.plugins.filter import nccl_settings
from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError
from ansible_collections.switchless.spark.plugins.module_utils._nccl.reasons import ABSENT, REASONS
from ansible_collections.switchless.spark.plugins.module_utils._nccl.settings import settings
from tests.unit.fabric.fabric_world import Data, ring
from tests.unit.fabric.test_fabric_filters import is_plain, tagged
from tests.unit.nccl.nccl_world import CONTROL, functions, inventory, of_cables, of_inventory

CABLED = {
    "NCCL_ALGO": "Ring",
    "NCCL_GRAPH_FILE": "/etc/switchless/nccl-graph.xml",
    "NCCL_CROSS_NIC": "1",
    "NCCL_MIN_NCHANNELS": "8",
    "NCCL_MAX_NCHANNELS": "8",
    "NCCL_CUMEM_ENABLE": "1",
    "NCCL_RUNTIME_CONNECT": "1",
    "VLLM_BATCH_INVARIANT": "0",
}
CONTROL_PLANE = {
    "NCCL_SOCKET_FAMILY": "AF_INET",
    "NCCL_SOCKET_IFNAME": "=enP7s7",
    "GLOO_SOCKET_IFNAME": "enP7s7",
    "TP_SOCKET_IFNAME": "enP7s7",
    "VLLM_HOST_IP": "192.0.2.11",
}
LOG = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,ENV,NET,GRAPH"}
ROCE = {
    "NCCL_NET": "IB",
    "NCCL_IB_HCA": "=rocep1s0f0,rocep1s0f1,roceP2p1s0f0,roceP2p1s0f1",
    "NCCL_IB_SUBNET_AWARE_ROUTING": "1",
    "NCCL_IB_SUBNET_PREFIX_LEN": "24",
    "NCCL_IB_MERGE_NICS": "0",
    "NCCL_IB_ADDR_FAMILY": "AF_INET",
    "NCCL_IB_ROCE_VERSION_NUM": "2",
}
NO_ARX = ["VLLM_ARX_RING", "ARX_RING_PREV_HCAS", "ARX_RING_NEXT_HCAS"]


def test_the_head_of_the_article() -> None:
    told = of_inventory("ring4", "329f")
    assert told["environment"] == {
        **CABLED,
        **ROCE,
        **CONTROL_PLANE,
        # p0 of 329f leads to 3d38, the rank before; p1 to 355d, the next.
        "VLLM_ARX_RING": "1",
        "ARX_RING_PREV_HCAS": "rocep1s0f0,roceP2p1s0f0",
        "ARX_RING_NEXT_HCAS": "rocep1s0f1,roceP2p1s0f1",
        **LOG,
    }
    assert told["absent"] == ["NCCL_IB_GID_INDEX"]
    assert told["devices"] == [
        {
            "index": index,
            "device": device,
            "netdev": netdev,
            "pci": pci,
            "cage": cage,
            "root": root,
            "cable": cable,
            "towards": towards,
        }
        for index, (device, netdev, pci, cage, root, cable, towards) in enumerate(
            [
                ("rocep1s0f0", "enp1s0f0np0", "0000:01:00.0", "p0", "A", 4, "previous"),
                ("rocep1s0f1", "enp1s0f1np1", "0000:01:00.1", "p1", "A", 1, "next"),
                ("roceP2p1s0f0", "enP2p1s0f0np0", "0002:01:00.0", "p0", "B", 4, "previous"),
                ("roceP2p1s0f1", "enP2p1s0f1np1", "0002:01:00.1", "p1", "B", 1, "next"),
            ]
        )
    ]


def test_the_article_s_second_rank_faces_the_other_way() -> None:
    environment = of_inventory("ring4", "355d")["environment"]
    assert environment["ARX_RING_PREV_HCAS"] == "rocep1s0f1,roceP2p1s0f1"
    assert environment["ARX_RING_NEXT_HCAS"] == "rocep1s0f0,roceP2p1s0f0"


@pytest.mark.parametrize(("name", "host"), [("pair", "spark1"), ("pair", "spark2"), ("triangle", "spark2")])
def test_a_pair_with_two_cables_and_a_triangle(name: str, host: str) -> None:
    told = of_inventory(name, host)
    assert told["environment"] == {**CABLED, **ROCE, **CONTROL_PLANE, **LOG}
    assert told["absent"] == ["NCCL_IB_GID_INDEX", *NO_ARX]


def test_a_pair_with_one_cable_names_its_ports_only() -> None:
    told = of_cables([{"ends": ["a:p1", "b:p0"]}], ["a", "b"])
    assert told["a"]["environment"] == {
        **CABLED,
        **ROCE,
        **CONTROL_PLANE,
        **LOG,
        "NCCL_IB_HCA": "=rocep1s0f1,roceP2p1s0f1",
    }
    assert told["b"]["environment"]["NCCL_IB_HCA"] == "=rocep1s0f0,roceP2p1s0f0"
    assert [(device["index"], device["towards"]) for device in told["a"]["devices"]] == [(0, "both"), (1, "both")]


@pytest.mark.parametrize(
    ("size", "arx", "on"), [(4, True, True), (4, False, False), (3, True, False), (5, True, False)]
)
def test_arx_is_for_rings_of_four(size: int, arx: bool, on: bool) -> None:
    for told in of_cables(*ring(size), arx=arx).values():
        assert ("VLLM_ARX_RING" in told["environment"]) is on
        assert [name for name in told["absent"] if name in NO_ARX] == ([] if on else NO_ARX)


def test_a_switch_has_no_graph_and_no_ring() -> None:
    """All nodes are on the same subnets, so NCCL may choose by size."""
    plan, views = inventory("ring4")
    host = {**views["329f"], "ports": [{**port, "towards": "switch"} for port in views["329f"]["ports"]]}
    told: dict[str, Any] = settings(host, {**plan, "layout": "switch"}, functions(), CONTROL)
    assert told["environment"] == {
        "NCCL_NET": "IB",
        "NCCL_IB_HCA": "=rocep1s0f0,rocep1s0f1,roceP2p1s0f0,roceP2p1s0f1",
        "NCCL_CROSS_NIC": "0",
        "NCCL_IB_MERGE_NICS": "0",
        "NCCL_IB_ADDR_FAMILY": "AF_INET",
        "NCCL_IB_ROCE_VERSION_NUM": "2",
        **CONTROL_PLANE,
        **LOG,
    }
    assert told["graph"] is None
    assert {"NCCL_GRAPH_FILE", "NCCL_ALGO", "NCCL_IB_SUBNET_AWARE_ROUTING", *NO_ARX} < set(told["absent"])


def test_sockets_differ_in_nothing_but_what_must() -> None:
    # NCCL found the ports in another order than that of PCI, and there is no RDMA device.
    order = ["enP2p1s0f1np1", "enp1s0f0np0", "enP2p1s0f0np0", "enp1s0f1np1"]
    plan, views = inventory("ring4")
    shown = functions(p0A=["rdma"], p0B=["rdma"], p1A=["rdma"], p1B=["rdma"])
    told: dict[str, Any] = settings(
        views["329f"], plan, shown, CONTROL, net="socket", device_order=order, graph_file="/run/graph.xml"
    )
    assert told["environment"] == {
        **CABLED,
        "NCCL_GRAPH_FILE": "/run/graph.xml",
        "NCCL_NET": "Socket",
        "NCCL_IB_DISABLE": "1",
        **CONTROL_PLANE,
        "NCCL_SOCKET_IFNAME": "=enP2p1s0f1np1,enp1s0f0np0,enP2p1s0f0np0,enp1s0f1np1",
        **LOG,
    }
    assert [device["device"] for device in told["devices"]] == order
    # Root A: from p0 (1) to p1 (3). Root B: from p0 (2) to p1 (0).
    assert told["graph"].count('<net dev="1"/><gpu dev="0"/><net dev="3"/>') == 4
    assert told["graph"].count('<net dev="2"/><gpu dev="0"/><net dev="0"/>') == 4


def test_nccl_s_own_order_of_rdma_devices() -> None:
    order = ["roceP2p1s0f0", "roceP2p1s0f1", "rocep1s0f0", "rocep1s0f1"]
    told = of_inventory("ring4", "329f", device_order=order)
    assert told["environment"]["NCCL_IB_HCA"] == "=" + ",".join(order)
    assert told["graph"].count('<channel><net dev="2"/><gpu dev="0"/><net dev="3"/></channel>') == 4


@pytest.mark.parametrize(
    ("debug", "expected"),
    [("WARN", {"NCCL_DEBUG": "WARN"}), ("INFO", LOG), ("", {}), (None, {})],
)
def test_the_log(debug: str | None, expected: dict[str, str]) -> None:
    environment = of_inventory("pair", "spark1", debug=debug)["environment"]
    assert {name: value for name, value in environment.items() if name.startswith("NCCL_DEBUG")} == expected


@pytest.mark.parametrize("name", ["ring4", "pair", "triangle"])
@pytest.mark.parametrize("net", ["rdma", "socket"])
def test_every_value_is_text_and_every_name_has_its_reason(name: str, net: str) -> None:
    for host in inventory(name)[1]:
        told = of_inventory(name, host, net=net)
        assert all(isinstance(value, str) and value for value in told["environment"].values())
        assert list(told["reasons"]) == [*told["environment"], *told["absent"]]
        assert not set(told["environment"]) & set(told["absent"])
        for entry in told["reasons"].values():
            assert entry["why"].endswith(".")
            assert entry["source"]


def test_no_reason_is_for_nothing() -> None:
    plan, views = inventory("ring4")
    switch = settings(views["329f"], {**plan, "layout": "switch"}, functions(), CONTROL)
    every = [switch, of_inventory("ring4", "329f"), of_inventory("pair", "spark1", net="socket")]
    assert {name for told in every for name in told["environment"]} == set(REASONS)  # type: ignore[attr-defined]
    assert {name for told in every for name in told["absent"]} == set(ABSENT)  # type: ignore[attr-defined]


def refused(**change: Any) -> tuple[str, ...]:
    plan, views = inventory("ring4")
    values: Data = {"host": views["329f"], "plan": plan, "functions": functions(), "control": CONTROL, **change}
    with pytest.raises(FabricError) as caught:
        settings(**values)
    return caught.value.problems


def test_a_port_without_an_rdma_device_is_named_with_the_cure() -> None:
    problems = refused(functions=functions(p0B=["rdma"], p1A=["rdma"]))
    assert [problem.split(":", 2)[:2] for problem in problems] == [
        ["329f", " cage p0 on PCIe root B (cable 4)"],
        ["329f", " cage p1 on PCIe root A (cable 1)"],
    ]
    for word in ("enP2p1s0f0np0 has no RDMA device", "every port of the plan", "mlx5_ib", "--tags cx7"):
        assert word in problems[0]


def test_an_unused_port_needs_no_rdma_device() -> None:
    plan = {"layout": "pair", "size": 2, "prefix_length": 24}
    view = {"host": "a", "ports": [port for port in inventory("pair")[1]["spark1"]["ports"] if port["cage"] == "p0"]}
    view["ports"] = [{**port, "towards": "both"} for port in view["ports"]]
    told: dict[str, Any] = settings(view, plan, functions(p1A=["rdma"], p1B=["rdma"]), CONTROL)
    assert told["environment"]["NCCL_IB_HCA"] == "=rocep1s0f0,roceP2p1s0f0"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"plan": None}, "expected what the filter fabric_plan gives"),
        ({"plan": {"layout": "star", "size": 4, "prefix_length": 24}}, "layout is 'star': expected pair, triangle"),
        ({"host": None}, "expected what the filter fabric_host gives"),
        ({"functions": []}, "no ConnectX-7 function at all"),
        ({"control": None}, "control is nothing"),
        ({"control": {"netdev": "enP7s7"}}, "expected netdev and address"),
        ({"control": {"netdev": "", "address": "192.0.2.1"}}, "expected netdev and address"),
        ({"net": "ib"}, "net is 'ib': expected rdma or socket"),
        ({"debug": "LOUD"}, "debug is 'LOUD': expected WARN, INFO or TRACE"),
        ({"channels": 0}, "channels is the number 0: expected an integer from 1 to 32"),
        ({"channels": 33}, "channels is the number 33"),
        ({"channels": True}, "channels is the boolean true"),
        ({"channels": "many"}, "channels is 'many'"),
        ({"device_order": ["rocep1s0f0"]}, "device_order is the list .*each once"),
        ({"device_order": "rocep1s0f0"}, "device_order is 'rocep1s0f0'"),
        ({"device_order": ["rocep1s0f0"] * 4}, "device_order"),
    ],
)
def test_values_that_cannot_be(change: Data, words: str) -> None:
    plan, views = inventory("ring4")
    with pytest.raises(FabricError, match=words):
        settings(**{"host": views["329f"], "plan": plan, "functions": functions(), "control": CONTROL, **change})


def test_the_filter() -> None:
    apply = nccl_settings.FilterModule().filters()["nccl_settings"]
    plan, views = inventory("ring4")
    assert apply(views["329f"], plan, functions(), control=CONTROL, channels="8") == of_inventory("ring4", "329f")
    for off in (False, "false", "no"):  # -e transport_arx=false is text
        found = apply(views["329f"], plan, functions(), control=CONTROL, arx=off)
        assert "VLLM_ARX_RING" not in found["environment"], off
    with pytest.raises(AnsibleFilterError, match=r"nccl_settings: 329f: cage p0 on PCIe root A .* has no RDMA device"):
        apply(views["329f"], plan, functions(p0A=["rdma"]), CONTROL)


def test_ansible_s_tags_do_not_come_through() -> None:
    plan, views = inventory("ring4")
    order = ["rocep1s0f0", "rocep1s0f1", "roceP2p1s0f0", "roceP2p1s0f1"]
    values = {"graph_file": "/run/graph.xml", "device_order": order, "debug": "WARN", "net": "rdma"}
    args = (views["329f"], plan, functions(), CONTROL)
    told = settings(*map(tagged, args), **tagged(values))
    assert not is_plain(tagged(values)), "the test would prove nothing"
    assert is_plain(told)
    assert told == settings(*args, **values)  # type: ignore[arg-type]
