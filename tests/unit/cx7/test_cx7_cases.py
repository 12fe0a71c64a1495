# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every public report and its look-alikes, through the whole chain: files and log → cx7_info → JSON → verdict."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._cx7 import load
from ansible_collections.switchless.spark.plugins.module_utils._cx7.health import judge
from ansible_collections.switchless.spark.plugins.module_utils._cx7.node import Sources, look
from ansible_collections.switchless.spark.plugins.module_utils._cx7.remedies import REMEDIES
from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from tests.unit.cx7.spark_case import Case
from tests.unit.cx7.spark_cases import CASES
from tests.unit.cx7.spark_tree import PORTS, Script


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each case shows, read once; nodes that show the same are built once."""
    built: dict[str, Path] = {}
    without_gids: dict[str, dict[int, Any]] = {port: {} for port in PORTS}
    for case in CASES:
        if repr(case.shown) not in built:
            built[repr(case.shown)] = tmp_path_factory.mktemp("node")
            replace(case.shown, gids=without_gids).build(built[repr(case.shown)])
    return {case.id: read(case.log, built[repr(case.shown)]) for case in CASES}


def read(log: str, root: Path) -> Any:
    sources = Sources(
        sys=Tree(str(root / "sys")),
        proc=Tree(str(root / "proc")),
        host=Tree(str(root)),
        runner=Script(),
        kernel_log=log,
    )
    return json.loads(json.dumps(look(sources).as_dict()))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_verdict(case: Case, seen: dict[str, Any]) -> None:
    health = judge(
        load.cx7(seen[case.id]),
        load.expected(case.expect),
        load.bandwidth(case.bandwidth),
        already_rebooted=case.already_rebooted,
    )
    result = {"node": health.verdict}
    notes = {}
    for item in health.functions:
        port = f"{item.cage} {item.root}"
        result[port] = f"{item.verdict} {item.reasons[0].code}" if item.reasons else item.verdict
        notes[port] = " ".join(note.code for note in item.notes)
    assert {key: result[key] for key in case.expected} == dict(case.expected)
    assert {key: notes[key] for key in case.notes} == dict(case.notes)
    if case.measure:
        assert ", ".join(f"{item['cage']} {item['root']}" for item in health.needs_measurement) == case.measure
    assert health.reboot == any(text.startswith("needs_reboot") for port, text in result.items() if port != "node")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_is_said(case: Case, seen: dict[str, Any]) -> None:
    """Every bad verdict comes with what was seen and what to do."""
    health = judge(load.cx7(seen[case.id]), load.expected(case.expect), load.bandwidth(case.bandwidth))
    for item in health.functions:
        for reason in item.reasons:
            assert reason.text
            assert reason.code in REMEDIES
            assert reason.remedy or reason.verdict == "no_cable"
    assert bool(health.remedy) == (health.verdict not in ("ok", "no_cable"))
    assert len(health.summary) == (len(case.expect) or 4)


def test_every_code_has_a_case() -> None:
    """power_drain is a remedy only; networkmanager is judged in the tests of the module."""
    told = {text.split()[1] for case in CASES for text in case.expected.values() if " " in text}
    assert set(REMEDIES) - told == {"power_drain", "networkmanager", "rdma_missing"}


def test_ids_are_unique() -> None:
    assert len({case.id for case in CASES}) == len(CASES)
