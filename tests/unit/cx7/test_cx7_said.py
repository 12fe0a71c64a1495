# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What role cx7 says when it stops, as Ansible renders it, of nodes that were judged for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._cx7 import load
from ansible_collections.switchless.spark.plugins.module_utils._cx7.health import judge
from tests.unit.cx7.spark_cases import CASES
from tests.unit.cx7.spark_tree import PORTS
from tests.unit.cx7.test_cx7_cases import read
from tests.unit.rendering import CHECKOUT, render
from tests.unit.rendering import load as load_tasks

REFUSED = ["fault", "misconfigured", "needs_power_drain"]
LATE, SLOW_PCIE, HEALTHY = "A2 excerpt of the log alone", "PCIe at 16 GT/s", "A2 after rebooting both"
BOTH = "B8 a reboot does not help although it is throttled too"
STUCK = "A9 nor by the log"
WAITS = "No node is rebooted for what needs_reboot says while something else is wrong"


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the role keeps of a node, by the case that it is in."""
    found = {}
    for case in (case for case in CASES if case.id in (LATE, SLOW_PCIE, HEALTHY, BOTH, STUCK)):
        root = tmp_path_factory.mktemp("node")
        replace(case.shown, gids={port: {} for port in PORTS}).build(root)
        health = judge(
            load.cx7(read(case.log, root)),
            load.expected(case.expect),
            load.bandwidth(case.bandwidth),
            already_rebooted=case.already_rebooted,
        )
        found[case.id] = {"__cx7_judged": {"health": health.as_dict()}}
    return found


def said(judged: dict[str, Any], bad: list[str], **nodes: str) -> list[str]:
    """The lines of the message about these nodes, each in its case."""
    (task,) = load_tasks(CHECKOUT / "roles" / "cx7" / "tasks" / "require.yml")
    variables = {
        "ansible_play_hosts": list(nodes),
        "hostvars": {host: judged[case] for host, case in nodes.items()},
        "__cx7_bad": bad,
    }
    return str(render(task["vars"]["__cx7_problems"], variables, "cx7") or "").splitlines()


def test_a_fault_here_and_a_late_cable_there_are_both_said(judged: dict[str, Any]) -> None:
    lines = said(judged, REFUSED, spark1=LATE, spark2=SLOW_PCIE, spark3=HEALTHY)
    assert [line.split(". ")[0] for line in lines[:4]] == [
        "spark1, cage p0, root A (enp1s0f0np0): needs_reboot",
        "spark1, cage p0, root B (enP2p1s0f0np0): needs_reboot",
        "spark2, cage p0, root A (enp1s0f0np0): fault",
        "spark2: Shut down, take the power brick out for a minute, start again; then update the system firmware.",
    ]
    assert lines[4].startswith(WAITS)
    assert len(lines) == 5


def test_a_port_with_a_fault_that_is_throttled_too(judged: dict[str, Any]) -> None:
    lines = said(judged, REFUSED, spark1=BOTH)
    places = dict.fromkeys(line.split(". ")[0] for line in lines if line.startswith("spark1, "))
    assert [place.removeprefix("spark1, cage p0, ") for place in places] == [
        "root A (enp1s0f0np0): needs_reboot",
        "root B (enP2p1s0f0np0): fault",
        "root B (enP2p1s0f0np0): needs_reboot",
    ]
    assert lines[-1].startswith(WAITS)


@pytest.mark.parametrize("case", [LATE, HEALTHY])
def test_what_a_reboot_helps_is_no_refusal(case: str, judged: dict[str, Any]) -> None:
    assert said(judged, REFUSED, spark1=case, spark2=HEALTHY) == []


def test_a_fault_alone_says_nothing_of_a_reboot(judged: dict[str, Any]) -> None:
    lines = said(judged, REFUSED, spark1=SLOW_PCIE, spark2=HEALTHY)
    assert [line.partition(":")[0] for line in lines] == ["spark1, cage p0, root A (enp1s0f0np0)", "spark1"]


def test_what_is_left_after_a_reboot(judged: dict[str, Any]) -> None:
    """One node had its reboot for this, another wants one for the first time: nothing waits any more."""
    lines = said(judged, [*REFUSED, "needs_reboot"], spark1=STUCK, spark2=LATE)
    assert [line for line in lines if line.startswith("spark1: was rebooted automatically for this")]
    assert [line for line in lines if line.startswith("spark2, cage p0, root A (enp1s0f0np0): needs_reboot.")]
    assert [line for line in lines if line.startswith("spark2: Reboot all nodes of the fabric")]
    assert not [line for line in lines if line.startswith(WAITS)]
