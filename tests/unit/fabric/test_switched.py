# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes on a switch: the example inventory to the last address, what the roles get of it, and any fabric of 2 to 16."""

from __future__ import annotations

import json
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from itertools import combinations
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._boot.memory import cabling as plugged
from ansible_collections.switchless.spark.plugins.module_utils._cx7.load import expected
from ansible_collections.switchless.spark.plugins.module_utils._fabric.cabling import announcements, cabling
from ansible_collections.switchless.spark.plugins.module_utils._fabric.devices import devices
from ansible_collections.switchless.spark.plugins.module_utils._fabric.drawing import draw
from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError
from ansible_collections.switchless.spark.plugins.module_utils._fabric.host import host_to_dict, host_view
from ansible_collections.switchless.spark.plugins.module_utils._fabric.plan import (
    build_plan,
    plan_from_dict,
    plan_to_dict,
)
from ansible_collections.switchless.spark.plugins.module_utils._nccl.settings import settings as nccl_settings
from tests.unit.fabric.fabric_world import Data, plan_of, views_of
from tests.unit.fabric.test_cabling import DARK, says
from tests.unit.fabric.test_devices import NETDEVS, P0A, P0B, functions
from tests.unit.fabric.test_fabric_golden import load

quick = settings(max_examples=40, deadline=None)


def example() -> tuple[Data, dict[str, Data]]:
    """The plan of the example inventory and what every node gets of it."""
    cables, hosts, values = load("switch")
    return plan_of(cables, hosts, **values), views_of(cables, hosts, **values)


def test_the_plan_of_the_example() -> None:
    plan, _views = example()
    shared = {"A": "198.18.0.0/24", "B": "198.18.1.0/24"}
    assert plan == {
        "schema": 1,
        "layout": "switch",
        "size": 4,
        "head": "spark1",
        "order": ["spark1", "spark2", "spark3", "spark4"],
        "mtu": 9000,
        "control_plane": "management",
        "prefix_length": 24,
        "cables": [
            {
                "cable": number,
                "name": f"spark{number}:p0 - switch",
                "ends": [{"host": f"spark{number}", "cage": "p0"}, {"host": "switch", "cage": None}],
                "subnets": shared,
            }
            for number in (1, 2, 3, 4)
        ],
    }


def test_a_node_of_the_example() -> None:
    _plan, views = example()
    assert views["spark2"] == {
        "host": "spark2",
        "rank": 1,
        "previous": "spark1",
        "next": "spark3",
        "ports": [
            {
                "cage": "p0",
                "root": root,
                "cable": 2,
                "towards": "switch",
                "address": f"{network}.2",
                "prefix_length": 24,
                "subnet": f"{network}.0/24",
                "peer": None,
                "peers": [
                    {"host": "spark1", "cage": "p0", "address": f"{network}.1"},
                    {"host": "spark3", "cage": "p0", "address": f"{network}.3"},
                    {"host": "spark4", "cage": "p0", "address": f"{network}.4"},
                ],
            }
            for root, network in (("A", "198.18.0"), ("B", "198.18.1"))
        ],
        "unused": ["p1"],
        "routes": [],
        "relays": [],
        "far": [],
        "subnets": ["198.18.0.0/24", "198.18.1.0/24"],
    }


BOTH_CAGES = [
    {"ends": ["a:p1", "switch"]},
    {"ends": ["switch", "b:p0"]},
    {"ends": ["b:p1", "switch"]},
    {"ends": ["a:p0", "switch"], "subnets": ["10.0.0.0/28", "10.0.0.16/28"]},
]


def test_the_drawing() -> None:
    assert draw(build_plan(BOTH_CAGES, hosts=["a", "b"], head="b", subnet_pool="10.0.0.0/24")) == (
        "2 nodes on a switch, 4 cables, MTU 9000, control plane: management\n"
        "\n"
        "                      PCIe root A         PCIe root B\n"
        "  switch\n"
        "  │        p0         10.0.0.0/28         10.0.0.16/28\n"
        "  │        p1         10.0.0.32/28        10.0.0.48/28\n"
        "  ├───▶ 0  b  (head)\n"
        "  │        p0         10.0.0.1            10.0.0.17           cable 2\n"
        "  │        p1         10.0.0.33           10.0.0.49           cable 3\n"
        "  └───▶ 1  a\n"
        "           p0         10.0.0.2            10.0.0.18           cable 4\n"
        "           p1         10.0.0.34           10.0.0.50           cable 1"
    )


def test_the_subnets_of_one_cable_are_those_of_its_cage() -> None:
    plan = plan_of(BOTH_CAGES, ["a", "b"], subnet_pool="10.0.0.0/24")
    named, pooled = {"A": "10.0.0.0/28", "B": "10.0.0.16/28"}, {"A": "10.0.0.32/28", "B": "10.0.0.48/28"}
    assert [cable["subnets"] for cable in plan["cables"]] == [pooled, named, pooled, named]
    assert [cable["name"] for cable in plan["cables"]] == [
        "a:p1 - switch",
        "b:p0 - switch",
        "b:p1 - switch",
        "a:p0 - switch",
    ]
    again = [
        {**cable, "subnets": ["10.0.0.0/28", "10.0.0.16/28"]} if number == 1 else cable
        for number, cable in enumerate(BOTH_CAGES)
    ]
    assert plan_of(again, ["a", "b"], subnet_pool="10.0.0.0/24") == plan


