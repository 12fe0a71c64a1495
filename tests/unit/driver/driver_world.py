# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Spark whose driver is loaded, installed and kept as it should be, to be spoilt piece by piece.

Formats are those of apt 2.6 and dpkg 1.21 themselves; test_driver_apt.py has apt make them anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._driver import (
    look,
    packages,
    policy,
    said,
    simulate,
    unattended,
)
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import COMMAND_NOT_FOUND, Result
from tests.unit.boot import boot_world
from tests.unit.boot.boot_world import BAD, DRIVER, LATER_DRIVER, NEW

REVISION = "0ubuntu0.24.04.1"
FULL, LATER = f"{DRIVER}-{REVISION}", f"{LATER_DRIVER}-{REVISION}"
KERNEL, LATER_KERNEL = "6.17.0-1032.32", "7.0.0-1019.19~24.04.2"
PORTS = "http://ports.ubuntu.com/ubuntu-ports noble-updates/restricted arm64 Packages"
CUDA = "https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/sbsa  Packages"
LOCAL = "/var/lib/dpkg/status"
IMAGE, IMAGE_META = f"linux-image-{NEW}", "linux-image-nvidia-hwe-24.04"
MODULES, MODULES_META = f"linux-modules-nvidia-580-open-{NEW}", "linux-modules-nvidia-580-open-nvidia-hwe-24.04"
DRIVER_NAMES = (
    "libnvidia-compute-580",
    "nvidia-compute-utils-580",
    "nvidia-dkms-580-open",
    "nvidia-driver-580-open",
    "nvidia-kernel-common-580",
    "nvidia-kernel-source-580-open",
    "nvidia-utils-580",
)
KERNEL_NAMES = (IMAGE, IMAGE_META, f"linux-modules-{NEW}", "linux-nvidia-hwe-24.04", MODULES, MODULES_META)
TOOL = "nvidia-modprobe"
GUARDED = (*DRIVER_NAMES, *KERNEL_NAMES, TOOL)
HEALTHY = dict.fromkeys(DRIVER_NAMES, FULL) | dict.fromkeys(KERNEL_NAMES, KERNEL) | {TOOL: "580.95.05-1"}
OTHERS = {"bash": "5.2.21-2ubuntu4", "nvidia-container-toolkit": "1.18.0-1", "unattended-upgrades": "2.9.1+nmu4ubuntu1"}

REPOSITORIES = f"""Package files:
 100 {LOCAL}
     release a=now
 500 {CUDA}
     release o=NVIDIA,l=NVIDIA CUDA,c=
     origin developer.download.nvidia.com
 500 {PORTS}
     release v=24.04,o=Ubuntu,a=noble-updates,n=noble,l=Ubuntu,c=restricted,b=arm64
     origin ports.ubuntu.com
Pinned packages:
     nvidia-modprobe -> 610.43.02-1ubuntu1 with priority -1
"""
NOTHING = "0 upgraded, 0 newly installed, 0 to remove and 0 not upgraded.\n"
PREAMBLE = "Reading package lists...\nBuilding dependency tree...\nCalculating upgrade...\n"
UPGRADE = f"""{PREAMBLE}The following packages will be upgraded:
  bash nvidia-container-toolkit
2 upgraded, 0 newly installed, 0 to remove and 0 not upgraded.
Inst bash [5.2.21-2ubuntu4] (5.2.21-2ubuntu5 Ubuntu:24.04/noble-updates [arm64])
Inst nvidia-container-toolkit [1.18.0-1] (1.18.1-1 NVIDIA CUDA:localhost [arm64])
Conf bash (5.2.21-2ubuntu5 Ubuntu:24.04/noble-updates [arm64])
Conf nvidia-container-toolkit (1.18.1-1 NVIDIA CUDA:localhost [arm64])
"""
BLACKLIST = ("nvidia-", "libnvidia-", "linux-")
OPEN = "NVIDIA UNIX Open Kernel Module for aarch64"
PROPRIETARY = "NVIDIA UNIX aarch64 Kernel Module"


def nvrm(version: str = DRIVER, kind: str = OPEN) -> str:
    """/proc/driver/nvidia/version."""
    return (
        f"NVRM version: {kind}  {version}  Release Build  (dvs-builder@U22-I3-AM02-24-3)  Tue May  5 10:04:52 2026\n"
        "GCC version:  gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2~24.04) \n"
    )


def smi(version: str = DRIVER, cuda: str = "13.0", watts: int = 44, busy: int = 96) -> str:
    """nvidia-smi on GB10: P01 and P02."""
    return f"""+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI {version}             Driver Version: {version}     CUDA Version: {cuda}     |
+-----------------------------------------+------------------------+----------------------+
|   0  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |                  N/A |
| N/A   63C    P0             {watts}W /  N/A  | Not Supported          |     {busy}%      Default |
"""


def moves(*lines: str, kept: str = "", deferred: str = "") -> str:
    """A simulation with these lines."""
    said_first = f"The following packages have been kept back:\n  {kept}\n" if kept else ""
    if deferred:
        said_first += f"The following upgrades have been deferred due to phasing:\n  {deferred}\n"
    return PREAMBLE + said_first + NOTHING + "".join(f"{line}\n" for line in lines)


