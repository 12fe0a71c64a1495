# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""apt's simulation: how it is read, and whether what it leaves fits together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._driver import simulate
from ansible_collections.switchless.spark.plugins.module_utils._driver.look import look
from ansible_collections.switchless.spark.plugins.module_utils._driver.verdicts import Pin
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Result
from tests.unit.boot.boot_world import BAD, NEW
from tests.unit.driver.driver_world import (
    FULL,
    HEALTHY,
    KERNEL,
    LATER,
    LATER_KERNEL,
    MODULES,
    MODULES_META,
    OTHERS,
    PREAMBLE,
    UPGRADE,
    Spark,
    boot,
    moves,
    spark,
    with_packages,
)

# P34. The names and versions are the fixture's.
NEXT, NEXT_VERSION, BAD_VERSION = "7.0.0-1020-nvidia", "7.0.0-1020.20", "7.0.0-1019.19"
IMAGE = f"Inst linux-image-{NEXT} ({NEXT_VERSION} example [arm64])"
IMAGE_META = f"Inst linux-image-nvidia-hwe-24.04 [{BAD_VERSION}] ({NEXT_VERSION} example [arm64])"
MODULE = f"Inst linux-modules-nvidia-580-open-{NEXT} ({NEXT_VERSION} example [arm64])"
MODULE_META = f"Inst {MODULES_META} [{BAD_VERSION}] ({NEXT_VERSION} example [arm64])"
REMOVE_MODULE = f"Remv linux-modules-nvidia-580-open-{BAD} [{BAD_VERSION}]"
REMOVE_META = f"Remv {MODULES_META} [{BAD_VERSION}]"
DRIVER_MOVES = f"Inst nvidia-driver-580-open [{FULL}] ({LATER} example [arm64])"
MODULE_590 = f"Inst linux-modules-nvidia-590-open-{NEXT} ({NEXT_VERSION} example [arm64])"
CLOSED = f"Inst linux-modules-nvidia-580-{NEXT} ({NEXT_VERSION} example [arm64])"
UPDATES = "580.159.03-0ubuntu0.24.04.1 Ubuntu:24.04/noble-updates, Ubuntu:24.04/noble-security"
AMD64 = f"""Inst libnvidia-common-580 ({UPDATES} [all])
Inst libnvidia-compute-580 ({UPDATES} [amd64]) [nvidia-compute-utils-535:amd64 ]
Inst libnvidia-compute-580:i386 ({UPDATES} [i386])
"""
ON_BAD = {name.replace(NEW, BAD): version for name, version in (HEALTHY | OTHERS).items()}


def node(*lines: str, **changes: Any) -> Spark:
    """A Spark on kernel 7.0.0-1019 that nothing holds, with a plan."""
    return spark(
        packages=ON_BAD,
        status=dict.fromkeys(ON_BAD, "hi"),
        boot=boot(running=BAD, kernels=(BAD,)),
        plan=moves(*lines),
        **changes,
    )


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        pytest.param([IMAGE, MODULE, IMAGE_META, MODULE_META, REMOVE_MODULE], None, id="good"),
        pytest.param([IMAGE, DRIVER_MOVES, REMOVE_META], "leaves nothing", id="bad A: the modules go"),
        pytest.param([IMAGE, IMAGE_META], "no linux-modules-nvidia comes", id="bad B: no modules for the kernel"),
        pytest.param([IMAGE, MODULE_590, REMOVE_MODULE], "of branch 590, not 580", id="bad C: another branch"),
        pytest.param([IMAGE, CLOSED], "of the other flavour", id="the other flavour"),
        pytest.param([REMOVE_MODULE], "no other kernel comes", id="the next kernel loses its modules"),
        pytest.param([DRIVER_MOVES], "the modules stay at 580.173.02", id="libraries without modules"),
        pytest.param([f"Remv nvidia-driver-580-open [{FULL}]"], "leaves nothing", id="the driver goes"),
        pytest.param(
            [DRIVER_MOVES, f"Inst {MODULES.replace(NEW, BAD)} [{KERNEL}] (7.0.0-1019.19+1 x [arm64])"],
            None,
            id="P18 the same kernel with the modules of the later driver",
        ),
        pytest.param(
            ["Inst nvidia-modprobe [580.95.05-1] (610.43.02-1ubuntu1 NVIDIA CUDA:localhost [arm64])"],
            "of branch 610",
            id="D5 a tool of another branch",
        ),
    ],
)
def test_what_a_plan_leaves(ask: Any, lines: list[str], problem: str | None) -> None:
    refused = ask(node(*lines))
    assert refused["verdict"] == "blocked"  # any of them moves what is pinned
    assert refused["reasons"][0]["code"] == "would_move"
    allowed = ask(node(*lines), allow_change=True)
    found = [reason for reason in allowed["reasons"] if reason["verdict"] != "ok"]
    if problem is None:
        assert (allowed["verdict"], found) == ("ok", [])
    else:
        assert [reason["code"] for reason in found] == ["would_not_fit"]
        assert any(problem in line for line in found[0]["evidence"])


