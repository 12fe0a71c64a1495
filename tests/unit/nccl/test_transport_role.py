# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The expressions of the role transport, as Ansible evaluates them."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from tests.unit.nccl.transport_world import LINK_ROWS, ORDER, PLAN, VIEWS, shown
from tests.unit.rendering import CHECKOUT, load, render

ROLE = CHECKOUT / "roles" / "transport"
VARIABLES: dict[str, Any] = load(ROLE / "vars" / "main.yml")
DEFAULTS: dict[str, Any] = load(ROLE / "defaults" / "main.yml")
HEAD = ORDER[0]
SKIPPED = {"changed": False, "skipped": True}
FACTS = {
    "ansible_check_mode": False,
    "fabric_plan": PLAN,
    "fabric_node": VIEWS[HEAD],
    "__transport_nic": {"cx7": {"functions": shown(HEAD)}},
}


@cache
def task(file: str, name: str) -> dict[str, Any]:
    return next(one for one in load(ROLE / "tasks" / f"{file}.yml") if one["name"] == name)


def evaluated(expression: Any, **facts: Any) -> Any:
    return render(expression, DEFAULTS | VARIABLES | FACTS | facts)


@pytest.mark.parametrize(
    ("check", "proof", "unlaid"),
    [
        (True, {"fabric_proof": SKIPPED}, True),
        (True, {"fabric_proof": {"ok": True, "failures": []}}, False),
        (True, {}, False),
        (False, {"fabric_proof": SKIPPED}, False),
        (False, {}, False),
    ],
)
def test_only_check_mode_can_find_the_fabric_still_to_be_laid(check: bool, proof: dict[str, Any], unlaid: bool) -> None:
    assert evaluated(VARIABLES["__transport_unlaid"], ansible_check_mode=check, **proof) is unlaid


@pytest.mark.parametrize("plane", ["management", "fabric"])
def test_the_control_plane_on_a_fabric_that_is_still_to_be_laid_is_foreseen(plane: str) -> None:
    port = VIEWS[HEAD]["ports"][0]
    nowhere = {"transport": {"control": {"address": port["address"], "netdev": None, "mtu": None}}}
    facts = {"fabric_plan": {**PLAN, "control_plane": plane}, "__transport_found": nowhere}
    unlaid = {"ansible_check_mode": True, "fabric_proof": SKIPPED}
    assert evaluated(VARIABLES["__transport_control"], **facts) == nowhere["transport"]["control"]
    foreseen = evaluated(VARIABLES["__transport_control"], **facts, **unlaid)
    assert (port["cage"], port["root"]) == ("p0", "A")
    assert (foreseen["address"], foreseen["netdev"]) == (port["address"], "enp1s0f0np0" if plane == "fabric" else None)


@pytest.mark.parametrize(
    ("facts", "kept"),
    [
        ({}, False),
        ({"cx7_outdated_bandwidth": []}, True),
        ({"cx7_outdated_bandwidth": [{"gbps": 13.0}]}, True),
        ({"cx7_outdated_bandwidth": LINK_ROWS[HEAD]}, False),
    ],
)
def test_what_was_measured_before_a_reboot_proves_nothing(facts: dict[str, Any], kept: bool) -> None:
    keep = task("prove", "Keep what this node showed")
    measured = {"link_test_results": LINK_ROWS[HEAD], "link_test_bandwidth": LINK_ROWS[HEAD]} if facts else {}
    link = keep["ansible.builtin.set_fact"]["__transport_node"]["link"]
    assert evaluated(link, **keep["vars"], **measured, **facts) == (LINK_ROWS[HEAD] if kept else None)


def test_the_ring_test_of_arx_has_a_time_limit_that_does_not_end_the_play() -> None:
    run = task("prove", "Run arx's own ring test")
    assert "timeout" not in run
    argv = evaluated(run["ansible.builtin.command"]["argv"], transport_arx_command=["python3", "/arx/test_ring.py"])
    assert argv[0] == "timeout"
    assert argv[-2:] == ["python3", "/arx/test_ring.py"]
