# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who measures what, and when: every leg once, nobody in two places."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.filter.link_schedule import FilterModule
from ansible_collections.switchless.spark.plugins.module_utils._link.schedule import schedule
from tests.unit.fabric.fabric_world import Data, plan_of, ring

NO_VERBS = "programs cannot open an RDMA device here: no /dev/infiniband/uverbs*"
NETDEVS = {("p0", "A"): "p1s0f0", ("p0", "B"): "P2p1s0f0", ("p1", "A"): "p1s0f1", ("p1", "B"): "P2p1s0f1"}


def node(*, verbs: bool = True, tools: tuple[str, ...] = ("ib_write_bw", "iperf3"), gpu: tuple[str, ...] = ()) -> Data:
    """A node as cx7_info and link_bandwidth show it."""
    return {
        "functions": [
            {"cage": cage, "root": root, "netdev": f"en{name}", "rdma": f"roce{name}", "carrier": True}
            for (cage, root), name in NETDEVS.items()
        ],
        "readiness": {
            "verbs": sorted(f"roce{name}" for name in NETDEVS.values()) if verbs else [],
            "verbs_detail": "" if verbs else NO_VERBS,
            "tools": list(tools),
            "gpu_processes": list(gpu),
        },
    }


def change(shown: Data, cage: str, root: str, **values: Any) -> Data:
    """The same node with one port changed."""
    functions = [f | values if (f["cage"], f["root"]) == (cage, root) else f for f in shown["functions"]]
    return shown | {"functions": functions}


@st.composite
def fabrics(draw: st.DrawFn) -> tuple[list[Data], list[str]]:
    """A pair with one or two cables, or a ring of 3 to 64, with cages and cables in any order."""
    size = draw(st.integers(2, 64))
    cables, hosts = ring(size)
    if size == 2 and draw(st.booleans()):
        cables = cables[:1]
    flip = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    swapped = {host for host, swap in zip(hosts, flip, strict=True) if swap}
    other = {"p0": "p1", "p1": "p0"}
    for cable in cables:
        ends = [end.split(":") for end in cable["ends"]]
        cable["ends"] = [f"{host}:{other[cage] if host in swapped else cage}" for host, cage in ends]
        if draw(st.booleans()):
            cable["ends"].reverse()
    return draw(st.permutations(cables)), hosts


@given(fabrics(), st.data())
def test_every_leg_is_measured_once_and_nobody_is_in_two_places(
    fabric: tuple[list[Data], list[str]], data: st.DataObject
) -> None:
    cables, hosts = fabric
    plan = plan_of(cables, hosts)
    there = data.draw(st.sets(st.sampled_from(hosts)) | st.just(set(hosts)))
    made = schedule(plan, {host: node() for host in there})

    whole = len(there) == len(hosts)
    assert len(made["rounds"]) <= (1 if len(cables) == 1 else 2 if len(hosts) % 2 == 0 else 3)
    assert not whole or len(made["rounds"]) == (1 if len(cables) == 1 else 2 if len(hosts) % 2 == 0 else 3)
    seen: Counter[tuple[int, str, str, str]] = Counter()
    for lists in made["rounds"]:
        met: dict[str, set[str]] = {}
        for host, items in lists.items():
            assert host in there
            peers = {item["peer"].split(":")[0] for item in items}
            assert len(peers) == 1, f"{host} meets {peers} in one round"
            met[host] = peers
            assert len({item["cable"] for item in items}) == 1
            assert len(items) == 4
            for item in items:
                seen[item["cable"], item["root"], host, item["side"]] += 1
        assert all(met[next(iter(peers))] == {host} for host, peers in met.items()), "both ends are there"
    wanted = {
        (cable["cable"], root, end["host"], side)
        for cable in plan["cables"]
        for root in "AB"
        for end in cable["ends"]
        for side in ("client", "server")
        if all(end["host"] in there for end in cable["ends"])
    }
    assert seen == Counter(wanted)
    skipped = [leg for leg in made["legs"] if leg["verdict"] == "skipped"]
    assert len(made["legs"]) == 4 * len(cables)
    assert len(skipped) * 2 == 2 * len(made["legs"]) - sum(seen.values())


@given(fabrics())
def test_both_ends_agree_on_every_measurement(fabric: tuple[list[Data], list[str]]) -> None:
    cables, hosts = fabric
    for lists in schedule(plan_of(cables, hosts), {host: node() for host in hosts})["rounds"]:
        for host, items in lists.items():
            other = items[0]["peer"].split(":")[0]
            for one, two in zip(items, lists[other], strict=True):
                assert {one["side"], two["side"]} == {"client", "server"}
                assert {one["direction"], two["direction"]} == {"out", "in"}
                assert (one["side"] == "client") == (one["direction"] == "out")
                assert (one["peer"], two["peer"]) == (f"{other}:{two['cage']}", f"{host}:{one['cage']}")
                assert (one["address"], one["peer_address"]) == (two["peer_address"], two["address"])
                assert [one[key] for key in ("cable", "root", "port", "method")] == [
                    two[key] for key in ("cable", "root", "port", "method")
                ]
            # Nobody that is late for one measurement can meet the server of another.
            assert len({(item["side"] == "client", item["port"]) for item in items}) == 4


