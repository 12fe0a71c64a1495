# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What apt would do, and what is refused. Texts are those of apt 2.6; versions are those of shared reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._cuda.apt import GIB, Asked, Disk, Seen, judge, sizes
from ansible_collections.switchless.spark.plugins.module_utils._driver.simulate import parse
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import COMMAND_NOT_FOUND, Result

HEAD = "Reading package lists...\nBuilding dependency tree...\nReading state information...\n"
TOOLKIT = "Inst cuda-toolkit-13-3 (13.3.0-1 NVIDIA CUDA:localhost [arm64])"
CUDART = "Inst cuda-cudart-13-3 (13.3.29-1 NVIDIA CUDA:localhost [arm64])"
DRIVER = "Inst nvidia-driver-610-open (610.43.02-1ubuntu1 NVIDIA CUDA:localhost [arm64])"
MODPROBE = "Inst nvidia-modprobe [580.95.05-1] (610.43.02-1ubuntu1 NVIDIA CUDA:localhost [arm64])"
KERNEL = "Inst linux-image-7.0.0-1019-nvidia (7.0.0-1019.19~24.04.2 Ubuntu:24.04/noble-updates [arm64])"
NCCL = "Inst libnccl2 [2.28.9-1+cuda13.0] (2.30.7-1+cuda13.3 NVIDIA CUDA:localhost [arm64])"
REMOVE = "Remv nvidia-cuda-toolkit [12.0.140~12.0.1-4build4]"
LOST = "E: Unable to locate package cuda-toolkit-13-9"
NO_VERSION = "E: Version '99' for 'cuda-toolkit-13-3' was not found"
NO_CANDIDATE = "E: Package 'cuda-toolkit-13-3' has no installation candidate"
PATTERN = "Note, selecting 'cuda-toolkit-13-3' for regex 'cuda.toolkit'"
UNMET = "E: Unable to correct problems, you have held broken packages."


def plan(*lines: str) -> str:
    said = f"{HEAD}0 upgraded, {len(lines)} newly installed, 0 to remove and 3 not upgraded.\n"
    return said + "".join(f"{line}\n" for line in lines)


@dataclass
class Apt:
    """apt-get and apt-cache. Without an answer there is none."""

    answer: Result | None
    known: bool = True
    size: int = 4096
    asked: list[tuple[str, ...]] = field(default_factory=list)

    def run(self, argv: Sequence[str], *, data: str | None = None) -> Result:
        assert data is None
        self.asked.append(tuple(argv))
        if argv[0] == "apt-get":
            return self.answer or Result(COMMAND_NOT_FOUND)
        assert tuple(argv[:2]) == ("apt-cache", "show")
        if not self.known:
            return Result(100, "", "E: No packages found")
        return Result(0, "\n".join(self.show(*name.split("=")) for name in argv[2:]))

    def show(self, name: str, version: str) -> str:
        text = "Description-en: CUDA\n Size: 1\n two lines\n"
        return f"Package: {name}\nVersion: {version}\nInstalled-Size: {self.size}\nSize: 2048\n{text}"


@pytest.mark.parametrize(
    ("lines", "verdict", "codes", "guarded"),
    [
        pytest.param([TOOLKIT, CUDART], "ok", [], [], id="a toolkit alone"),
        pytest.param([TOOLKIT, NCCL], "ok", [], [], id="P27 NCCL is not the driver"),
        pytest.param([], "ok", [], [], id="all there"),
        pytest.param([TOOLKIT, DRIVER], "blocked", ["would_move"], ["nvidia-driver-610-open"], id="a metapackage"),
        pytest.param([TOOLKIT, MODPROBE], "blocked", ["would_move"], ["nvidia-modprobe"], id="D5"),
        pytest.param([KERNEL], "blocked", ["would_move"], ["linux-image-7.0.0-1019-nvidia"], id="P26 a kernel"),
        pytest.param([TOOLKIT, REMOVE], "blocked", ["would_remove"], [], id="something else goes"),
        pytest.param(["Inst cuda-toolkit-13-3 13.3.0"], "unknown", ["plan_unreadable"], [], id="not understood"),
    ],
)
def test_plan(simulate: Any, lines: list[str], verdict: str, codes: list[str], guarded: list[str]) -> None:
    seen = simulate(Apt(Result(0, plan(*lines))), packages=["cuda-toolkit-13-3"])
    assert (seen["verdict"], [reason["code"] for reason in seen["reasons"]]) == (verdict, codes)
    assert seen["refused"] is (verdict != "ok")
    assert [move["name"] for move in seen["guarded"]] == guarded


def test_the_refusal_names_package_and_version(simulate: Any) -> None:
    seen = simulate(Apt(Result(0, plan(TOOLKIT, MODPROBE))), packages=["cuda-13-3"])
    (reason,) = seen["reasons"]
    assert "upgrade nvidia-modprobe 580.95.05-1 -> 610.43.02-1ubuntu1 from NVIDIA CUDA" in reason["text"]
    assert seen["guarded"][0]["kind"] == "tool"
    assert seen["installs"] == ["cuda-toolkit-13-3"]


@pytest.mark.parametrize(
    ("line", "unknown"),
    [
        (LOST, ["cuda-toolkit-13-9"]),
        (NO_VERSION, ["cuda-toolkit-13-3=99"]),
        (NO_CANDIDATE, ["cuda-toolkit-13-3"]),
        (PATTERN, ["cuda.toolkit"]),
    ],
)
def test_names_that_apt_does_not_know(simulate: Any, line: str, unknown: list[str]) -> None:
    answer = Result(0, plan(line, TOOLKIT)) if line == PATTERN else Result(100, HEAD, f"{line}\n")
    seen = simulate(Apt(answer), packages=["cuda-toolkit-13-3"])
    assert (seen["verdict"], seen["unknown"]) == ("blocked", unknown)
    assert unknown[0] in seen["reasons"][0]["text"]


