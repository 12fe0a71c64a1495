# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence that is taken away never makes a node fit, and nothing that a program says breaks the module."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._driver.judge import judge
from ansible_collections.switchless.spark.plugins.module_utils._driver.look import look
from ansible_collections.switchless.spark.plugins.module_utils._driver.verdicts import SEVERITY, Pin
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Result
from tests.unit.driver.driver_cases import CASES
from tests.unit.driver.driver_world import Spark, spark

COMMANDS = (
    "apt-cache",
    "apt-config",
    "apt-get",
    "apt-mark",
    "dkms",
    "dpkg-query",
    "journalctl",
    "modinfo",
    "systemd-detect-virt",
    "timeout",  # with it nvidia-smi
    "uname",
)
FILES = ("proc/driver/nvidia/version", "sys/module/nvidia/version", "boot/grub/grub.cfg", "boot/grub/grubenv")
WRONG = [(node, pin) for _name, node, pin, verdict, _codes in CASES if verdict != "ok"]
PIN = Pin("580.173.02")


def judged(node: Spark, pin: Pin = PIN, without: frozenset[str] = frozenset(), **answers: Result) -> dict[str, Any]:
    gone: dict[tuple[str, ...], Result | None] = {(name,): None for name in without}
    said = {(name.replace("_", "-"),): answer for name, answer in answers.items()}
    node = replace(node, answers=gone | said | dict(node.answers), asked=[])
    with tempfile.TemporaryDirectory() as folder:
        node.build(Path(folder))
        for name in without & set(FILES):
            Path(folder, name).unlink(missing_ok=True)
        return judge(look(Tree(folder), node, pin), pin)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(WRONG), st.frozensets(st.sampled_from(COMMANDS + FILES), max_size=5))
def test_missing_evidence_makes_nothing_ok(case: tuple[Spark, dict[str, Any]], without: frozenset[str]) -> None:
    node, arguments = case
    assert judged(node, Pin(**({"version": "580.173.02"} | arguments)), without)["verdict"] != "ok"


@pytest.mark.parametrize("name", ["apt-cache", "apt-config", "apt-get", "apt-mark", "dpkg-query", "modinfo", "timeout"])
def test_what_matters_is_missed(name: str) -> None:
    seen = judged(spark(), without=frozenset({name}))
    assert seen["verdict"] == "unknown"
    assert seen["reasons"][0]["seen"]


@pytest.mark.parametrize("name", ["dkms", "journalctl"])
def test_what_only_explains_is_not_missed(name: str) -> None:
    assert judged(spark(), without=frozenset({name}))["verdict"] == "ok"


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(COMMANDS), st.text(max_size=80), st.sampled_from((0, 1, 100, 124)))
def test_garbage_is_no_crash(name: str, text: str, rc: int) -> None:
    node = replace(spark(), answers={(name,): Result(rc, text)})
    seen = judged(node)
    assert seen["verdict"] in SEVERITY
    if name in ("apt-get", "dpkg-query", "timeout"):
        assert seen["verdict"] != "ok"


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(CASES), st.booleans())
def test_same_node_same_answer(case: tuple[Any, ...], allow: bool) -> None:
    _name, node, arguments, _verdict, _codes = case
    pin = Pin(**({"version": "580.173.02", "allow_change": allow} | arguments))
    one, other = judged(node, pin), judged(node, pin)
    assert one == other
    assert [reason["verdict"] for reason in one["reasons"]] == sorted(
        (reason["verdict"] for reason in one["reasons"]), key=SEVERITY.index
    )