@pytest.mark.parametrize(("head", "order"), [(None, ["c", "a", "b"]), ("b", ["b", "c", "a"]), ("c", ["c", "a", "b"])])
def test_ranks_follow_the_list_behind_the_head(head: str | None, order: list[str]) -> None:
    cables = [{"ends": [f"{host}:p0", "switch"]} for host in "cab"]
    assert plan_of(cables, ["a", "b", "c"], head=head)["order"] == order
    assert plan_of(cables, ["b", "c", "a"], head=head)["order"] == order


@pytest.mark.parametrize(("size", "length"), [(16, 24), (254, 24), (255, 23)])
def test_a_subnet_from_the_pool_holds_all_nodes(size: int, length: int) -> None:
    hosts = [f"n{number}" for number in range(size)]
    plan = plan_of([{"ends": [f"{host}:p0", "switch"]} for host in hosts], hosts)
    last = host_to_dict(host_view(plan_from_dict(plan), hosts[-1]))["ports"][0]  # type: ignore[index]
    subnet = IPv4Network(last["subnet"])
    assert plan["prefix_length"] == subnet.prefixlen == length
    assert IPv4Address(last["address"]) in list(subnet.hosts())


# What the roles take of it


def test_every_node_pings_every_other_on_the_same_cage_and_root() -> None:
    _plan, views = example()
    found = devices(views["spark2"], functions(), 9000)
    assert found["pings"] == [
        {"name": f"cable 2 root {root} from spark2:p0 to spark{n}:p0", "source": f"{net}.2", "target": f"{net}.{n}"}
        for root, net in (("A", "198.18.0"), ("B", "198.18.1"))
        for n in (1, 3, 4)
    ]
    assert (found["routes"], found["forward"], found["connections"]) == ([], [], [])
    assert [(port["netdev"], port["address"]) for port in found["settings"][:2]] == [
        (P0A, "198.18.0.2/24"),
        (P0B, "198.18.1.2/24"),
    ]


def test_a_port_answers_only_for_its_own_address_as_all_hear_the_question() -> None:
    _plan, views = example()
    assert devices(views["spark1"], functions(), 9000)["sysctl"] == {
        f"net.ipv4.conf.{netdev}.{key}": value
        for netdev in NETDEVS.values()
        for key, value in (("rp_filter", "2"), ("arp_ignore", "1"), ("arp_announce", "2"))
    }


CABLE = "cable 1 (spark1:p0 - switch)"
NO_SWITCH = f"{CABLE} does not go to the switch, at its other end is"
VERDICTS: dict[str, tuple[dict[str, Any], str, str]] = {
    "a switch": (says("QSFP56 port 7"), "ok", ""),
    "a switch that does not describe its port": ({"carrier": True, "lldp": {"chassis_name": "sw"}}, "ok", ""),
    "nothing is heard": (says(None), "unproven", f"{CABLE} has a link on root A, but no switch announces itself there"),
    "no link": (DARK, "down", f"{CABLE} has no link on root A: is it plugged at both ends, and is the switch on?"),
    "no link, and what was heard before": (
        {**says("QSFP56 port 7"), "carrier": False},
        "down",
        f"{CABLE} has no link on root A: is it plugged at both ends, and is the switch on?",
    ),
    "another Spark of the fabric": (
        says("switchless.spark spark2 p0 A"),
        "wrong",
        f"{NO_SWITCH} spark2:p0: move that end",
    ),
    "its own other cage": (says("switchless.spark spark1 p1 A"), "wrong", f"{NO_SWITCH} spark1:p1: move that end"),
}


@pytest.mark.parametrize(("shown", "verdict", "text"), VERDICTS.values(), ids=VERDICTS)
def test_where_a_cable_leads(shown: dict[str, Any], verdict: str, text: str) -> None:
    _plan, views = example()
    first, second = cabling(views["spark1"], functions(p0A=shown, p0B=says("QSFP56 port 7")))
    assert (first["port"], first["cable"], first["verdict"]) == ("spark1:p0 A", 1, verdict)
    assert first["text"].startswith(text)
    assert bool(first["text"]) is bool(text)
    assert second == {"port": "spark1:p0 B", "cable": 1, "verdict": "ok", "text": ""}


def test_the_ports_announce_themselves_as_on_cables() -> None:
    _plan, views = example()
    assert announcements(views["spark3"], functions())[0] == {
        "netdev": P0A,
        "description": "switchless.spark spark3 p0 A",
    }


def test_no_spark_is_expected_at_the_other_end() -> None:
    _plan, views = example()
    assert {port.peer for port in expected(views["spark1"]["ports"]).values()} == {None}
    assert {plug.peer for plug in plugged(views["spark1"]["ports"], functions())} == {None}


