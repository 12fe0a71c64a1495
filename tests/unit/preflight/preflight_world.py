# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Spark that is fit, as preflight_info returns it and as files and commands show it, to be spoilt piece by piece."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._driver import dgx, policy
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import COMMAND_NOT_FOUND, Result
from ansible_collections.switchless.spark.plugins.module_utils._preflight import look

ROLE = Path(__file__).resolve().parents[3] / "roles" / "preflight"
NOW = 1_796_000_000.0  # the controller's clock while it asks
JUDGED = NOW + 4  # and when it has heard all

FIT: Mapping[str, Any] = {
    "schema": 1,
    "uid": 0,
    "hostname": "spark-329f",
    "machine_id": "0" * 31 + "1",
    "boot_id": "b1",
    "uptime_seconds": 4711.5,
    "kernel": "6.17.0-1032-nvidia",
    "gpu": {"gb10": ["000f:01:00.0"], "others": []},
    "dgx": {"version": "7.5.0", "platform": "DGX Server for KVM", "torn_score": None, "torn_asked": False},
    "driver": {
        "loaded": "580.173.02",
        "open": True,
        "modules_listed": True,
        "installed": [
            {
                "name": "nvidia-driver-580-open",
                "version": "580.173.02-0ubuntu0.24.04.1",
                "driver": "580.173.02",
                "candidate": "580.178.04-0ubuntu0.24.04.1",
                "held": True,
            }
        ],
    },
    "memory": {
        "total_kb": 127600748,  # E9
        "available_kb": 120000000,
        "swap_total_kb": 16777212,
        "swap_free_kb": 16777212,
        "cma_total_kb": 131072,
        "cma_free_kb": 120000,
        "kho_off": False,
    },
    "disk": [],
    "desktop": {"active": False, "display_manager": None, "sessions": []},
    "clock": {"epoch": NOW + 1, "asked": NOW, "ntp_synchronized": True},
    "ports": {"wanted": [], "taken": []},
    "secure_boot": True,
    "dkms": [],
}


def node(**changes: Any) -> dict[str, Any]:
    """A fit node but for these; C(memory__total_kb=1) is one below another."""
    made: dict[str, Any] = deepcopy(dict(FIT))
    for name, value in changes.items():
        *way, last = name.split("__")
        place = made
        for step in way:
            place = place[step]
        place[last] = value
    return made


def four(**changes: Any) -> dict[str, dict[str, Any]]:
    """Four fit nodes; the changes are those of the second one."""
    made = {
        f"spark{index}": node(hostname=f"spark-{index}", machine_id=f"{index:032x}", boot_id=f"b{index}")
        for index in range(1, 5)
    }
    made["spark2"] = node(**({"hostname": "spark-2", "machine_id": f"{2:032x}", "boot_id": "b2"} | changes))
    return made


def room(path: str = "/srv", **changes: Any) -> dict[str, Any]:
    """A row of what there is on the disk."""
    return {
        "path": path,
        "need_gib": 100.0,
        "there": "/srv",
        "device": 1,
        "free_gib": 150.0,
        "present_gib": 0.0,
    } | changes


MEMINFO = """MemTotal:       127600748 kB
MemFree:        100000000 kB
MemAvailable:   120000000 kB
SwapTotal:      16777212 kB
SwapFree:       16777212 kB
CmaTotal:         131072 kB
CmaFree:          120000 kB
"""
# P26: 9.36 GiB free in an area of 32 MiB, and of nothing at all in NV-Kernels #590.
KHO_MEMINFO = MEMINFO.replace("131072", " 32768").replace("120000 kB\n", "9814671 kB\n")
P36 = """DGX_NAME="DGX Spark"
DGX_PRETTY_NAME="NVIDIA DGX Spark"
DGX_SWBUILD_VERSION="7.2.3"
DGX_PLATFORM="DGX Server for KVM"
DGX_SERIAL_NUMBER="XXXXXXXXXXXXX"

DGX_OTA_VERSION="7.5.0"
DGX_OTA_DATE="Thu Jun 18 17:40:28 EDT 2026"
"""
P37 = """DGX_PLATFORM="GX10"
DGX_OTA_VERSION="7.3.1"
DGX_OTA_DATE="Thu Jan 15 19:07:36 CET 2026"
DGX_OTA_VERSION="7.5.0"
DGX_OTA_DATE="Sat Apr  4 15:11:50 CEST 2026"
DGX_OTA_VERSION="7.6.0"
DGX_OTA_DATE="mer. 16 sept. 2026 17:08:05 CEST"
"""
P38 = 'DGX_SWBUILD_VERSION="7.5.0"\nDGX_PLATFORM="DGX Server for KVM"\n'
NVRM = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.173.02  Release Build "
    " (dvs-builder@U22-I3-AM02-24-3)  Tue May  5 10:04:52 2026\n"
)
TCP = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4242 1 0 100 0
   1: 0100007F:1F41 00000000:0000 01 00000000:00000000 00:00000000 00000000  1000        0 4243 1 0 100 0
   2: 0B004D0A:D903 0C004D0A:1F41 01 00000000:00000000 00:00000000 00000000     0        0 4244 1 0 100 0
