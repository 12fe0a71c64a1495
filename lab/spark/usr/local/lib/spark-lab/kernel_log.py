# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel's own messages of this node: in the journal of this boot, and in what dmesg shows.

kernel_log.py boot              what the kernel of a healthy Spark says while it starts
kernel_log.py say PRIORITY TEXT one message now
kernel_log.py add               several, as JSON on standard input: [[SECONDS, PRIORITY, TEXT], …], the last of them now
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import board
import kernel

RING = Path("/run/spark-lab/kmsg")
REMOTE = "/usr/lib/systemd/systemd-journal-remote"
HOTPLUG = "cx7-pcie-hotplug MTKP0001:00:"
WARNING, NOTICE, INFO = 4, 5, 6


@dataclass(frozen=True, order=True)
class Line:
    """One message: seconds since boot, priority, text."""

    seconds: float
    priority: int
    text: str


def export(lines: list[Line], boot_id: str, machine_id: str, started: float) -> str:
    """The journal's export format. The realtime stamps follow from when the node was started."""
    entries = []
    for line in lines:
        fields = {
            "__REALTIME_TIMESTAMP": int((started + line.seconds) * 1e6),
            "__MONOTONIC_TIMESTAMP": int(line.seconds * 1e6),
            "_BOOT_ID": boot_id,
            "_MACHINE_ID": machine_id,
            "_HOSTNAME": os.uname().nodename,
            "_TRANSPORT": "kernel",
            "_SOURCE_MONOTONIC_TIMESTAMP": int(line.seconds * 1e6),
            "PRIORITY": line.priority,
            "SYSLOG_FACILITY": 0,
            "SYSLOG_IDENTIFIER": "kernel",
            "MESSAGE": line.text,
        }
        entries.append("".join(f"{key}={value}\n" for key, value in fields.items()))
    return "\n".join(entries) + "\n"


def append(lines: list[Line]) -> None:
    """Add messages to this boot's kernel log."""
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip().replace("-", "")
    machine_id = Path("/etc/machine-id").read_text().strip()
    persistent = Path("/var/log/journal")
    folder = (persistent if persistent.is_dir() else Path("/run/log/journal")) / machine_id
    folder.mkdir(parents=True, exist_ok=True)
    started = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    with RING.open("a") as ring:
        fcntl.flock(ring, fcntl.LOCK_EX)
        ring.writelines(f"<{line.priority}>[{line.seconds:12.6f}] {line.text}\n" for line in lines)
        ring.flush()
        subprocess.run(
            [REMOTE, "--split-mode=none", f"--output={folder}/spark-kernel-{boot_id}.journal", "-"],
            input=export(lines, boot_id, machine_id, started), text=True, check=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip


def say(*texts: str, priority: int = INFO) -> None:
    add([(0.0, priority, text) for text in texts])


def add(entries: list[tuple[float, int, str]]) -> None:
    """Several messages whose seconds count from one another; the last is of now."""
    if entries:
        late = time.clock_gettime(time.CLOCK_BOOTTIME) - max(seconds for seconds, _, _ in entries)
        append([Line(max(0.0, late + seconds), priority, text) for seconds, priority, text in entries])


def bandwidth(lane: dict[str, str], address: str) -> str:
    """What the PCI core says of the link of a function."""
    full = 31507 * int(board.LANE["current_link_width"])
    wide = 31507 * int(lane["current_link_width"])
    if wide == full:
        return f"{full / 1000:.3f} Gb/s available PCIe bandwidth (32.0 GT/s PCIe x4 link)"
    root, able = f"{address.split(':', 1)[0]}:00:00.0", f"capable of {full / 1000:.3f} Gb/s with 32.0 GT/s PCIe x4 link"
    width = f"32.0 GT/s PCIe x{lane['current_link_width']} link at {root}"
    return f"{wide / 1000:.3f} Gb/s available PCIe bandwidth, limited by {width} ({able})"


def probe(info: dict[str, Any], index: int, lane: dict[str, str]) -> list[Line]:
    """What mlx5_core says about one function."""
    name, start = f"mlx5_core {info['pci']}:", 1.02 + index * 0.21
    module = info["cage"][1:]
    lines = [
        Line(start, INFO, f"{name} enabling device (0000 -> 0002)"),
        Line(start + 0.0004, INFO, f"{name} firmware version: 28.45.4028"),
        Line(start + 0.0013, INFO, f"{name} {bandwidth(lane, info['pci'])}"),
        Line(start + 0.161, INFO, f"{name} Rate limit: 127 rates are supported, range: 0Mbps to 97656Mbps"),
        Line(start + 0.175, INFO, f"{name} E-Switch: Total vports 10, per vport: max uc(128) max mc(2048)"),
        Line(
            start + 0.383,
            WARNING,
            f"{name} mlx5_pcie_event:326:(pid 12): Detected insufficient power on the PCIe slot (27W).",
        ),
        Line(start + 0.512, INFO, f"{name} MLX5E: StrdRq(1) RqSz(8) StrdSz(2048) RxCqeCmprss(0 enhanced)"),
        Line(start + 1.31, INFO, f"{name} {info['netdev']}: renamed from eth{index}"),
    ]
    seen = "plugged" if info["cabled"] else "unplugged"
    return [*lines, Line(start + 0.392, INFO, f"{name} Port module event: module {module}, Cable {seen}")]


def boot_lines(spark: dict[str, Any]) -> list[Line]:
    """In order of time, as at a cold boot with the cables in."""
    gpu = "limited by Unknown x0 link at 000f:00:00.0 (capable of 32.000 Gb/s with 2.5 GT/s PCIe x16 link)"
    lines = [
        Line(0.0, NOTICE, f"Linux version {kernel.booted()}"),
        Line(0.000001, INFO, "DMI: NVIDIA NVIDIA_DGX_Spark/P4242, BIOS 5.36_0ACUM027"),
        Line(0.103426, INFO, f"pci 000f:01:00.0: 0.000 Gb/s available PCIe bandwidth, {gpu}"),
        Line(5.309621, INFO, f"{HOTPLUG} PCIe hotplug driver initialized successfully"),
    ]
    if board.MARKER.exists():
        lines.append(Line(5.406738, INFO, f"{HOTPLUG} Hotplug enabled"))
    if (driver := kernel.loaded()) is not None:
        lines.append(Line(6.812044, WARNING, "nvidia: loading out-of-tree module taints kernel."))
        lines.append(Line(7.104933, INFO, f"NVRM: loading {driver.text}"))
    for index, info in enumerate(sorted(spark["functions"], key=lambda info: str(info["pci"]))):
        if info["pci"] not in board.absent(spark):
            lines += probe(info, index, board.lane(spark, info["pci"]))
    lines += [
        Line(float(at), int(priority), str(text)) for at, priority, text in spark["overrides"].get("boot_log", [])
    ]
    return sorted(lines)


def main(arguments: list[str]) -> None:
    if arguments == ["boot"]:
        RING.unlink(missing_ok=True)
        append(boot_lines(board.read()))
    elif len(arguments) == 3 and arguments[0] == "say":
        say(arguments[2], priority=int(arguments[1]))
    elif arguments == ["add"]:
        add(json.load(sys.stdin))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