PAIR = [{"ends": ["one:p0", "two:p1"]}]
HOSTS = ["one", "two"]


def pair(one: Data, two: Data, **more: Any) -> Data:
    made: Data = FilterModule().filters()["link_schedule"](plan_of(PAIR, HOSTS), {"one": one, "two": two}, **more)
    return made


def test_one_measurement_in_full() -> None:
    made = pair(node(), node(verbs=False), port=5000)
    assert made["rounds"][0]["one"][0] == {
        "cable": 1,
        "root": "A",
        "cage": "p0",
        "direction": "out",
        "peer": "two:p1",
        "side": "client",
        "method": "tcp",
        "netdev": "enp1s0f0",
        "rdma": "rocep1s0f0",
        "address": "198.18.0.1",
        "peer_address": "198.18.0.2",
        "port": 5002,
    }
    assert [(i["root"], i["side"], i["port"]) for i in made["rounds"][0]["two"]] == [
        ("A", "server", 5002),
        ("A", "client", 5000),
        ("B", "server", 5003),
        ("B", "client", 5001),
    ]


@pytest.mark.parametrize(
    ("one", "two", "methods", "reasons"),
    [
        (node(), node(), ["rdma", "rdma"], []),
        (node(verbs=False), node(), ["tcp", "tcp"], [f"one: {NO_VERBS}"]),
        (node(verbs=False), node(verbs=False), ["tcp", "tcp"], [f"one: {NO_VERBS}", f"two: {NO_VERBS}"]),
        (
            change(node(), "p0", "B", rdma=None),
            node(),
            ["rdma", "tcp"],
            ["one: cage p0, root B has no RDMA device"],
        ),
        (
            node(),
            change(node(), "p1", "A", rdma="mlx5_9"),
            ["tcp", "rdma"],
            ["two: programs cannot open mlx5_9"],
        ),
    ],
    ids=["both can", "one cannot", "none can", "a port without a device", "a device that cannot be opened"],
)
def test_which_tool_and_why(one: Data, two: Data, methods: list[str], reasons: list[str]) -> None:
    made = pair(one, two)
    assert [item["method"] for item in made["rounds"][0]["one"]] == [m for m in methods for direction in "io"]
    assert made["reasons"] == reasons


@pytest.mark.parametrize("carrier", [False, None])
def test_a_port_without_a_link_is_a_fault_and_is_not_waited_for(carrier: bool | None) -> None:
    made = pair(node(), change(node(), "p1", "A", carrier=carrier))
    assert [item["root"] for item in made["rounds"][0]["one"]] == ["B", "B"]
    assert [(leg["verdict"], leg["detail"]) for leg in made["legs"]] == [
        ("fault", "enp1s0f1 of two has no link"),
        ("fault", "enp1s0f1 of two has no link"),
        (None, ""),
        (None, ""),
    ]


def test_a_port_that_is_not_there_is_a_fault() -> None:
    gone = node()
    made = pair(node(), gone | {"functions": []})
    assert made["rounds"] == []
    assert {(leg["verdict"], leg["detail"], leg["method"]) for leg in made["legs"]} == {
        ("fault", "two has no port p1 A", None),
        ("fault", "two has no port p1 B", None),
    }


def test_a_node_out_of_the_run() -> None:
    made = schedule(plan_of(PAIR, HOSTS), {"one": node()})
    assert made["rounds"] == []
    assert {(leg["verdict"], leg["detail"]) for leg in made["legs"]} == {("skipped", "two took no part in this run")}
    assert (made["packages"], made["refusals"]) == ({}, [])


@pytest.mark.parametrize(
    ("one", "more", "refusals"),
    [
        (node(), {}, []),
        (
            node(gpu=("4711, vllm, 9 MiB",)),
            {},
            ["one: the GPU is in use (4711, vllm, 9 MiB), and measuring would disturb it and be disturbed by it"],
        ),
        (node(gpu=("4711, vllm, 9 MiB",)), {"force": True}, []),
        (node(), {"forks": 2}, []),
        (node(), {"forks": 1}, ["2 nodes have to measure at once, Ansible works on 1: set forks to 2 or more"]),
    ],
    ids=["idle", "busy", "forced", "forks", "too few forks"],
)
def test_refusals(one: Data, more: dict[str, Any], refusals: list[str]) -> None:
    assert pair(one, node(), **more)["refusals"] == refusals


def test_packages() -> None:
    assert pair(node(tools=()), node())["packages"] == {"one": ["perftest"], "two": []}
    assert pair(node(tools=(), verbs=False), node())["packages"] == {"one": ["iperf3"], "two": []}
    mixed = change(node(tools=()), "p0", "B", rdma=None)
    assert pair(mixed, node())["packages"] == {"one": ["iperf3", "perftest"], "two": []}


def test_a_damaged_plan_is_named() -> None:
    with pytest.raises(AnsibleFilterError, match="link_schedule: the plan has schema"):
        FilterModule().filters()["link_schedule"]({}, {})