def test_apt_finds_no_way(simulate: Any) -> None:
    seen = simulate(Apt(Result(100, HEAD, f"{UNMET}\n")), packages=["cuda-toolkit-13-3"])
    assert (seen["verdict"], seen["errors"], seen["rc"]) == ("blocked", [UNMET], 100)
    assert [reason["code"] for reason in seen["reasons"]] == ["apt_refuses"]


def test_no_apt(simulate: Any) -> None:
    seen = simulate(Apt(None), packages=["cuda-toolkit-13-3"])
    assert (seen["verdict"], seen["refused"], seen["rc"]) == ("unknown", True, None)


def test_what_apt_is_asked(simulate: Any) -> None:
    apt = Apt(Result(0, plan()))
    simulate(apt, packages=["cuda-toolkit-13-3", "libnccl2=2.30.7-1+cuda13.3"])
    no = "APT::Install-Recommends=no"
    assert apt.asked == [
        ("apt-get", "-s", "-o", no, "install", "cuda-toolkit-13-3", "libnccl2=2.30.7-1+cuda13.3"),
    ]


@pytest.mark.parametrize("name", ["cuda-toolkit-", "--reinstall", "cuda-*", "a b", "cuda/noble", "", "Cuda"])
def test_what_is_no_name(simulate: Any, name: str) -> None:
    """A minus behind a name would remove the package."""
    assert "expected: names of packages" in simulate(Apt(None), packages=[name])


def test_removal(simulate: Any) -> None:
    lines = ["Remv cuda-toolkit-13-3 [13.3.0-1]", "Remv cuda-cudart-13-3 [13.3.29-1]"]
    apt = Apt(Result(0, plan(*lines)))
    seen = simulate(apt, packages=["cuda-toolkit-13-3", "cuda-cudart-13-3"], state="absent")
    assert (seen["verdict"], apt.asked[0][4]) == ("ok", "remove")


def test_a_removal_that_takes_more(simulate: Any) -> None:
    lines = ["Remv cuda-cudart-13-3 [13.3.29-1]", "Remv his-program [1.0]"]
    seen = simulate(Apt(Result(0, plan(*lines))), packages=["cuda-cudart-13-3"], state="absent")
    (reason,) = seen["reasons"]
    assert reason["code"] == "would_remove"
    assert "his-program 1.0" in reason["text"]


def test_dpkg_was_interrupted(simulate: Any, tmp_path: Any) -> None:
    (tmp_path / "var/lib/dpkg/updates").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/updates/0001").touch()
    seen = simulate(Apt(Result(0, plan(TOOLKIT))), packages=["cuda-toolkit-13-3"])
    assert [reason["code"] for reason in seen["reasons"]] == ["dpkg_interrupted"]


def test_too_little_room(simulate: Any) -> None:
    seen = simulate(Apt(Result(0, plan(TOOLKIT)), size=2**50), packages=["cuda-toolkit-13-3"])
    assert [reason["code"] for reason in seen["reasons"]] == ["disk_full"]
    assert seen["disk"]["unpacked_bytes"] == 2**60


def test_sizes_that_are_not_known(simulate: Any) -> None:
    seen = simulate(Apt(Result(0, plan(TOOLKIT)), known=False), packages=["cuda-toolkit-13-3"])
    assert (seen["verdict"], seen["reasons"][0]["code"]) == ("unknown", "room_unknown")


@pytest.mark.parametrize(
    ("disk", "where"),
    [
        (Disk(GIB, 2 * GIB, 4 * GIB, 4 * GIB), None),
        (Disk(GIB, 2 * GIB, 3 * GIB, 3 * GIB), "3.0 GiB are needed at /usr"),
        (Disk(GIB, 2 * GIB, 3 * GIB, 2 * GIB, same=False), None),
        (Disk(2 * GIB, 2 * GIB, 3 * GIB, GIB, same=False), "2.0 GiB are needed at /var/cache/apt/archives"),
        (Disk(0, 0, 0, 0), None),
        (Disk(), None),
    ],
)
def test_room(disk: Disk, where: str | None) -> None:
    assert (disk.lack or "None").startswith(where or "None")


def test_sizes() -> None:
    text = "Package: a\nVersion: 1:2\nInstalled-Size: 3\nSize: 10\n\nPackage: b\nVersion: 1\nSize: 7\n\nPackage: c\n"
    assert sizes(text) == {("a", "1:2"): (10, 3072), ("b", "1"): (7, 7)}


@given(st.lists(st.sampled_from([TOOLKIT, DRIVER, KERNEL, REMOVE, MODPROBE, "Inst ?"])), st.booleans(), st.data())
def test_lines_that_are_cut_off_make_nothing_fine(lines: list[str], known: bool, data: st.DataObject) -> None:
    """Up to the counter all is needed; behind it each line that is gone must have been harmless alone."""
    text = plan(*lines)
    cut = text[: data.draw(st.integers(0, text.index("0 upgraded")))]
    seen = Seen(parse(Result(0, cut)), disk=Disk(0, 0, GIB, GIB) if known else Disk())
    assert judge(seen, Asked(("cuda-toolkit-13-3",)))["refused"]
