# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Spark with two toolkits side by side, to be spoilt piece by piece."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._cuda import look
from ansible_collections.switchless.spark.plugins.module_utils._driver import packages, said
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import COMMAND_NOT_FOUND, Result
from tests.unit.driver.driver_world import smi

P12 = """nvcc: NVIDIA (R) Cuda compiler driver
Copyright (c) 2005-2026 NVIDIA Corporation
Built on Tue_Jun_09_02:43:40_PM_PDT_2026
Cuda compilation tools, release 13.3, V13.3.73
Build cuda_13.3.r13.3/compiler.38244171_0
"""
P14A = """cuda - auto mode
  link best version is /usr/local/cuda-12.1
  link currently points to /usr/local/cuda-12.1
  link cuda is /usr/local/cuda
/usr/local/cuda-12.1 - priority 121
"""
P14B = """    cuda - manual mode
        link best version is /usr/local/cuda-11.7
        link currently points to /usr/local/cuda-12.6
        link cuda is /usr/local/cuda
    /usr/local/cuda-11.7 - priority 11
    /usr/local/cuda-12.6 - priority 9
"""
P14C = """cuda - auto mode
  link best version is /usr/local/cuda-12.6
  link currently points to /usr/local/cuda-12.6
  link cuda is /usr/local/cuda
/usr/local/cuda-12.6 - priority 126
/usr/local/cuda-13.0 - priority 130
"""
PC01 = """cuda - manual mode
  link best version is /usr/local/cuda-13.3
  link currently points to /usr/local/cuda-13.0
  link cuda is /usr/local/cuda
/usr/local/cuda-13.0 - priority 130
/usr/local/cuda-13.3 - priority 133
"""
FLIPPED = PC01.replace("manual", "auto").replace("points to /usr/local/cuda-13.0", "points to /usr/local/cuda-13.3")
CUDA_130, CUDA_133 = ("13.0", "13.0.88"), ("13.3", "13.3.73")
P10 = """ERROR: This container was built for NVIDIA Driver Release 590.48 or later, but
       version 580.159.03 was detected and compatibility mode is UNAVAILABLE.
"""
NVCC_130 = P12.replace("13.3", "13.0").replace("V13.0.73", "V13.0.88")
NONE = Result(2, "", "update-alternatives: error: no alternatives for cuda\n")
BOTH: Mapping[str, str | None] = {"13.0": NVCC_130, "13.3": P12}  # null is a folder without nvcc
INSTALLED = {
    "bash": "5.2",
    "cuda-toolkit-13-0": "13.0.2-1",
    "cuda-toolkit-13-3": "13.3.0-1",
    "cuda-nvcc-13-3": "13.3.73-1",
}


@dataclass
class Spark:
    """What one node has. A command in C(answers) answers that instead; None is a program that is not there."""

    toolkits: Mapping[str, str | None] = field(default_factory=lambda: BOTH)
    compat: Sequence[str] = ()
    leads_to: str | None = "/usr/local/cuda-13.0"
    by_hand: bool = False  # the link goes past the alternatives
    folder: bool = False  # there is a folder instead
    display: Result = field(default_factory=lambda: Result(0, PC01))
    installed: Mapping[str, str] = field(default_factory=lambda: INSTALLED)
    loaded: bool = True
    memory: str | None = None
    answers: Mapping[str, Result | None] = field(default_factory=dict)  # by program
    asked: list[tuple[str, ...]] = field(default_factory=list)

    def build(self, root: Path) -> None:
        local, handles = root / "usr/local", root / "etc/alternatives"
        for folder in (local, handles, root / "var/lib/switchless"):
            folder.mkdir(parents=True)
        for version, nvcc in self.toolkits.items():
            (local / f"cuda-{version}/bin").mkdir(parents=True)
            if nvcc is not None:
                (local / f"cuda-{version}/bin/nvcc").touch()
        for version in self.compat:
            (local / f"cuda-{version}/compat").mkdir(parents=True)
            (local / f"cuda-{version}/compat/libcuda.so.1").touch()
        (local / "cuda-13").mkdir()  # an alternative of its own on a Spark
        if self.folder:
            (local / "cuda").mkdir()
        elif self.leads_to is not None:
            (handles / "cuda").symlink_to(self.leads_to)
            (local / "cuda").symlink_to(self.leads_to if self.by_hand else look.HANDLE)
        if self.loaded:
            (root / "sys/module/nvidia").mkdir(parents=True)
        if self.memory is not None:
            (root.joinpath(*look.MEMORY)).write_text(self.memory)

    def run(self, argv: Sequence[str], *, data: str | None = None) -> Result:
        assert data is None
        command = tuple(argv)
        self.asked.append(command)
        program = command[0].rpartition("/")[2]
        if program in self.answers:
            return self.answers[program] or Result(COMMAND_NOT_FOUND, "", f"{program}: not installed")
        if program == "nvcc":
            version = command[0].split("/")[3].removeprefix("cuda-")
            return Result(0, self.toolkits[version] or "")
        listing = "".join(f"ii \t{name}\tarm64\t{version}\n" for name, version in self.installed.items())
        fixed = {look.DISPLAY: self.display, packages.QUERY: Result(0, listing), said.SMI: Result(0, smi())}
        return fixed[command]


def spark(**changes: Any) -> Spark:
    return Spark(**changes)
