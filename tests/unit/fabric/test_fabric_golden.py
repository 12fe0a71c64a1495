# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fabrics that people have built, to the last address."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.switchless.spark.plugins.module_utils._fabric.drawing import draw
from ansible_collections.switchless.spark.plugins.module_utils._fabric.plan import (
    build_plan,
    plan_from_dict,
    plan_to_dict,
)
from tests.unit.fabric.fabric_world import Data, plan_of, ring, views_of

INVENTORIES = Path(__file__).resolve().parents[3] / "inventories"


def load(name: str) -> tuple[list[Data], list[str], dict[str, object]]:
    """Cables, hosts and settings of an inventory."""
    group: dict[str, Any] = yaml.safe_load((INVENTORIES / name / "hosts.yml").read_text(encoding="utf-8"))["sparks"]
    settings = {key.removeprefix("fabric_"): value for key, value in group["vars"].items()}
    settings["management"] = {host: variables["ansible_host"] for host, variables in group["hosts"].items()}
    return settings.pop("cables"), list(group["hosts"]), settings


def test_the_ring_of_the_article() -> None:
    cables, hosts, settings = load("ring4")
    assert plan_of(cables, hosts, **settings) == {
        "schema": 1,
        "layout": "ring",
        "size": 4,
        "head": "329f",
        "order": ["329f", "355d", "c049", "3d38"],
        "mtu": 9000,
        "control_plane": "management",
        "prefix_length": 24,
        "cables": [
            {
                "cable": 1,
                "name": "329f:p1 - 355d:p1",
                "ends": [{"host": "329f", "cage": "p1"}, {"host": "355d", "cage": "p1"}],
                "subnets": {"A": "192.168.100.0/24", "B": "192.168.102.0/24"},
            },
            {
                "cable": 2,
                "name": "355d:p0 - c049:p0",
                "ends": [{"host": "355d", "cage": "p0"}, {"host": "c049", "cage": "p0"}],
                "subnets": {"A": "192.168.104.0/24", "B": "192.168.105.0/24"},
            },
            {
                "cable": 3,
                "name": "c049:p1 - 3d38:p0",
                "ends": [{"host": "c049", "cage": "p1"}, {"host": "3d38", "cage": "p0"}],
                "subnets": {"A": "192.168.106.0/24", "B": "192.168.107.0/24"},
            },
            {
                "cable": 4,
                "name": "3d38:p1 - 329f:p0",
                "ends": [{"host": "3d38", "cage": "p1"}, {"host": "329f", "cage": "p0"}],
                "subnets": {"A": "192.168.101.0/24", "B": "192.168.103.0/24"},
            },
        ],
    }


def test_the_head_of_the_article() -> None:
    cables, hosts, settings = load("ring4")
    view = views_of(cables, hosts, **settings)["329f"]
    assert (view["rank"], view["previous"], view["next"], view["unused"]) == (0, "3d38", "355d", [])
    assert view["ports"][0] == {
        "cage": "p0",
        "root": "A",
        "cable": 4,
        "towards": "previous",
        "address": "192.168.101.2",
        "prefix_length": 24,
        "subnet": "192.168.101.0/24",
        "peer": {"host": "3d38", "cage": "p1", "address": "192.168.101.1"},
    }
    assert [port["address"] for port in view["ports"]] == [
        "192.168.101.2",
        "192.168.103.2",
        "192.168.100.1",
        "192.168.102.1",
    ]
    assert view["routes"] == [
        {"to": "192.168.104.0/24", "via": "192.168.100.2", "cage": "p1", "root": "A"},
        {"to": "192.168.105.0/24", "via": "192.168.102.2", "cage": "p1", "root": "B"},
        {"to": "192.168.106.0/24", "via": "192.168.101.1", "cage": "p0", "root": "A"},
        {"to": "192.168.107.0/24", "via": "192.168.103.1", "cage": "p0", "root": "B"},
    ]
    assert view["relays"] == [
        {"in": {"cage": one, "root": root}, "out": {"cage": two, "root": root}}
        for one, two in (("p0", "p1"), ("p1", "p0"))
        for root in ("A", "B")
    ]
    assert view["far"] == [
        {
            "host": "c049",
            "rank": 2,
            "relays": 1,
            "addresses": ["192.168.104.2", "192.168.105.2", "192.168.106.1", "192.168.107.1"],
        }
    ]
    assert view["subnets"] == [f"192.168.{number}.0/24" for number in range(100, 108)]


def test_three_sparks_as_nvidia_joins_them() -> None:
    cables, hosts, settings = load("triangle")
    plan = plan_of(cables, hosts, **settings)
    assert (plan["layout"], plan["order"]) == ("triangle", ["spark1", "spark2", "spark3"])
    assert [list(cable["subnets"].values()) for cable in plan["cables"]] == [
        ["192.168.0.0/24", "192.168.1.0/24"],
        ["192.168.2.0/24", "192.168.3.0/24"],
        ["192.168.4.0/24", "192.168.5.0/24"],
    ]
    view = views_of(cables, hosts, **settings)["spark1"]
    assert (view["relays"], view["far"]) == ([], [])
    assert view["routes"] == [
        {"to": "192.168.2.1/32", "via": "192.168.0.2", "cage": "p0", "root": "A"},
        {"to": "192.168.2.2/32", "via": "192.168.4.1", "cage": "p1", "root": "A"},
        {"to": "192.168.3.1/32", "via": "192.168.1.2", "cage": "p0", "root": "B"},
        {"to": "192.168.3.2/32", "via": "192.168.5.1", "cage": "p1", "root": "B"},
    ]


