# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where cables really lead, by what the far ports say of themselves."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._fabric.cabling import (
    announcements,
    cabling,
    description,
)
from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError
from tests.unit.fabric.fabric_world import Data, views_of
from tests.unit.fabric.test_devices import P0A, P0B, P1A, P1B, functions
from tests.unit.fabric.test_fabric_golden import load


def says(text: str | None) -> dict[str, Any]:
    """A link whose far port announces this; None: it announces nothing."""
    return {"carrier": True, "lldp": None if text is None else {"chassis": "x", "port_description": text}}


DARK: dict[str, Any] = {"carrier": False, "lldp": None}
RIGHT = {
    "p0A": says("switchless.spark 3d38 p1 A"),
    "p0B": says("switchless.spark 3d38 p1 B"),
    "p1A": says("switchless.spark 355d p1 A"),
    "p1B": says("switchless.spark 355d p1 B"),
}


def judge(**change: Any) -> list[Data]:
    """The verdicts of the article's head."""
    cables, hosts, settings = load("ring4")
    return cabling(views_of(cables, hosts, **settings)["329f"], functions(**{**RIGHT, **change}))


CABLE4 = "cable 4 (329f:p0 - 3d38:p1)"
ELSEWHERE = "move that end, or write it so in fabric_cables"
UNPROVEN = f"{CABLE4} has a link on root A, but 3d38 does not announce itself there"
VERDICTS: dict[str, tuple[dict[str, Any], str, str]] = {
    "as planned": (says("switchless.spark 3d38 p1 A"), "ok", ""),
    "as planned, with more text around it": (says("rack 7: switchless.spark 3d38 p1 A (left)"), "ok", ""),
    "the other cage of the right node": (
        says("switchless.spark 3d38 p0 A"),
        "wrong",
        f"{CABLE4} really leads from 329f:p0 to 3d38:p0: {ELSEWHERE}",
    ),
    "the right cage of another node": (
        says("switchless.spark c049 p1 A"),
        "wrong",
        f"{CABLE4} really leads from 329f:p0 to c049:p1: {ELSEWHERE}",
    ),
    "its own other cage": (
        says("switchless.spark 329f p1 A"),
        "wrong",
        f"{CABLE4} really leads from 329f:p0 to 329f:p1: {ELSEWHERE}",
    ),
    "a node that is not of the plan": (
        says("switchless.spark old-spark.lan p1 A"),
        "wrong",
        f"{CABLE4} really leads from 329f:p0 to old-spark.lan:p1: {ELSEWHERE}",
    ),
    "no announcement": (says(None), "unproven", UNPROVEN),
    "an announcement without a description": ({"carrier": True, "lldp": {"chassis": "x"}}, "unproven", UNPROVEN),
    "an empty description": ({"carrier": True, "lldp": {"port_description": None}}, "unproven", UNPROVEN),
    "a switch": (says("GigabitEthernet 1/0/7"), "unproven", UNPROVEN),
    "an unknown cage": (says("switchless.spark 3d38 p2 A"), "unproven", UNPROVEN),
    "look-alike of the mark": (says("switchlessXspark 3d38 p1 A"), "unproven", UNPROVEN),
    "no link": (
        DARK,
        "down",
        f"{CABLE4} has no link on root A: is it plugged at both ends, and is 3d38 on?",
    ),
    "no link, and what was heard before": (
        {**says("switchless.spark c049 p1 A"), "carrier": False},
        "down",
        f"{CABLE4} has no link on root A: is it plugged at both ends, and is 3d38 on?",
    ),
    "link not known": (
        {"carrier": None, "lldp": None},
        "down",
        f"{CABLE4} has no link on root A: is it plugged at both ends, and is 3d38 on?",
    ),
}


@pytest.mark.parametrize(("shown", "verdict", "text"), VERDICTS.values(), ids=VERDICTS)
def test_one_port(shown: dict[str, Any], verdict: str, text: str) -> None:
    first, *rest = judge(p0A=shown)
    assert first == {"port": "329f:p0 A", "cable": 4, "verdict": verdict, "text": text}
    assert [(entry["port"], entry["cable"], entry["verdict"]) for entry in rest] == [
        ("329f:p0 B", 4, "ok"),
        ("329f:p1 A", 1, "ok"),
        ("329f:p1 B", 1, "ok"),
    ]


def test_two_cables_swapped_are_both_named_with_where_they_go() -> None:
    swapped = {
        "p0A": says("switchless.spark 355d p1 A"),
        "p0B": says("switchless.spark 355d p1 B"),
        "p1A": says("switchless.spark 3d38 p1 A"),
        "p1B": says("switchless.spark 3d38 p1 B"),
    }
    found = judge(**swapped)
    assert {entry["verdict"] for entry in found} == {"wrong"}
    # The same on both roots, so that a person reads each cable once.
    assert list(dict.fromkeys(entry["text"] for entry in found)) == [
        f"cable 4 (329f:p0 - 3d38:p1) really leads from 329f:p0 to 355d:p1: {ELSEWHERE}",
        f"cable 1 (329f:p1 - 355d:p1) really leads from 329f:p1 to 3d38:p1: {ELSEWHERE}",
    ]


def test_a_spare_cage_is_not_judged() -> None:
    views = views_of([{"ends": ["a:p1", "b:p0"]}], ["a", "b"])
    shown = functions(p0A=DARK, p0B=DARK, p1A=says("switchless.spark b p0 A"), p1B=says("switchless.spark b p0 B"))
    assert [(entry["port"], entry["verdict"]) for entry in cabling(views["a"], shown)] == [
        ("a:p1 A", "ok"),
        ("a:p1 B", "ok"),
    ]


def test_a_node_without_its_nic_is_an_error() -> None:
    cables, hosts, settings = load("ring4")
    with pytest.raises(FabricError, match="no ConnectX-7 function at all"):
        cabling(views_of(cables, hosts, **settings)["329f"], [])


def test_every_port_announces_itself_a_spare_one_too() -> None:
    views = views_of([{"ends": ["a:p1", "b:p0"]}], ["a", "b"])
    assert announcements(views["a"], functions(p0B={"netdev": None})) == [
        {"netdev": P0A, "description": "switchless.spark a p0 A"},
        {"netdev": P1A, "description": "switchless.spark a p1 A"},
        {"netdev": P1B, "description": "switchless.spark a p1 B"},
    ]
    assert P0B not in {entry["netdev"] for entry in announcements(views["a"], functions(p0B={"netdev": None}))}


@pytest.mark.parametrize("host", ["a", "329f", "spark-1.lab.example", "SPARK_1", "p0", "10"])
def test_what_is_announced_is_understood(host: str) -> None:
    views = views_of([{"ends": ["x:p0", f"{host}:p1"]}], ["x", host])
    shown = functions(p0A=says(description(host, "p1", "A")), p0B=says(description(host, "p1", "B")))
    assert {entry["verdict"] for entry in cabling(views["x"], shown)} == {"ok"}
