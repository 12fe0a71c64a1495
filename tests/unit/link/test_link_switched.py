# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who measures what through a switch: each port once in each direction, between ranks that follow each other."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._cx7 import load
from ansible_collections.switchless.spark.plugins.module_utils._link.results import results
from ansible_collections.switchless.spark.plugins.module_utils._link.schedule import schedule
from tests.unit.fabric.fabric_world import Data, plan_of
from tests.unit.link.test_link_schedule import node


def switched(size: int, cages: tuple[str, ...] = ("p0",)) -> tuple[Data, list[str]]:
    """The plan and the hosts by rank."""
    hosts = [f"n{number}" for number in range(size)]
    return plan_of([{"ends": [f"{host}:{cage}", "switch"]} for host in hosts for cage in cages], hosts), hosts


fabrics = st.tuples(st.integers(2, 16), st.sampled_from([("p0",), ("p1",), ("p0", "p1")]))


@settings(max_examples=40, deadline=None)
@given(fabrics)
def test_each_port_sends_once_to_the_next_rank_and_hears_the_previous_once(fabric: tuple[int, tuple[str, ...]]) -> None:
    size, cages = fabric
    plan, hosts = switched(size, cages)
    made = schedule(plan, {host: node() for host in hosts})
    seen: Counter[tuple[str, str, str, str]] = Counter()
    for lists in made["rounds"]:
        for host, items in lists.items():
            (peer,) = {item["peer"] for item in items}
            other, cage = peer.split(":")
            assert len({item["cage"] for item in items}) == 1, "the cages share both PCIe roots"
            for one, two in zip(items, lists[other], strict=True):
                seen[host, one["cage"], one["root"], one["direction"]] += 1
                step = 1 if one["direction"] == "out" else -1
                assert other == hosts[(hosts.index(host) + step) % size]
                assert {one["side"], two["side"]} == {"client", "server"}
                assert (one["address"], one["peer_address"]) == (two["peer_address"], two["address"])
                assert [one[key] for key in ("cable", "root", "port", "method")] == [
                    two[key] for key in ("cable", "root", "port", "method")
                ]
                assert one["cage"] == cage
                assert one["address"].endswith(f".{hosts.index(host) + 1}")
    assert seen == Counter(
        (host, cage, root, way) for host in hosts for cage in cages for root in "AB" for way in ("out", "in")
    )
    assert len(made["rounds"]) <= 3 * len(cages)
    assert (len(made["legs"]), made["refusals"]) == (2 * size * len(cages), [])


def test_two_nodes_measure_each_direction_over_the_cable_of_the_sender() -> None:
    plan, hosts = switched(2)
    made = schedule(plan, {host: node() for host in hosts})
    assert [
        (leg["cable"], leg["round"], leg["root"], leg["from"]["host"], leg["to"]["host"]) for leg in made["legs"]
    ] == [
        (1, 1, "A", "n0", "n1"),
        (1, 1, "B", "n0", "n1"),
        (2, 2, "A", "n1", "n0"),
        (2, 2, "B", "n1", "n0"),
    ]


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_the_figures_of_a_node_are_what_cx7_health_takes(size: int) -> None:
    plan, hosts = switched(size, ("p0", "p1"))
    made = schedule(plan, {host: node() for host in hosts})
    measured: dict[str, list[Data]] = {host: [] for host in hosts}
    for lists in made["rounds"]:
        for host, items in lists.items():
            # A figure of its own for each sender, that a mistaken join would show.
            for item in items:
                sender = host if item["side"] == "client" else item["peer"].split(":")[0]
                measured[host].append({**item, "gbps": 100.0 + hosts.index(sender), "detail": "", "lost": False})
    joined = results(made, measured)
    assert joined["failures"] == []
    for rank, host in enumerate(hosts):
        taken = load.bandwidth(joined["hosts"][host])
        assert {key: row.gbps for key, row in taken.items()} == {
            (cage, root, way): 100.0 + (rank if way == "out" else (rank - 1) % size)
            for cage in ("p0", "p1")
            for root in "AB"
            for way in ("in", "out")
        }


def test_a_node_that_takes_no_part_is_said_of_the_legs_to_and_from_it() -> None:
    plan, hosts = switched(3)
    made = schedule(plan, {host: node() for host in hosts[:2]})
    assert [(leg["from"]["host"], leg["to"]["host"], leg["verdict"]) for leg in made["legs"] if leg["root"] == "A"] == [
        ("n0", "n1", None),
        ("n1", "n2", "skipped"),
        ("n2", "n0", "skipped"),
    ]
