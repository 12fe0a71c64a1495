# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds what a Spark shows under /sys and /proc from a short description, and answers commands from a script."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ansible_collections.switchless.spark.plugins.module_utils._node.runner import COMMAND_NOT_FOUND, Result

BOOT_ID = "7d9f6b0e-2f0b-4f2c-9a2f-3a1a7f0f4b11"
PORTS = ("p0 A", "p0 B", "p1 A", "p1 B")
DOMAIN = {"A": "0000", "B": "0002"}
NETDEV = {"p0 A": "enp1s0f0np0", "p0 B": "enP2p1s0f0np0", "p1 A": "enp1s0f1np1", "p1 B": "enP2p1s0f1np1"}
RDMA = {"p0 A": "rocep1s0f0", "p0 B": "roceP2p1s0f0", "p1 A": "rocep1s0f1", "p1 B": "roceP2p1s0f1"}

UNREADABLE = None  # a file whose read() gives an error, as carrier of a port that is down gives EINVAL
MISSING = "<missing>"  # a file that is not there


def address(port: str) -> str:
    cage, root = port.split()
    return f"{DOMAIN[root]}:01:00.{cage[1]}"


def netdev_files(port: str, *, linked: bool) -> dict[str, str | None]:
    return {
        "address": f"02:00:00:00:{port[1]}0:{'0a' if port.endswith('A') else '0b'}",
        "carrier": "1" if linked else "0",
        "carrier_changes": "1" if linked else "0",
        "carrier_down_count": "0",
        "flags": "0x1003",
        "mtu": "9000" if linked else "1500",
        "operstate": "up" if linked else "down",
        "phys_port_name": port.split(maxsplit=1)[0],
        "phys_switch_id": "6cb3110000c0ffee",
        "speed": "200000" if linked else "-1",
    }


PCI_FILES = {
    "vendor": "0x15b3",
    "device": "0x1021",
    "current_link_speed": "32.0 GT/s PCIe",
    "current_link_width": "4",
    "max_link_speed": "32.0 GT/s PCIe",
    "max_link_width": "4",
}
RDMA_FILES = {
    "fw_ver": "28.45.4028",
    "hca_type": "MT4129",
    "node_guid": "6cb3:1100:00c0:ffee",
    "sys_image_guid": "6cb3:1100:00c0:ffee",
}


def rdma_port_files(*, linked: bool) -> dict[str, str | None]:
    return {
        "state": "4: ACTIVE" if linked else "1: DOWN",
        "phys_state": "5: LinkUp" if linked else "3: Disabled",
        "rate": "200 Gb/sec (2X NDR)" if linked else "40 Gb/sec (4X QDR)",
        "link_layer": "Ethernet",
    }


def write(path: Path, text: str | None) -> None:
    if text == MISSING:
        return
    if not path.parent.exists():
        path.parent.mkdir(parents=True)
    if text is UNREADABLE:
        path.mkdir()  # reading a folder is an error, also for root
    else:
        path.write_text(f"{text}\n", encoding="utf-8")


