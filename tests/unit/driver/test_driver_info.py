# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nvidia_driver_info returns, and how it explains itself."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Result
from tests.unit.boot.boot_world import DRIVER, LATER_DRIVER, NEW
from tests.unit.driver.driver_cases import BLOCKED, CONFIG, FAULT, TWO_SOURCES
from tests.unit.driver.driver_world import (
    ALL_LATER,
    CUDA,
    DRIVER_NAMES,
    FULL,
    GUARDED,
    LATER,
    MODULES,
    PORTS,
    TOOL,
    Spark,
    boot,
    spark,
)


def codes(seen: dict[str, Any], verdict: str) -> list[str]:
    return [reason["code"] for reason in seen["reasons"] if reason["verdict"] == verdict]


def test_what_it_returns(ask: Any) -> None:
    seen = ask(spark())
    assert seen["schema"] == 1
    assert seen["pin"] == {"version": DRIVER, "flavour": "open", "kernel": NEW}
    assert seen["loaded"] == {"version": DRIVER, "flavour": "open", "source": "prebuilt"}
    assert (seen["installed"], seen["candidate"]) == (DRIVER, FULL)
    assert (seen["running_kernel"], seen["next_kernel"], seen["pending_kernel"]) == (NEW, NEW, None)
    assert seen["next_driver"] == {"present": True, "version": DRIVER, "source": "prebuilt"}
    assert [row["name"] for row in seen["packages"]] == sorted(GUARDED)
    (row,) = (row for row in seen["packages"] if row["name"] == MODULES)
    assert row == {
        "name": MODULES,
        "kind": "modules",
        "flavour": "open",
        "kernel": NEW,
        "installed": "6.17.0-1032.32",
        "driver_version": None,
        "candidate": "6.17.0-1032.32",
        "held": True,
        "pinned": False,
        "auto": False,
        "status": "hi",
        "origins": ["Ubuntu noble-updates"],
    }
    assert (seen["interrupted"], seen["dkms"], seen["history"]) == ([], [], [])


def test_nothing_there_is_null(ask: Any) -> None:
    nothing = {(name,): None for name in ("apt-get", "apt-cache", "apt-mark", "apt-config", "dpkg-query", "dkms")}
    seen = ask(spark(answers=nothing, proc=None, boot=boot(loaded=None, drivers={}, kernels=(), cfg=None)))
    assert seen["verdict"] == BLOCKED
    for name in (
        "installed",
        "candidate",
        "next_kernel",
        "next_driver",
        "upgrade",
        "upgrade_with_phased",
        "dkms",
        "smi",
    ):
        assert seen[name] is None
    assert (seen["packages"], seen["loaded"]) == ([], {"version": None, "flavour": None, "source": None})


def test_nvidia_smi_would_load_the_driver(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Spark, argv: Any, *, data: str | None = None) -> Result:
        assert argv[0] != "timeout"
        return answer(self, argv, data=data)

    answer = Spark.run
    monkeypatch.setattr(Spark, "run", refuse)
    assert ask(spark(proc=None, boot=boot(loaded=None)))["smi"] is None


def test_a_version_that_is_none(ask: Any) -> None:
    assert ask(spark(), version="latest") == ("version is 'latest'; expected: a driver's version such as 580.173.02")


def test_check_mode_is_the_same(ask: Any) -> None:
    assert ask(spark(), _ansible_check_mode=True) == ask(spark())


def test_why_a_reboot_waits(ask: Any) -> None:
    """Apt's own history says who moved it."""
    log = (
        "Start-Date: 2026-05-08  12:57:16\nCommandline: apt upgrade -y\n"
        f"Upgrade: nvidia-driver-580-open:arm64 ({FULL}, {LATER})\nEnd-Date: 2026-05-08  12:58:01\n"
    )
    moved = boot(drivers={NEW: LATER_DRIVER}, files={"var/log/apt/history.log": log})
    seen = ask(spark(packages=ALL_LATER, boot=moved), version=LATER_DRIVER)
    (reason,) = (reason for reason in seen["reasons"] if reason["code"] == "loaded_is_another")
    assert reason["evidence"] == [
        "2026-05-08 12:57:16 apt upgrade -y",
        f"upgrade nvidia-driver-580-open {FULL} -> {LATER}",
    ]


def test_a_newer_pin_has_to_be_there_for_the_whole_family(ask: Any) -> None:
    offered = {name: [(LATER, 500, PORTS)] for name in DRIVER_NAMES}
    (reason,) = ask(spark(offers=offered), version=LATER_DRIVER)["reasons"]
    assert reason["code"] == "not_the_pin"
    assert "can be had" in reason["remedy"]
    assert f"libnvidia-compute-580 {LATER} from Ubuntu noble-updates" in reason["evidence"]
    del offered["nvidia-utils-580"]
    (reason,) = ask(spark(offers=offered), version=LATER_DRIVER)["reasons"]
    assert "no repository has it for nvidia-utils-580" in reason["remedy"]


def test_a_pin_of_another_branch_is_looked_up_by_its_names(ask: Any) -> None:
    names = [name.replace("580", "590") for name in DRIVER_NAMES]
    offered = {name: [("590.48.01-1ubuntu1", 500, CUDA)] for name in names}
    (reason,) = ask(spark(offers=offered), version="590.48.01")["reasons"]
    assert reason["seen"] == f"another branch of the driver is installed, {DRIVER}"
    assert "can be had" in reason["remedy"]


def test_the_first_reason_is_the_worst(ask: Any) -> None:
    seen = ask(spark(status={TOOL: "ii", "bash": "iU"}, log=TWO_SOURCES, auto=[TOOL]))
    assert seen["verdict"] == FAULT
    assert codes(seen, FAULT) == ["two_sources"]
    assert codes(seen, BLOCKED) == ["dpkg_interrupted"]
    assert codes(seen, CONFIG) == ["not_held", "marked_automatic"]
