# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps what /sys shows of each ConnectX-7 port in step with its netdev: speed, RDMA state, rate, GIDs.

Waits for link and address events; on SIGHUP (systemctl reload spark-ports) it reads its files again.
"""

from __future__ import annotations

import ipaddress
import json
import select
import signal
import socket
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import board
import kernel_log

if TYPE_CHECKING:
    from types import FrameType

RTMGRP_LINK, RTMGRP_IPV4_IFADDR = 1, 0x10
GID_TABLE = 16
EMPTY = ":".join(["0000"] * 8)
# Reading an unused index of gid_attrs gives EINVAL; so does the speed of the loopback device.
INVALID = "/sys/class/net/lo/speed"
UP = {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "200 Gb/sec (4X HDR)"}
DOWN = {"state": "1: DOWN", "phys_state": "3: Disabled", "rate": "40 Gb/sec (4X QDR)"}


def link_local(mac: str) -> str:
    """The default GID: fe80 and the MAC as EUI-64."""
    parts = bytearray.fromhex(mac.replace(":", ""))
    parts[0] ^= 2
    interface = bytes(parts[:3]) + b"\xff\xfe" + bytes(parts[3:])
    return (b"\xfe\x80" + bytes(6) + interface).hex(":", 2)


def gid_table(mac: str, addresses: list[str]) -> list[str]:
    """Each GID twice, as RoCE v1 and as RoCE v2: the default one, then one for each IPv4 address."""
    mapped = [ipaddress.IPv6Address(f"::ffff:{address}").packed.hex(":", 2) for address in addresses]
    return [gid for gid in [link_local(mac), *mapped] for _ in range(2)][:GID_TABLE]


def addresses() -> dict[str, list[str]]:
    """IPv4 addresses by netdev, in the order in which the kernel has them."""
    done = subprocess.run(["/usr/sbin/ip", "-j", "-4", "address"], check=False, capture_output=True, text=True)
    try:
        links = json.loads(done.stdout or "[]")
    except ValueError:
        links = []
    return {link["ifname"]: [entry["local"] for entry in link["addr_info"]] for link in links if link.get("ifname")}


def carrier(netdev: str) -> bool:
    try:
        return (board.SYS / "class" / "net" / netdev / "carrier").read_text().strip() == "1"
    except OSError:  # EINVAL: administratively down
        return False


class Ports:
    """The four ports of this node."""

    def __init__(self) -> None:
        self.spark = board.read()
        self.lit: dict[str, bool] = {}

    def update(self) -> None:
        have = addresses()
        news = []
        for info in self.spark["functions"]:
            netdev = info["netdev"]
            up = carrier(netdev)
            if up != self.lit.get(netdev, False):
                news.append(f"mlx5_core {info['pci']} {netdev}: Link {'up' if up else 'down'}")
            self.lit[netdev] = up
            self.show(info, have.get(netdev, []), up=up)
        if news:
            with suppress(OSError, subprocess.CalledProcessError):
                kernel_log.say(*news)

    def show(self, info: dict[str, Any], local: list[str], *, up: bool) -> None:
        netdev = board.SYS / "devices" / "virtual" / "net" / info["netdev"]
        changed = self.spark["overrides"].get("ports", {}).get(info["netdev"], {})
        net = {"speed": "200000" if up else "-1", "duplex": "full" if up else "unknown"}
        self.write(netdev, net | changed.get("net", {}))
        port = board.pci_path(info["pci"]) / "infiniband" / info["rdma"] / "ports" / "1"
        self.write(port, (UP if up else DOWN) | changed.get("rdma", {}))
        gids = gid_table(info["mac"], local)
        for index in range(GID_TABLE):
            used = index < len(gids)
            board.replace(port / "gids" / str(index), (gids[index] if used else EMPTY) + "\n")
            for name, text in (("types", ("IB/RoCE v1", "RoCE v2")[index % 2]), ("ndevs", info["netdev"])):
                path = port / "gid_attrs" / name / str(index)
                if used:
                    board.replace(path, text + "\n")
                else:
                    board.point(path, INVALID)
        pci = self.spark["overrides"].get("pci", {}).get(info["pci"], {})
        self.write(board.pci_path(info["pci"]), pci)

    @staticmethod
    def write(folder: Path, files: dict[str, str]) -> None:
        for name, text in files.items():
            board.replace(folder / name, text + "\n")


class Reload(Exception):  # noqa: N818 - a request, not an error
    """SIGHUP came."""


def reload(_number: int, _frame: FrameType | None) -> None:
    raise Reload


def main() -> None:
    events = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    events.bind((0, RTMGRP_LINK | RTMGRP_IPV4_IFADDR))
    events.setblocking(False)
    signal.signal(signal.SIGHUP, reload)
    ports = Ports()
    while True:
        with suppress(Reload):
            ports.update()
            Path("/run/spark-lab/ready").touch()
            select.select([events], [], [], 30)
            with suppress(OSError):
                while events.recv(65536):
                    pass
            continue
        ports.spark = board.read()


if __name__ == "__main__":
    main()