@dataclass(frozen=True)
class Shown:
    """What one node shows: cabled cages, ports that are not on the bus, and files that differ, by port."""

    cables: str = "p0"
    absent: str = ""  # ports that are not on the bus; "all" for all of them
    files: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    netdevs: Mapping[str, str] = field(default_factory=dict)
    gids: Mapping[str, Mapping[int, tuple[str | None, str | None, str | None]]] = field(default_factory=dict)
    uptime: str | None = "86400.00 100.00"
    armed: bool = True
    enabled: str | None = "1"  # what the hot-plug driver says of itself

    def is_absent(self, port: str) -> bool:
        return self.absent == "all" or port in self.absent.split(", ")

    def build(self, root: Path) -> None:
        """Write sys/, proc/ and etc/ below a folder."""
        sys = root / "sys"
        for folder in ("bus/pci/devices", "class/net/lo", "class/infiniband"):
            (sys / folder).mkdir(parents=True)
        write(sys / "class/net/lo/carrier", "1")
        write(root / "proc/sys/kernel/random/boot_id", BOOT_ID)
        write(root / "proc/uptime", MISSING if self.uptime is None else self.uptime)
        (root / "proc").mkdir(exist_ok=True)
        if self.armed:
            write(root / "etc/nvidia/cx7-hotplug-enabled", "")
        hotplug = sys / "devices/platform/MTKP0001:00/pcie_hotplug"
        write(hotplug / "hotplug_enabled", self.enabled)
        write(hotplug / "debug_state", "0" if self.absent == "all" else "1")
        for letter, domain in DOMAIN.items():
            bridge = sys / f"devices/pci{domain}:00/{domain}:00:00.0"
            write(bridge / "vendor", "0x14c3")
            write(bridge / "device", "0x22ce")
            asleep = all(self.is_absent(port) for port in PORTS if port.endswith(letter))
            write(bridge / "current_link_speed", "2.5 GT/s PCIe" if asleep else "32.0 GT/s PCIe")
            write(bridge / "current_link_width", "4")
            (sys / f"bus/pci/devices/{domain}:00:00.0").symlink_to(bridge)
        for port in PORTS:
            if not self.is_absent(port):
                self._function(sys, port)

    def _function(self, sys: Path, port: str) -> None:
        cage, letter = port.split()
        linked = cage in self.cables.split()
        differs = self.files.get(port, {})
        domain = DOMAIN[letter]
        device = sys / f"devices/pci{domain}:00/{domain}:00:00.0/{address(port)}"
        net = device / "net" / self.netdevs.get(port, NETDEV[port])
        rdma = device / "infiniband" / RDMA[port]
        for folder, files in (
            (device, PCI_FILES),
            (net, netdev_files(port, linked=linked)),
            (rdma, RDMA_FILES),
            (rdma / "ports/1", rdma_port_files(linked=linked)),
        ):
            for name, text in files.items():
                write(folder / name, differs.get(name, text))
        for index, (gid, kind, ndev) in self._gids(port, net.name, linked=linked).items():
            write(rdma / f"ports/1/gids/{index}", gid)
            write(rdma / f"ports/1/gid_attrs/types/{index}", kind)
            write(rdma / f"ports/1/gid_attrs/ndevs/{index}", ndev)
        (net / "device").symlink_to(device)
        (rdma / "device").symlink_to(device)
        (sys / "bus/pci/devices" / address(port)).symlink_to(device)
        (sys / "class/net" / net.name).symlink_to(net)
        (sys / "class/infiniband" / rdma.name).symlink_to(rdma)

    def _gids(self, port: str, netdev: str, *, linked: bool) -> Mapping[int, tuple[str | None, str | None, str | None]]:
        if port in self.gids:
            return self.gids[port]
        local = "fe80:0000:0000:0000:0000:00ff:fe00:0001"
        mapped = "0000:0000:0000:0000:0000:ffff:c0a8:640a"
        zero = "0000:0000:0000:0000:0000:0000:0000:0000"
        table: dict[int, tuple[str | None, str | None, str | None]] = {
            0: (local, "IB/RoCE v1", netdev),
            1: (local, "RoCE v2", netdev),
        }
        if linked:
            table |= {2: (mapped, "IB/RoCE v1", netdev), 3: (mapped, "RoCE v2", netdev)}
        return table | {4: (zero, UNREADABLE, UNREADABLE), 5: (UNREADABLE, MISSING, MISSING)}


class Script:
    """Answers commands by their program and remembers them. A program that it does not know is not installed."""

    def __init__(self, answers: Mapping[str, Result] | None = None) -> None:
        self.answers = dict(answers or {})
        self.asked: list[tuple[str, ...]] = []

    def run(self, argv: Sequence[str], *, data: str | None = None) -> Result:
        assert data is None
        self.asked.append(tuple(argv))
        return self.answers.get(argv[0], Result(COMMAND_NOT_FOUND, "", f"{argv[0]}: not installed"))


def journal(*lines: tuple[float, str], priority: int = 6) -> str:
    """Lines as C(journalctl -o json) gives them."""
    return "".join(
        json.dumps(
            {
                "__MONOTONIC_TIMESTAMP": str(round((seconds + 1.7) * 1_000_000)),
                "_SOURCE_MONOTONIC_TIMESTAMP": str(round(seconds * 1_000_000)),
                "PRIORITY": str(priority),
                "MESSAGE": text,
            },
            separators=(",", ":"),
        )
        + "\n"
        for seconds, text in lines
    )