@dataclass
class Spark:
    """What one node has. A command in C(answers) answers that instead; None is a program that is not there."""

    boot: boot_world.Node = field(default_factory=lambda: boot_world.Node(kernels=(NEW,)))
    packages: Mapping[str, str] = field(default_factory=lambda: HEALTHY | OTHERS)
    status: Mapping[str, str] = field(default_factory=dict)  # by package, else hi for those that are kept
    offers: Mapping[str, Sequence[tuple[str, int, str]]] = field(default_factory=dict)  # version, priority, source
    gone: Sequence[str] = ()  # packages whose repository is
    priority: int = 500
    auto: Sequence[str] = ("bash",)
    plan: str = UPGRADE
    phased: str | None = None
    enabled: str = "1"
    blacklist: Sequence[str] = BLACKLIST
    proc: str | None = field(default_factory=nvrm)
    modules: Mapping[tuple[str, str], str] = field(default_factory=dict)  # (field, module) to modinfo's answer
    smi: Result = field(default_factory=lambda: Result(0, smi()))
    log: str = "Linux version 6.17.0-1032-nvidia\nnvidia: loading out-of-tree module taints kernel.\n"
    answers: Mapping[tuple[str, ...], Result | None] = field(default_factory=dict)
    asked: list[tuple[str, ...]] = field(default_factory=list)

    def build(self, root: Path) -> None:
        files = dict(self.boot.files) | {"sys/module/zfs/version": "2\n"}
        if self.proc is not None:
            files["proc/driver/nvidia/version"] = self.proc
        boot = replace(self.boot, files=files | dict(self.boot.files))
        boot.build(root)

    def policy(self, names: Sequence[str]) -> str:
        text = ""
        for name in names:
            own = self.packages.get(name)
            table = [*self.offers.get(name, ())]
            if own is None and not table:
                continue
            if own is not None:
                table.append((own, self.priority, LOCAL if name in self.gone else PORTS))
            best = max(table, key=lambda offer: offer[1])[0]
            text += f"{name}:\n  Installed: {own or '(none)'}\n  Candidate: {best}\n  Version table:\n"
            for version, priority, source in table:
                mark = "***" if version == own else "   "
                text += f" {mark} {version} {priority}\n        500 {source}\n"
                text += f"        100 {LOCAL}\n" if version == own and source != LOCAL else ""
        return text

    def listing(self) -> str:
        default = dict.fromkeys(GUARDED, "hi")
        states = {name: self.status.get(name, default.get(name, "ii")) for name in self.packages}
        return "".join(f"{states[name]:<3}\t{name}\tarm64\t{self.packages[name]}\n" for name in self.packages)

    def config(self) -> str:
        lines = [f'APT::Periodic::Unattended-Upgrade "{self.enabled}";', 'Unattended-Upgrade "";']
        lines += ['Unattended-Upgrade::Package-Blacklist "";']
        lines += [f'Unattended-Upgrade::Package-Blacklist:: "{pattern}";' for pattern in self.blacklist]
        return "\n".join(lines) + "\n"

    def modinfo(self, argv: tuple[str, ...]) -> Result:
        asked, kernel, module = argv[4], argv[6], argv[7]
        version = self.boot.drivers.get(kernel) if kernel in self.boot.kernels else None
        if version is None or not self.boot.modinfo:
            return Result(1, "", f"modinfo: ERROR: Module {module} not found.\n")
        folder = f"/lib/modules/{kernel}/kernel/nvidia-580-open"
        usual = {"version": version, "license": "Dual MIT/GPL", "filename": f"{folder}/{module}.ko.zst"}
        return Result(0, self.modules.get((asked, module), usual[asked]) + "\n")

    def run(self, argv: Sequence[str], *, data: str | None = None) -> Result:
        assert data is None
        command = tuple(argv)
        self.asked.append(command)
        for known, answer in self.answers.items():
            if command[: len(known)] == known:
                return answer if answer is not None else Result(COMMAND_NOT_FOUND, "", f"{command[0]}: not installed")
        later = self.plan if self.phased is None else self.phased
        fixed: dict[tuple[str, ...], Result] = {
            packages.QUERY: Result(0, self.listing()),
            packages.AUTO: Result(0, "".join(f"{name}\n" for name in self.auto)),
            policy.POLICY: Result(0, REPOSITORIES),
            simulate.SIMULATE: Result(0, self.plan),
            simulate.WITH_PHASED: Result(0, later),
            unattended.CONFIG: Result(0, self.config()),
            look.JOURNAL: Result(0, self.log),
            look.DKMS: Result(0, ""),  # a stock Spark
            said.SMI: self.smi,
        }
        if command in fixed:
            return fixed[command]
        if command[:2] == policy.POLICY:
            return Result(0, self.policy(command[2:]))
        if command[0] == "modinfo":
            return self.modinfo(command)
        return self.boot.run(argv)


def spark(**changes: Any) -> Spark:
    return Spark(**changes)


def boot(**changes: Any) -> boot_world.Node:
    return boot_world.Node(**({"kernels": (NEW,)} | changes))


def with_packages(*gone: str, **changed: str) -> dict[str, str]:
    """The healthy ones, with some changed or taken away."""
    return {name: version for name, version in (HEALTHY | OTHERS | changed).items() if name not in gone}


ALL_LATER = HEALTHY | OTHERS | dict.fromkeys(DRIVER_NAMES, LATER)
STAGED = boot(kernels=(BAD, NEW), drivers={NEW: DRIVER, BAD: DRIVER})
