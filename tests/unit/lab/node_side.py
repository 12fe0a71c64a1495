# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A virtual Spark without a lab: the node's own stand-ins make its /sys and its kernel log in a folder."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._cx7 import health, load
from ansible_collections.switchless.spark.plugins.module_utils._cx7.node import Sources, look
from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from lab import faults
from lab.faults import Fault, LogLine
from lab.hardware import FUNCTIONS, board
from tests.unit.cx7.spark_tree import BOOT_ID, Script

SPARK_LIB = Path(__file__).parents[3] / "lab" / "spark" / "usr" / "local" / "lib" / "spark-lab"
NAMES = (
    "board",
    "grub",
    "kernel",
    "mounting",
    "sysctls",
    "kernel_log",
    "hardware",
    "ports",
)  # each after what it imports


class Node:
    """A node with cables in both cages that booted once and has been up for ten minutes."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, uptime: float = 600.0) -> None:
        self.root, self.uptime = root, uptime
        self.log: list[LogLine] = []
        self.patch = monkeypatch
        monkeypatch.syspath_prepend(str(SPARK_LIB))
        for name in NAMES:
            monkeypatch.delitem(sys.modules, name, raising=False)
        found = {name: importlib.import_module(name) for name in NAMES}
        self.board, self.grub, self.kernel, self.kernel_log, self.hardware, self.ports = (
            found[name] for name in ("board", "grub", "kernel", "kernel_log", "hardware", "ports")
        )
        for name in NAMES:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setattr(self.board, "SYS", root / "sys")
        monkeypatch.setattr(self.hardware, "SYS", root / "sys")
        monkeypatch.setattr(self.board, "FOLDER", root / "board")
        monkeypatch.setattr(self.board, "MARKER", root / "etc/nvidia/cx7-hotplug-enabled")
        monkeypatch.setattr(self.hardware, "cover", self._cover)
        monkeypatch.setattr(self.ports, "addresses", dict)
        monkeypatch.setattr(self.ports, "command", self._command)
        monkeypatch.setattr(self.kernel_log, "append", self._append)
        monkeypatch.setattr(self.kernel_log, "say", lambda *texts: self.say([(0.0, 6, text) for text in texts]))
        monkeypatch.setattr(time, "clock_gettime", lambda _clock: self.uptime)
        self.put("etc/nvidia/cx7-hotplug-enabled", "")
        self.put("proc/sys/kernel/random/boot_id", BOOT_ID)

    def put(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")

    def _cover(self, netdev: Path, files: Mapping[str, str], links: Mapping[str, Path]) -> None:
        self.hardware.put(netdev, files)
        for name, target in links.items():
            (netdev / name).symlink_to(target)

    def _command(self, *argv: str) -> None:
        if argv[:3] == ("/usr/sbin/ip", "link", "delete"):
            shutil.rmtree(self.root / "sys/devices/virtual/net" / argv[3])
            (self.root / "sys/class/net" / argv[3]).unlink()

    def _append(self, lines: Sequence[Any]) -> None:
        self.log += [(line.seconds, line.priority, line.text) for line in lines]

    def say(self, lines: Sequence[LogLine]) -> None:
        """Let the kernel say lines whose seconds count from one another; the last is of now."""
        self.kernel_log.add([*lines])

    def tell(self, present: Sequence[Fault]) -> None:
        """Write what faults the node has."""
        self.put("board/overrides.json", json.dumps(faults.overrides(present)))

    def boot(self, present: Sequence[Fault], cages: Sequence[str] = ("p0", "p1")) -> None:
        """Make /sys and the log as the stand-ins do, with light in these cages."""
        self.tell(present)
        lit = () if faults.is_dark(present) else cages
        shown = board("test", "spark1", {cage: cage in lit for cage in ("p0", "p1")})
        self.put("board/board.json", json.dumps(shown))
        for folder in ("bus/pci/devices", "class/net", "class/infiniband"):
            (self.root / "sys" / folder).mkdir(parents=True)
        for function in FUNCTIONS:
            if function.netdev not in faults.absent(present):
                self._veth(function.netdev, up=function.cage in lit)
        spark = self.board.read()
        for domain in ("0000", "0002"):
            self.hardware.root_port(domain, spark)
        for info in spark["functions"]:
            self.hardware.cx7_function(info, spark)
        self.put("sys/devices/platform/MTKP0001:00/pcie_hotplug/hotplug_enabled", "1")
        self.put("sys/devices/platform/MTKP0001:00/pcie_hotplug/debug_state", "1")
        self._append(self.kernel_log.boot_lines(spark))
        self.running = self.ports.Ports()
        now, self.uptime = self.uptime, 5.0
        self.running.update()
        removal = self.running.removal()
        if removal is not None:
            self.uptime += removal
            self.running.update()
        self.uptime = now
        self.running.update()

    def fault(self, *present: Fault) -> None:
        """Give faults to the running node, as the verb does."""
        self.tell(present)
        self.running.read()
        self.running.update()
        for fault in present:
            self.say(faults.lines_now(fault))

    def _veth(self, name: str, *, up: bool) -> None:
        """What the kernel shows of a port by itself."""
        folder = f"sys/devices/virtual/net/{name}"
        light = "1" if up else "0"
        files = {"address": "02:00:00:00:00:01", "carrier": light, "carrier_changes": light, "flags": "0x1003"}
        files |= {"carrier_down_count": "0", "mtu": "9000", "operstate": "up" if up else "down"}
        for key, text in files.items():
            self.put(f"{folder}/{key}", text)
        (self.root / "sys/class/net" / name).symlink_to(self.root / folder)

    def dmesg(self) -> str:
        """The log as dmesg prints it."""
        return "".join(f"[{seconds:12.6f}] {text}\n" for seconds, priority, text in self.log)

    def judge(self, *, planned: Sequence[str] = ("p0", "p1"), bandwidth: Any = (), rebooted: bool = False) -> Any:
        """What cx7_info reads of it and cx7_health makes of that; planned are cages."""
        self.put("proc/uptime", f"{self.uptime} 1.0")
        sources = Sources(
            sys=Tree(str(self.root / "sys")),
            proc=Tree(str(self.root / "proc")),
            host=Tree(str(self.root)),
            runner=Script(),
            kernel_log=self.dmesg(),
        )
        seen = look(sources)
        assert seen.warnings == ()
        assert seen.log_complete
        ports = [{"cage": c, "root": r, "peer": {"host": "spark2", "cage": c}} for c in planned for r in "AB"]
        return health.judge(seen, load.expected(ports), load.bandwidth(list(bandwidth)), already_rebooted=rebooted)
