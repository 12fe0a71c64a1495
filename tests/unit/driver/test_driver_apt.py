# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same verdicts from what apt and dpkg themselves say, of repositories and a system that are a few files."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._driver.judge import judge
from ansible_collections.switchless.spark.plugins.module_utils._driver.look import look
from ansible_collections.switchless.spark.plugins.module_utils._driver.verdicts import Pin
from tests.unit.boot.boot_world import BAD
from tests.unit.driver.apt_world import Apt
from tests.unit.driver.driver_world import BLACKLIST, DRIVER_NAMES, FULL, GUARDED, KERNEL_NAMES, LATER_KERNEL, TOOL

pytestmark = pytest.mark.skipif(shutil.which("apt-get") is None, reason="apt itself is asked")
STACK = f"Package: {' '.join((*DRIVER_NAMES, TOOL))}\nPin: version 580.*\nPin-Priority: 1001\n"
KERNELS = f"Package: {' '.join(KERNEL_NAMES)}\nPin: version 6.17.0-1032.32\nPin-Priority: 1001\n"
PART = f"Package: nvidia-driver-580-open libnvidia-compute-580\nPin: version {FULL}\nPin-Priority: 1001\n"


def judged(root: Path, **system: Any) -> dict[str, Any]:
    apt = Apt(root, **system)
    apt.build()
    pin = Pin("580.173.02")
    return judge(look(Tree(str(root)), apt, pin), pin)


def codes(seen: dict[str, Any]) -> list[str]:
    return [reason["code"] for reason in seen["reasons"]]


def test_nothing_holds(tmp_path: Path) -> None:
    """A stock Spark after `apt update`: the kernel, the driver and nvidia-modprobe 610 would all come."""
    seen = judged(tmp_path)
    assert (seen["verdict"], codes(seen)) == ("blocked", ["would_move", "not_held"])
    moved = {move["name"]: move["new"] for move in seen["upgrade"]["moves"]}
    assert moved[TOOL] == "610.43.02-1ubuntu1"
    assert moved["nvidia-driver-580-open"] == "590.48.01-1ubuntu1"
    assert moved[f"linux-image-{BAD}"] == LATER_KERNEL
    assert seen["candidate"] == "590.48.01-1ubuntu1"


def test_all_held(tmp_path: Path) -> None:
    """Nothing pinned moves, and the rest is upgraded all the same."""
    seen = judged(tmp_path, held=GUARDED)
    assert (seen["verdict"], codes(seen)) == ("ok", ["as_pinned", "kept_back"])
    assert (seen["upgrade"]["moves"], seen["upgrade"]["others"]) == ([], 2)
    (driver,) = (row for row in seen["packages"] if row["name"] == "nvidia-driver-580-open")
    assert driver | {"auto": False, "status": "hi", "held": True} == driver
    assert (driver["installed"], driver["candidate"]) == (FULL, "590.48.01-1ubuntu1")
    assert driver["origins"] == ["Ubuntu noble-updates"]
    assert seen["unattended_upgrades"] == {"enabled": True, "patterns": BLACKLIST}


def test_preferences_keep_all(tmp_path: Path) -> None:
    exact = STACK.replace("580.*", FULL).replace(f" {TOOL}\n", "\n")
    tool = f"\nPackage: {TOOL}\nPin: version 580.*\nPin-Priority: 1001\n"
    seen = judged(tmp_path, preferences=f"{exact}{tool}\n{KERNELS}")
    assert (seen["verdict"], codes(seen)) == ("ok", ["as_pinned"])
    assert {row["pinned"] for row in seen["packages"]} == {True}


def test_a_pin_on_a_part_lets_apt_remove_the_driver(tmp_path: Path) -> None:
    """The rest of the family moves on, so apt takes away what must stay behind."""
    seen = judged(tmp_path, preferences=f"{PART}\n{KERNELS}")
    (move,) = (move for move in seen["upgrade"]["moves"] if move["name"] == "nvidia-driver-580-open")
    assert (move["action"], seen["verdict"]) == ("remove", "blocked")


def test_interrupted(tmp_path: Path) -> None:
    seen = judged(tmp_path, held=GUARDED, states={"nvidia-kernel-common-580": "half-configured"})
    assert (seen["verdict"], codes(seen)[0]) == ("blocked", "dpkg_interrupted")
    assert seen["interrupted"] == ["nvidia-kernel-common-580"]


def test_marked_automatic(tmp_path: Path) -> None:
    seen = judged(tmp_path, held=GUARDED, auto=DRIVER_NAMES)
    assert (seen["verdict"], codes(seen)[0]) == ("config", "marked_automatic")


def test_a_repository_is_gone(tmp_path: Path) -> None:
    apt = Apt(tmp_path, held=GUARDED)
    apt.build()
    apt.write("etc/apt/sources.list", "")
    pin = Pin("580.173.02")
    seen = judge(look(Tree(str(tmp_path)), apt, pin), pin)
    assert (seen["verdict"], codes(seen)) == ("unknown", ["no_repository"])
