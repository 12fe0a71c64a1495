# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel that this node booted, by its GRUB, and the NVIDIA driver that it loaded.

In truth the machine's kernel runs; `uname` and what is below /sys and /proc of the driver follow what is written here.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import board
import grub

BOOTED = Path("/run/spark-lab/kernel")
BUILDER = "Release Build  (dvs-builder@U22-I3-AM02-24-3)  Tue May  5 10:04:52 UTC 2026"


@dataclass(frozen=True)
class Driver:
    """A loaded driver."""

    version: str
    is_open: bool

    @property
    def text(self) -> str:
        """What it calls itself."""
        kind = "UNIX Open Kernel Module for aarch64" if self.is_open else "UNIX aarch64 Kernel Module"
        return f"NVIDIA {kind}  {self.version}  {BUILDER}"

    @property
    def sys_files(self) -> dict[str, str]:
        """Below /sys/module."""
        state = {"version": self.version, "initstate": "live", "refcnt": "2", "taint": "OE"}
        names = ("nvidia", "nvidia_modeset", "nvidia_uvm")
        return {f"{name}/{key}": value for name in names for key, value in state.items()}

    @property
    def proc_files(self) -> dict[str, str]:
        """Below /proc/driver."""
        compiler = "GCC version:  gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2~24.04)"
        return {"nvidia/version": f"NVRM version: {self.text}\n{compiler}"}


def boot(root: Path = Path("/")) -> str:
    """What GRUB starts; what GRUB cannot start, the newest kernel on the disk, and without any the machine's own."""
    newest = next(iter(grub.kernels(root)), "")
    kernel = grub.start(root) or newest or os.uname().release
    BOOTED.parent.mkdir(exist_ok=True)
    BOOTED.write_text(kernel + "\n")
    return kernel


def booted() -> str:
    try:
        return BOOTED.read_text().strip()
    except OSError:
        return os.uname().release


def driver(kernel: str) -> Driver | None:
    """What modprobe would load; nothing when the kernel has no nvidia.ko."""
    version, terms = (_ask(field, kernel) for field in ("version", "license"))
    return Driver(version, terms != "NVIDIA") if version else None


def _ask(field: str, kernel: str) -> str:
    argv = ["modinfo", "-F", field, "-k", kernel, "nvidia"]
    return subprocess.run(argv, check=False, capture_output=True, text=True).stdout.strip()


def loaded() -> Driver | None:
    """What is loaded, for those who come after the boot."""
    try:
        version = (board.SYS / "module" / "nvidia" / "version").read_text().strip()
        said = Path("/proc/driver/nvidia/version").read_text()
    except OSError:
        return None
    return Driver(version, "Open Kernel Module" in said)
