# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Properties of every legal fabric of 2 to 64 nodes, by playing the forwarding."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network
from itertools import combinations
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.fabric.fabric_world import Data, World, mask_and_network, number, plan_of, views_of

ALL_PAIRS_UP_TO = 9
"""Above this many nodes a few of them speak to all, so that the run stays short."""

quick = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@dataclass(frozen=True)
class Fabric:
    cables: list[Data]
    hosts: list[str]
    head: str
    random: Random

    def plan(self) -> Data:
        return plan_of(self.cables, self.hosts, head=self.head)

    def views(self) -> dict[str, Data]:
        return views_of(self.cables, self.hosts, head=self.head)


def a_fabric(size: int, random: Random) -> Fabric:
    """Any cage at either end of any cable, cables and ends in any order, any head, some subnets written out."""
    hosts = [f"spark-{number:02}" for number in range(size)]
    random.shuffle(hosts)
    onward = random.choices(("p0", "p1"), k=size)
    cables: list[Data] = []
    for rank, host in enumerate(hosts):
        after = (rank + 1) % size
        ends = [f"{host}:{onward[rank]}", f"{hosts[after]}:{'p1' if onward[after] == 'p0' else 'p0'}"]
        random.shuffle(ends)
        cable: Data = {"ends": ends}
        if random.random() < 0.3:
            # Some inside the pool, where it has to step over them.
            cable["subnets"] = [f"{random.choice(('10.9', '198.18'))}.{2 * rank + root}.0/24" for root in (0, 1)]
        cables.append(cable)
    random.shuffle(cables)
    if size == 2 and random.random() < 0.5:
        cables.pop()
    return Fabric(cables, sorted(hosts), random.choice(hosts), random)


def fabrics(least: int = 2, most: int = 64) -> st.SearchStrategy[Fabric]:
    """Fabrics of these sizes, the small ones more often."""
    sizes = st.one_of(st.integers(least, min(most, 9)), st.integers(least, most))
    return st.builds(a_fabric, sizes, st.randoms(use_true_random=False))


@quick
@given(fabrics())
def test_every_node_reaches_every_address_and_is_answered_the_same_way(fabric: Fabric) -> None:
    views = fabric.views()
    world = World(views)
    size = len(views)
    speakers = fabric.hosts if size <= ALL_PAIRS_UP_TO else fabric.random.sample(fabric.hosts, 3)
    for host in speakers:
        far = {item["host"]: item for item in views[host]["far"]}
        for other in fabric.hosts:
            if other == host:
                continue
            distance = abs(views[host]["rank"] - views[other]["rank"])
            distance = min(distance, size - distance)
            for port in views[other]["ports"]:
                hops = world.check_conversation(host, number(port["address"]))
                assert len(hops) == distance <= size / 2
                assert {hop[1][1] for hop in hops} == {port["root"]}, "a packet keeps its root"
            if distance > 1:
                assert far[other]["relays"] == distance - 1
                assert far[other]["rank"] == views[other]["rank"]
                assert far[other]["addresses"] == [port["address"] for port in views[other]["ports"]]
            else:
                assert other not in far
        assert [item["rank"] for item in views[host]["far"]] == sorted(item["rank"] for item in views[host]["far"])
    if size <= ALL_PAIRS_UP_TO:
        assert world.used == {host: node.relays for host, node in world.nodes.items()}, "relays that nobody needs"


@pytest.mark.parametrize("size", [*range(2, 17), 31, 32, 33, 63, 64])
def test_each_size_forwards(size: int) -> None:
    """Each size once, whatever sizes the properties above happened to draw."""
    fabric = a_fabric(size, Random(size))  # noqa: S311 - a fixed choice of fabrics, no secret
    views = fabric.views()
    world = World(views)
    for other in fabric.hosts:
        for port in views[other]["ports"] if other != fabric.head else ():
            assert len(world.check_conversation(fabric.head, number(port["address"]))) <= size / 2