"""
TCP6 = (
    "  sl  local_address                         remote_address                        st tx_queue rx_queue\n"
    "   0: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000"
    " 00000000     0        0 4245 1 0 100 0\n"
)
FILES: Mapping[str, str] = {
    "proc/sys/kernel/hostname": "spark-329f\n",
    "proc/sys/kernel/osrelease": "6.17.0-1032-nvidia\n",
    "proc/sys/kernel/random/boot_id": "b1\n",
    "proc/uptime": "4711.50 80000.00\n",
    "proc/cmdline": "BOOT_IMAGE=/vmlinuz-6.17.0-1032-nvidia root=UUID=1 ro\n",
    "proc/meminfo": MEMINFO,
    "proc/driver/nvidia/version": NVRM,
    "proc/net/tcp": TCP,
    "proc/net/tcp6": TCP6,
    "proc/4711/comm": "vllm\n",
    "etc/machine-id": "0" * 31 + "1\n",
    "etc/dgx-release": P36,
    "sys/module/nvidia/version": "580.173.02\n",
    "sys/bus/pci/devices/000f:01:00.0/vendor": "0x10de\n",
    "sys/bus/pci/devices/000f:01:00.0/device": "0x2e12\n",
    "sys/bus/pci/devices/000f:01:00.0/class": "0x030200\n",
    "sys/bus/pci/devices/0000:01:00.0/vendor": "0x15b3\n",
    "sys/bus/pci/devices/0000:01:00.0/device": "0x1021\n",
    "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c": "\x06\x00\x00\x00\x01",
    "run/systemd/sessions/7": "# This is private data. Do not parse.\n",
    "run/systemd/sessions/7.ref": "",
}
SESSION = "Id=7\nName=nvidia\nType=tty\nClass=user\n"
PACKAGES = (
    "hi \tnvidia-driver-580-open\tarm64\t580.173.02-0ubuntu0.24.04.1\n"
    "rc \tnvidia-driver-570-server\tarm64\t570.86.15-0ubuntu1\n"
    "ii \tnvidia-driver-assistant\tall\t0.22.85.06-1\n"
)
POLICY = """nvidia-driver-580-open:
  Installed: 580.173.02-0ubuntu0.24.04.1
  Candidate: 580.178.04-0ubuntu0.24.04.1
  Version table:
     580.178.04-0ubuntu0.24.04.1 500 (phased 40%)
        500 http://ports.ubuntu.com/ubuntu-ports noble-updates/restricted arm64 Packages
 *** 580.173.02-0ubuntu0.24.04.1 500
        100 /var/lib/dpkg/status
"""
ANSWERS: Mapping[tuple[str, ...], Result] = {
    look.SYNCHRONIZED: Result(0, "yes\n"),
    look.DISPLAY_MANAGER: Result(0, "Id=display-manager.service\nActiveState=inactive\n"),
    (*look.SESSION, "7"): Result(0, SESSION),
    look.DRIVERS: Result(0, PACKAGES),
    (*policy.POLICY, "nvidia-driver-580-open"): Result(0, POLICY),
    dgx.TORN: Result(0, "OTA2607 torn-score: 0\n"),
}


def build(root: Path, changes: Mapping[str, str | None]) -> None:
    """The files of a node; None takes one away."""
    for name, text in ({**FILES, **changes}).items():
        if text is not None:
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    handle = root / "proc/4711/fd/5"
    handle.parent.mkdir(parents=True, exist_ok=True)
    handle.symlink_to("socket:[4242]")


class Commands:
    """Answers commands, and knows which were run. What has no answer is not installed."""

    def __init__(self, changes: Mapping[tuple[str, ...], Result]) -> None:
        self.answers = {**ANSWERS, **changes}
        self.asked: list[tuple[str, ...]] = []

    def run(self, argv: Sequence[str], *, data: str | None = None) -> Result:
        assert data is None
        self.asked.append(tuple(argv))
        return self.answers.get(tuple(argv), Result(COMMAND_NOT_FOUND))
