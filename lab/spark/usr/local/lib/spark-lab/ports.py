# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps what /sys shows of each ConnectX-7 port in step with its netdev: speed, RDMA state, rate, GIDs.

Waits for link and address events; on SIGHUP (systemctl reload spark-ports) it reads its files again. It is also what
takes the functions off the bus when hot-plug does: only a boot brings them back.
"""

from __future__ import annotations

import ipaddress
import json
import select
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import board
import kernel_log

READY = Path("/run/spark-lab/ready")  # holds the version of the overrides that /sys shows
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


def hotplug_folder() -> Path:
    return board.SYS / "devices" / "platform" / "MTKP0001:00" / "pcie_hotplug"


def armed() -> bool:
    """Whether this boot armed hot-plug; taking the marker away later changes nothing until the next one."""
    return (hotplug_folder() / "hotplug_enabled").read_text().strip() == "1"


def command(*argv: str) -> None:
    subprocess.run(argv, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def unplug(info: dict[str, Any]) -> None:
    """Take one function off the bus, with its netdev and its RDMA device."""
    sys, folder = board.SYS, board.pci_path(info["pci"])
    for link in ("bus/pci/devices", "bus/pci/drivers/mlx5_core"):
        (sys / link / info["pci"]).unlink(missing_ok=True)
    (sys / "class" / "infiniband" / info["rdma"]).unlink(missing_ok=True)
    netdev = sys / "devices" / "virtual" / "net" / info["netdev"]
    for mount in (netdev / "uevent", netdev):
        command("/usr/bin/umount", "--lazy", str(mount))
    command("/usr/sbin/ip", "link", "delete", info["netdev"])
    shutil.rmtree(folder, ignore_errors=True)


class Ports:
    """The four ports of this node."""

    def __init__(self) -> None:
        self.lit: dict[str, bool] = {}
        self.read()

    def read(self) -> None:
        self.version = board.version()
        self.spark = board.read()

    def functions(self) -> list[dict[str, Any]]:
        """Those that are on the bus."""
        return [info for info in self.spark["functions"] if board.pci_path(info["pci"]).exists()]

    def update(self) -> None:
        self.remove()
        have = addresses()
        news = []
        for info in self.functions():
            netdev = info["netdev"]
            up = carrier(netdev)
            if up != self.lit.get(netdev, False):
                news.append(f"mlx5_core {info['pci']} {netdev}: Link {'up' if up else 'down'}")
            self.lit[netdev] = up
            self.show(info, have.get(netdev, []), up=up)
        for address in ("0000:00:00.0", "0002:00:00.0"):
            asleep = not any(info["pci"].startswith(address[:4]) for info in self.functions())
            lane = board.lane(self.spark, address) | (board.ASLEEP if asleep else {})
            self.write(board.root_path(address), lane)
        if news:
            with suppress(OSError, subprocess.CalledProcessError):
                kernel_log.say(*news)

    def show(self, info: dict[str, Any], local: list[str], *, up: bool) -> None:
        netdev = board.SYS / "devices" / "virtual" / "net" / info["netdev"]
        changed = self.spark["overrides"].get("ports", {}).get(info["netdev"], {})
        net = {"speed": "200000" if up else "-1", "duplex": "full" if up else "unknown"}
        self.write(netdev, net | changed.get("net", {}) | (changed.get("net_up", {}) if up else {}))
        port = board.pci_path(info["pci"]) / "infiniband" / info["rdma"] / "ports" / "1"
        self.write(port, (UP if up else DOWN) | changed.get("rdma", {}) | (changed.get("rdma_up", {}) if up else {}))
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
        self.write(board.pci_path(info["pci"]), board.lane(self.spark, info["pci"]))

    @staticmethod
    def write(folder: Path, files: dict[str, str]) -> None:
        for name, text in files.items():
            board.replace(folder / name, text + "\n")

    def removal(self) -> float | None:
        """Seconds until hot-plug takes the NIC off the bus; None if it does not, as when it is not armed."""
        planned = self.spark["overrides"].get("removal")
        if planned is None or not self.functions() or not armed():
            return None
        return max(0.0, float(planned["at"]) - time.clock_gettime(time.CLOCK_BOOTTIME))

    def remove(self) -> None:
        """Take the NIC off the bus if it is time."""
        if self.removal() != 0.0:
            return
        gone = self.functions()
        for info in gone:
            unplug(info)
        board.replace(hotplug_folder() / "debug_state", "0\n")
        lost = [f"mlx5_core {info['pci']} {info['netdev']}: Link down" for info in gone if self.lit.get(info["netdev"])]
        self.lit.clear()
        with suppress(OSError, subprocess.CalledProcessError):
            kernel_log.say(*lost)
            kernel_log.add([tuple(line) for line in self.spark["overrides"]["removal"]["log"]])


def main() -> None:
    events = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    events.bind((0, RTMGRP_LINK | RTMGRP_IPV4_IFADDR))
    events.setblocking(False)
    # A signal only wakes select: an exception in its handler would cut a message or a removal in two.
    woken, waker = socket.socketpair()
    woken.setblocking(False)
    waker.setblocking(False)
    signal.signal(signal.SIGHUP, lambda _number, _frame: None)
    signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
    ports = Ports()
    while True:
        ports.update()
        READY.write_text(f"{ports.version}\n")
        due = ports.removal()
        select.select([events, woken], [], [], 30 if due is None else min(30.0, due))
        with suppress(OSError):
            while events.recv(65536):
                pass
        with suppress(OSError):
            if woken.recv(64):
                ports.read()


if __name__ == "__main__":
    main()
