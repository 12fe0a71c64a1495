# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two nodes after the same command: same driver or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.switchless.spark.plugins.filter.nvidia_driver_differences import nvidia_driver_differences
from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._driver.judge import judge
from ansible_collections.switchless.spark.plugins.module_utils._driver.look import look
from ansible_collections.switchless.spark.plugins.module_utils._driver.nodes import differences
from ansible_collections.switchless.spark.plugins.module_utils._driver.verdicts import Pin
from tests.unit.boot.boot_world import BAD, DRIVER, LATER_DRIVER, NEW
from tests.unit.driver.driver_world import MODULES, MODULES_META, Spark, boot, moves, nvrm, spark, with_packages


def shown(root: Path, **nodes: Spark) -> dict[str, Any]:
    pin = Pin(DRIVER)
    found = {}
    for host, node in nodes.items():
        node.build(root / host)
        found[host] = judge(look(Tree(str(root / host)), node, pin), pin)
    return found


def found(root: Path, **nodes: Spark) -> list[tuple[str, str]]:
    return [(reason.code, reason.verdict) for reason in differences(shown(root, **nodes))]


def test_alike(tmp_path: Path) -> None:
    assert found(tmp_path, spark1=spark(), spark2=spark()) == []


def test_one_build_of_the_modules_more(tmp_path: Path) -> None:
    """P18: the same kernel name, and the modules of another driver in it."""
    other = spark(packages=with_packages(**{MODULES: "6.17.0-1032.32+1"}))
    (reason,) = differences(shown(tmp_path, spark1=spark(), spark2=other))
    assert (reason.code, reason.verdict) == ("packages_differ", "config")
    assert reason.evidence == (f"spark1: {MODULES} 6.17.0-1032.32", f"spark2: {MODULES} 6.17.0-1032.32+1")


def test_a_phase_on_one_node_only(tmp_path: Path) -> None:
    """P16 and P28: here the modules wait, there they come."""
    waits = spark(plan=moves(deferred=f"dnsmasq-base {MODULES_META}"), status={MODULES_META: "ii"})
    (reason,) = differences(shown(tmp_path, spark1=spark(), spark2=waits))
    assert (reason.code, reason.verdict) == ("phase_differs", "blocked")
    assert reason.evidence == (f"{MODULES_META} waits on spark2",)


def test_what_is_held_waits_for_no_phase(tmp_path: Path) -> None:
    waits = spark(plan=moves(deferred=MODULES_META))
    assert found(tmp_path, spark1=spark(), spark2=waits) == []


def test_a_phase_everywhere_or_of_no_matter(tmp_path: Path) -> None:
    waits = spark(plan=moves(deferred=MODULES_META), status={MODULES_META: "ii"})
    assert found(tmp_path / "1", spark1=waits, spark2=waits) == []
    assert found(tmp_path / "2", spark1=spark(), spark2=spark(plan=moves(deferred="dnsmasq-base"))) == []


def test_another_driver_and_kernel(tmp_path: Path) -> None:
    other = spark(proc=nvrm(LATER_DRIVER), boot=boot(running=BAD, kernels=(BAD,)))
    reasons = differences(shown(tmp_path, spark1=spark(), spark2=other))
    assert [reason.code for reason in reasons] == ["loaded_differs", "kernels_differ"]
    assert reasons[0].seen.endswith(f"{DRIVER} (open) on spark1, {LATER_DRIVER} (open) on spark2")
    assert reasons[1].seen.endswith(f"{NEW} on spark1, {BAD} on spark2")


def test_the_filter_gives_dictionaries(tmp_path: Path) -> None:
    other = spark(packages=with_packages(**{MODULES: "6.17.0-1032.32+1"}))
    (reason,) = nvidia_driver_differences(shown(tmp_path, spark1=spark(), spark2=other))
    assert (reason["code"], reason["evidence"][0]) == ("packages_differ", f"spark1: {MODULES} 6.17.0-1032.32")
    with pytest.raises(AnsibleFilterError, match="expected a dictionary of hosts"):
        nvidia_driver_differences({"spark1": {"verdict": "ok"}})


def test_no_apt_is_no_crash(tmp_path: Path) -> None:
    assert found(tmp_path, spark1=spark(), spark2=spark(answers={("apt-get",): None})) == []