@quick
@given(fabrics())
def test_peers_are_adjacent_and_share_a_subnet(fabric: Fabric) -> None:
    plan, views = fabric.plan(), fabric.views()
    size = plan["size"]
    assert plan["order"][0] == plan["head"] == fabric.head
    assert plan["layout"] == {2: "pair", 3: "triangle"}.get(size, "ring")
    seen: set[str] = set()
    for host, view in views.items():
        rank = view["rank"]
        assert plan["order"][rank] == host
        assert view["next"] == plan["order"][(rank + 1) % size]
        assert view["previous"] == plan["order"][rank - 1]
        assert sorted({port["cage"] for port in view["ports"]} | set(view["unused"])) == ["p0", "p1"]
        assert [(port["cage"], port["root"]) for port in view["ports"]] == sorted(
            (port["cage"], port["root"]) for port in view["ports"]
        )
        for port in view["ports"]:
            seen.add(port["address"])
            towards = {"next": view["next"], "previous": view["previous"], "both": view["next"]}[port["towards"]]
            assert port["peer"]["host"] == towards
            back = [
                item
                for item in views[towards]["ports"]
                if (item["cage"], item["root"]) == (port["peer"]["cage"], port["root"])
            ]
            assert [item["address"] for item in back] == [port["peer"]["address"]]
            assert back[0]["peer"] == {"host": host, "cage": port["cage"], "address": port["address"]}
            assert back[0]["cable"] == port["cable"]
            assert {"next": "previous", "previous": "next", "both": "both"}[port["towards"]] == back[0]["towards"]
            first_of_subnet = mask_and_network(port["subnet"])[1]
            ends = {number(port["address"]), number(port["peer"]["address"])}
            assert ends == {first_of_subnet + 1, first_of_subnet + 2}
            assert port["subnet"] == plan["cables"][port["cable"] - 1]["subnets"][port["root"]]
    assert len(seen) == 4 * len(fabric.cables), "addresses are unique"
    first = next(cable for cable in plan["cables"] if fabric.head in [end["host"] for end in cable["ends"]])
    assert plan["order"][1] in [end["host"] for end in first["ends"]], "the first cable at the head leads to rank 1"


@quick
@given(fabrics())
def test_subnets_are_apart_and_all_listed(fabric: Fabric) -> None:
    plan, views = fabric.plan(), fabric.views()
    subnets = [IPv4Network(subnet) for cable in plan["cables"] for subnet in cable["subnets"].values()]
    assert {subnet.prefixlen for subnet in subnets} == {plan["prefix_length"]}
    assert len(set(subnets)) == 2 * len(fabric.cables)
    if len(subnets) <= 32:
        assert not any(one.overlaps(two) for one, two in combinations(subnets, 2))
    for view in views.values():
        assert view["subnets"] == [str(subnet) for subnet in sorted(subnets)]
    for cable, raw in zip(plan["cables"], fabric.cables, strict=True):
        assert [f"{end['host']}:{end['cage']}" for end in cable["ends"]] == raw["ends"]
        assert list(cable["subnets"].values()) == raw.get("subnets", list(cable["subnets"].values()))


@quick
@given(fabrics(most=16))
def test_order_of_the_group_does_not_matter(fabric: Fabric) -> None:
    shuffled = fabric.random.sample(fabric.hosts, len(fabric.hosts))
    assert plan_of(fabric.cables, shuffled, head=fabric.head) == fabric.plan()
    assert plan_of(fabric.cables, shuffled) == plan_of(fabric.cables, fabric.hosts)


@quick
@given(fabrics(least=4, most=16))
def test_strict_reverse_path_filters_would_pass(fabric: Fabric) -> None:
    """Every node that a packet enters would answer its source through the port that it came in by."""
    world = World(fabric.views())
    host = fabric.head
    for other in fabric.hosts:
        for address in world.nodes[other].own if other != host else ():
            hops = world.send(host, address)
            source = world.nodes[host].source[hops[0][1]]
            for hop in hops:
                assert world.nodes[hop[2]].lookup(source)[0] == hop[3]