def test_a_plan_that_lost_a_node() -> None:
    plan, _views = example()
    with pytest.raises(FabricError, match=r"damaged: its order is .*, its cables are those of spark1, spark2, spark3;"):
        host_view(plan_from_dict({**plan, "cables": plan["cables"][:3]}), "spark1")
    with pytest.raises(FabricError, match="the plan is damaged"):
        plan_from_dict({**plan, "order": plan["order"][:3]})


# Any of them


@dataclass(frozen=True)
class Fabric:
    cables: list[Data]
    hosts: list[str]
    head: str
    cages: tuple[str, ...]


def a_fabric(size: int, cages: tuple[str, ...], random: Random) -> Fabric:
    """Cables and ends in any order, any head, subnets written out at some of the cables of a cage, or at none."""
    hosts = [f"spark-{number:02}" for number in range(size)]
    cables: list[Data] = []
    for cage in cages:
        # Some inside the pool, where it has to step over them.
        subnets = [f"{random.choice(('10.9', '198.18'))}.{2 * int(cage[1]) + root}.0/24" for root in (0, 1)]
        share = random.choice((0, 0.3, 1))
        for host in hosts:
            cable: Data = {"ends": random.sample([f"{host}:{cage}", "switch"], 2)}
            cables.append({**cable, "subnets": subnets} if random.random() < share else cable)
    random.shuffle(cables)
    return Fabric(cables, hosts, random.choice(hosts), cages)


fabrics = st.builds(
    a_fabric,
    st.integers(2, 16),
    st.sampled_from([("p0",), ("p1",), ("p0", "p1")]),
    st.randoms(use_true_random=False),
)


@quick
@given(fabrics)
def test_every_node_reaches_every_address_on_the_same_subnet(fabric: Fabric) -> None:
    views = views_of(fabric.cables, fabric.hosts, head=fabric.head)
    owner = {
        port["address"]: (host, port["cage"], port["root"]) for host, view in views.items() for port in view["ports"]
    }
    assert len(owner) == 2 * len(fabric.cables), "addresses are unique"
    for host, view in views.items():
        subnets = [IPv4Network(port["subnet"]) for port in view["ports"]]
        assert not any(one.overlaps(two) for one, two in combinations(subnets, 2)), "no two ports share a subnet"
        assert sorted(map(str, subnets)) == sorted(view["subnets"])
        assert sorted({port["cage"] for port in view["ports"]}) == sorted(fabric.cages)
        reached = set()
        for port, subnet in zip(view["ports"], subnets, strict=True):
            assert IPv4Address(port["address"]) in list(subnet.hosts())
            assert [views[peer["host"]]["rank"] for peer in port["peers"]] == [
                rank for rank in range(len(fabric.hosts)) if rank != view["rank"]
            ]
            for peer in port["peers"]:
                assert IPv4Address(peer["address"]) in subnet
                assert owner[peer["address"]] == (peer["host"], port["cage"], port["root"])
                assert peer["cage"] == port["cage"]
                reached.add(peer["address"])
        assert reached == {address for address, (there, _cage, _root) in owner.items() if there != host}
        assert (view["routes"], view["relays"], view["far"]) == ([], [], [])
        assert (view["previous"], view["next"]) == tuple(
            next(other for other in views if views[other]["rank"] == (view["rank"] + step) % len(views))
            for step in (-1, 1)
        )


@quick
@given(fabrics)
def test_a_plan_survives_json_and_is_drawn(fabric: Fabric) -> None:
    plan = plan_of(fabric.cables, fabric.hosts, head=fabric.head)
    back = plan_from_dict(json.loads(json.dumps(plan)))
    assert plan_to_dict(back) == plan
    assert back == build_plan(fabric.cables, hosts=fabric.hosts, head=fabric.head)
    assert (plan["layout"], plan["size"], plan["head"]) == ("switch", len(fabric.hosts), fabric.head)
    picture = draw(back)
    assert max(map(len, picture.splitlines())) <= 80
    for view in views_of(fabric.cables, fabric.hosts, head=fabric.head).values():
        assert all(port["address"] in picture for port in view["ports"])


@quick
@given(fabrics)
def test_nccl_gets_no_graph_and_every_device(fabric: Fabric) -> None:
    plan = plan_of(fabric.cables, fabric.hosts, head=fabric.head)
    shown = [
        {**function, "pci": f"{cage}{root}", "rdma": f"roce{cage}{root}"}
        for function in functions()
        for cage, root in [(function["cage"], function["root"])]
    ]
    control = {"netdev": "enP7s7", "address": "192.0.2.11"}
    for view in views_of(fabric.cables, fabric.hosts, head=fabric.head).values():
        told: dict[str, Any] = nccl_settings(view, plan, shown, control)
        assert told["graph"] is None
        assert told["environment"]["NCCL_CROSS_NIC"] == "0"
        assert not {"NCCL_GRAPH_FILE", "NCCL_ALGO", "NCCL_IB_SUBNET_AWARE_ROUTING"} & told["environment"].keys()
        assert {device["device"] for device in told["devices"]} == {
            f"roce{cage}{root}" for cage in fabric.cages for root in "AB"
        }