def test_modules_of_dkms_follow_by_themselves(ask: Any) -> None:
    built = {("filename", "nvidia"): f"/lib/modules/{BAD}/updates/dkms/nvidia.ko.zst"}
    assert ask(node(IMAGE, IMAGE_META, modules=built), allow_change=True)["verdict"] == "ok"


def test_amd64_from_535(ask: Any) -> None:
    """Two origins, a list of broken packages behind the brackets, a second architecture: and no modules come."""
    plan = simulate.parse(Result(0, PREAMBLE + AMD64 + "0 upgraded, 3 newly installed, 0 to remove.\n"))
    assert [move.name for move in plan.moves] == ["libnvidia-common-580", "libnvidia-compute-580"]
    assert {move.origin for move in plan.moves} == {"Ubuntu:24.04/noble-updates, Ubuntu:24.04/noble-security"}
    assert (plan.unread, plan.complete) == ((), True)
    upgraded = node(*AMD64.splitlines())
    (problem,) = ask(upgraded, allow_change=True)["reasons"][0]["evidence"]
    assert problem.startswith("install libnvidia-common-580 580.159.03-0ubuntu0.24.04.1 from Ubuntu:24.04/noble-upd")
    assert problem.endswith(": the modules stay at 580.173.02")


def test_the_refusal_names_package_and_version(ask: Any) -> None:
    reason = ask(node(IMAGE, DRIVER_MOVES))["reasons"][0]
    assert reason["text"] == (
        f"an upgrade would install linux-image-{NEXT} {NEXT_VERSION} from example, upgrade nvidia-driver-580-open "
        f"{FULL} -> {LATER} from example; expected: no move of the driver's packages or of a kernel; hold them before "
        "anything is installed or upgraded; nvidia_driver_allow_change: true lets them move"
    )


def test_what_may_move(ask: Any) -> None:
    """The container toolkit comes from NVIDIA's repository too, and is none of the driver."""
    upgrade = ask(spark(plan=UPGRADE))["upgrade"]
    assert (upgrade["moves"], upgrade["others"]) == ([], 2)


def test_a_downgrade_is_told_apart() -> None:
    line = f"Inst nvidia-driver-580-open [{LATER}] ({FULL} Ubuntu:24.04/noble-updates [arm64])\n"
    (move,) = simulate.parse(Result(0, line)).moves
    assert move.as_dict() == {
        "name": "nvidia-driver-580-open",
        "action": "downgrade",
        "old": LATER,
        "new": FULL,
        "origin": "Ubuntu:24.04/noble-updates",
        "kind": "driver",
        "text": f"downgrade nvidia-driver-580-open {LATER} -> {FULL} from Ubuntu:24.04/noble-updates",
    }


def test_lists_of_names_go_over_lines() -> None:
    """P29: the counter says 0 although three are kept back. The list ends where the indent does."""
    text = (
        "The following packages have been kept back:\n  linux-generic linux-headers-generic\n  linux-image-generic\n"
        "The following upgrades have been deferred due to phasing:\n  dnsmasq-base\n"
        "The following packages will be upgraded:\n  bash\n"
        "0 upgraded, 0 newly installed, 0 to remove and 0 not upgraded.\n"
    )
    plan = simulate.parse(Result(0, text))
    assert plan.kept_back == ("linux-generic", "linux-headers-generic", "linux-image-generic")
    assert plan.deferred == ("dnsmasq-base",)
    assert plan.complete


@pytest.mark.parametrize(("deferred", "times"), [("dnsmasq-base", 1), ("", 0)])
def test_the_phased_plan_is_asked_for_when_something_waits(tmp_path: Path, deferred: str, times: int) -> None:
    waits = spark(plan=moves(deferred=deferred))
    waits.build(tmp_path)
    look(Tree(str(tmp_path)), waits, Pin("580.173.02"))
    assert waits.asked.count(simulate.WITH_PHASED) == times


def test_held_packages_of_the_kernel_7(ask: Any) -> None:
    """P33: kernel and modules come together. With the modules the plan fits, and still is not wanted."""
    lines = (
        f"Inst linux-image-{BAD} ({LATER_KERNEL} Ubuntu:24.04/noble-updates [arm64])",
        f"Inst linux-modules-nvidia-580-open-{BAD} ({LATER_KERNEL} Ubuntu:24.04/noble-updates [arm64])",
    )
    held = spark(packages=with_packages(), plan=moves(*lines))
    assert ask(held)["reasons"][0]["code"] == "would_move"
    assert ask(held, allow_change=True)["verdict"] == "ok"
