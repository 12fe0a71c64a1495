# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conditions and words of the role clock_cap, rendered as Ansible renders them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible.template import trust_as_template

from ansible_collections.switchless.spark.plugins.module_utils._clocks import limits
from ansible_collections.switchless.spark.plugins.module_utils._clocks.judge import Load, Seen
from ansible_collections.switchless.spark.plugins.module_utils._clocks.setters import Setter
from ansible_collections.switchless.spark.plugins.module_utils._clocks.smi import Lock
from ansible_collections.switchless.spark.plugins.modules.clock_cap_info import result
from tests.unit.clocks.clock_world import ROLE, state, well
from tests.unit.rendering import load, render

OTHER = Setter("/etc/cron.d/cap", 3, "@reboot root nvidia-smi -lgc 0,2000", "cron", live=True)


def task(file: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(item for item in load(ROLE / "tasks" / file) if item["name"] == name)
    return found


def holds(condition: str, variables: dict[str, Any]) -> bool:
    value: bool = render(trust_as_template("{{ " + condition + " }}"), variables, "clock_cap")
    return value


def said(template: str, variables: dict[str, Any]) -> str:
    text: str = render(trust_as_template((ROLE / "templates" / template).read_text()), variables, "clock_cap")
    return text.strip()


@pytest.mark.parametrize(
    ("mhz", "fine"), [(999, False), (1000, True), (2200, True), (2340, True), (2341, False), (0, False)]
)
def test_the_range_of_the_cap(mhz: int, fine: bool) -> None:
    check = task("main.yml", "Require a cap that makes sense")["ansible.builtin.assert"]
    assert holds(check["that"], {"clock_cap_max_mhz": mhz}) is fine


def test_every_cap_in_the_range_can_be_verified() -> None:
    """From the safety state below, and from a GPU without a cap above, it can be told apart."""
    assert limits.SLOW_MHZ[1] < 1000 - limits.REACH_MHZ
    assert 2340 + limits.TOLERANCE_MHZ < limits.UNCAPPED_MHZ


@pytest.mark.parametrize(("caps", "same"), [((2200, 2200), True), ((2200, 2100), False)])
def test_all_nodes_have_the_same(caps: tuple[int, int], same: bool) -> None:
    check = task("main.yml", "Require the same cap on all nodes")
    hosts = ["spark1", "spark2"]
    variables = {
        "ansible_play_hosts": hosts,
        "hostvars": {host: {"__clock_cap_wanted": cap} for host, cap in zip(hosts, caps, strict=True)},
    }
    variables["__clock_cap_all"] = render(check["vars"]["__clock_cap_all"], variables)
    assert holds(check["ansible.builtin.assert"]["that"], variables) is same
    assert "spark2" in render(check["ansible.builtin.assert"]["fail_msg"], variables)


def test_others_are_named() -> None:
    seen = well(others=(OTHER, replace(OTHER, live=False, line=9), replace(OTHER, live=None, unit="x.service", line=5)))
    text = said("others.j2", {"__clock_cap_before": {"clocks": result(seen)}, "inventory_hostname": "spark1"})
    assert text.splitlines() == [
        "spark1: /etc/cron.d/cap:3 sets clocks, too: @reboot root nvidia-smi -lgc 0,2000",
        "spark1: /etc/cron.d/cap:5 sets clocks, too (x.service): @reboot root nvidia-smi -lgc 0,2000",
    ]


@pytest.mark.parametrize(
    ("changed", "asked", "restarts"),
    [(None, 2200, False), (None, None, False), (None, 2100, True), ("program", 2200, True), ("number", 2200, True)],
)
def test_when_the_cap_is_set_anew(changed: str | None, asked: int | None, restarts: bool) -> None:
    step = task("apply.yml", "See whether the cap must be set anew")
    variables: dict[str, Any] = {
        f"__clock_cap_{part}": {"changed": part == changed} for part in ("program", "number", "unit")
    }
    variables["__clock_cap_before"] = {"clocks": result(well(lock=Lock(asked, 0, asked)))}
    variables["clock_cap_max_mhz"] = 2200
    wanted = render(step["ansible.builtin.set_fact"]["__clock_cap_restart"], variables)
    assert wanted is restarts


@pytest.mark.parametrize(
    ("unit_changed", "need_reload", "reloads"),
    [(False, False, False), (False, None, False), (True, False, True), (False, True, True)],
)
def test_systemd_is_reloaded_for_a_new_unit_only(unit_changed: bool, need_reload: bool | None, reloads: bool) -> None:
    start = task("apply.yml", "Set the cap now and at every boot")["ansible.builtin.systemd_service"]
    variables = {
        "__clock_cap_unit": {"changed": unit_changed},
        "__clock_cap_before": {"clocks": result(well(state=state(need_reload=need_reload)))},
    }
    assert render(start["daemon_reload"], variables) is reloads


def test_states_are_shown() -> None:
    hosts = {
        "spark1": {"clock_cap_state": result(well())},
        "spark2": {"clock_cap_state": result(well(lock=Lock(2200, 0, 2176), load=Load()))},
        "spark3": {},
        "spark4": {"clock_cap_state": result(Seen())},
    }
    lines = said("states.j2", {"ansible_play_hosts": list(hosts), "hostvars": hosts}).splitlines()
    assert lines[:3] == [
        "spark1: verified. Asked for at most 2200 MHz, set to 2200 MHz, seen at 2210 MHz under load.",
        "spark2: unverified. Asked for at most 2200 MHz, set to 2176 MHz.",
        (
            "spark2: unverified: the clock was not watched under load. Watch the clock while the model computes:"
            " clock_cap_load_seconds=20."
        ),
    ]
    assert lines[3] == "spark4: not_applied. Asked for at most ? MHz, set to ? MHz."


@pytest.mark.parametrize(
    ("more", "stops"),
    [
        ({}, False),
        ({"load": Load()}, False),
        ({"others": (OTHER,)}, False),
        ({"state": state(active="failed")}, True),
        ({"others": (OTHER,), "state": state(active="failed")}, True),
        ({"lock": Lock(2200, unsupported=True)}, True),
    ],
)
def test_what_stops_the_run(more: dict[str, Any], stops: bool) -> None:
    """Others were refused before, or allowed."""
    check = task("prove.yml", "Require that nothing speaks against the cap")
    variables: dict[str, Any] = {"clock_cap_state": result(well(**more)), "inventory_hostname": "spark1"}
    variables["__clock_cap_against"] = render(check["vars"]["__clock_cap_against"], variables)
    variables["__clock_cap_start"] = {"msg": "Job failed"}
    assert holds(check["ansible.builtin.assert"]["that"], variables) is not stops
    text = render(check["ansible.builtin.assert"]["fail_msg"], variables)
    assert text.splitlines()[0] == "spark1: the clock is not capped."
    assert "Job failed" in text