def test_a_pair_with_two_cables_goes_out_on_one_and_back_on_the_other() -> None:
    cables, hosts, settings = load("pair")
    views = views_of(cables, hosts, **settings)
    assert [(port["cage"], port["towards"]) for port in views["spark1"]["ports"][::2]] == [
        ("p0", "next"),
        ("p1", "previous"),
    ]
    assert [(port["cage"], port["towards"]) for port in views["spark2"]["ports"][::2]] == [
        ("p0", "previous"),
        ("p1", "next"),
    ]
    assert all(view[key] == [] for view in views.values() for key in ("routes", "relays", "far", "unused"))


def test_a_pair_with_one_cable() -> None:
    views = views_of([{"ends": ["a:p1", "b:p0"]}], ["b", "a"])
    assert [port["towards"] for port in views["a"]["ports"]] == ["both", "both"]
    assert (views["a"]["unused"], views["b"]["unused"]) == (["p0"], ["p1"])
    assert (views["a"]["previous"], views["a"]["next"]) == ("b", "b")


def test_an_odd_ring_routes_the_opposite_cable_to_each_owner() -> None:
    cables, hosts = ring(5)
    view = views_of(cables, hosts)["n0"]
    assert [(route["to"], route["via"], route["cage"]) for route in view["routes"] if route["root"] == "A"] == [
        ("198.18.2.0/24", "198.18.0.2", "p0"),
        ("198.18.4.1/32", "198.18.0.2", "p0"),
        ("198.18.4.2/32", "198.18.8.1", "p1"),
        ("198.18.6.0/24", "198.18.8.1", "p1"),
    ]


def test_the_first_cable_at_the_head_leads_to_rank_1() -> None:
    cables, hosts = ring(4)
    assert plan_of(cables, hosts, head="n2")["order"] == ["n2", "n1", "n0", "n3"]
    assert plan_of(cables[::-1], hosts, head="n2")["order"] == ["n2", "n3", "n0", "n1"]


def test_the_pool_steps_over_subnets_that_cables_name() -> None:
    cables, hosts = ring(3)
    cables[2]["subnets"] = ["198.18.1.0/24", "198.18.3.0/24"]
    plan = plan_of(cables, hosts)
    assert [list(cable["subnets"].values()) for cable in plan["cables"]] == [
        ["198.18.0.0/24", "198.18.2.0/24"],
        ["198.18.4.0/24", "198.18.5.0/24"],
        ["198.18.1.0/24", "198.18.3.0/24"],
    ]


def test_the_pool_is_cut_to_the_prefix_length_that_cables_name() -> None:
    plan = plan_of(
        [{"ends": ["a:p0", "b:p0"], "subnets": ["10.0.0.0/30", "10.0.0.4/30"]}, {"ends": ["a:p1", "b:p1"]}],
        ["a", "b"],
        subnet_pool="10.0.0.0/28",
    )
    assert plan["prefix_length"] == 30
    assert plan["cables"][1]["subnets"] == {"A": "10.0.0.8/30", "B": "10.0.0.12/30"}


@pytest.mark.parametrize("name", ["ring4", "pair", "triangle"])
def test_a_plan_survives_being_data(name: str) -> None:
    cables, hosts, settings = load(name)
    plan = build_plan(cables, hosts=hosts, **settings)
    assert plan_from_dict(plan_to_dict(plan)) == plan


@pytest.mark.parametrize("name", ["ring4", "pair", "triangle"])
def test_a_drawing_shows_everything_within_80_columns(name: str) -> None:
    cables, hosts, settings = load(name)
    plan = build_plan(cables, hosts=hosts, **settings)
    drawing = draw(plan)
    lines = drawing.splitlines()
    assert max(map(len, lines)) <= 80
    assert not any(line != line.rstrip() for line in lines)
    for rank, host in enumerate(plan.order):
        assert re.search(rf" {rank}  {host}\b", drawing)
    for cable in plan.cables:
        place = next(index for index, line in enumerate(lines) if f"cable {cable.number} " in line)
        assert all(str(subnet) in lines[place] for subnet in cable.subnets)
        cages = {lines[place + side].split("p")[1].split()[0] for side in (-1, 1)}
        assert cages == {end.cage.removeprefix("p") for end in cable.ends}


def test_the_drawing_of_the_article() -> None:
    cables, hosts, settings = load("ring4")
    assert draw(build_plan(cables, hosts=hosts, **settings)).splitlines()[2:8] == [
        "                      PCIe root A         PCIe root B",
        "  ┌─▶ 0  329f  (head)",
        "  │   │    p1         192.168.100.1       192.168.102.1",
        "  │   │    cable 1    192.168.100.0/24    192.168.102.0/24",
        "  │   │    p1         192.168.100.2       192.168.102.2",
        "  │   1  355d",
    ]


def test_the_drawing_of_one_cable_has_no_way_back() -> None:
    drawing = draw(build_plan([{"ends": ["a:p0", "b:p1"]}], hosts=["a", "b"]))
    assert "┌" not in drawing
    assert drawing.splitlines()[-1].split() == ["1", "b"]
