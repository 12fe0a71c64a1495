# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Named network namespaces, and the few netlink calls that are needed too often for a process each."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from lab.common import run

FOLDER = Path("/run/netns")
IFF_UP = 1
RTM_NEWLINK = 16
RTM_GETLINK = 18
NLMSG_ERROR = 2
NLMSG_DONE = 3
NLM_F_REQUEST = 1
NLM_F_DUMP = 0x300
RTMGRP_LINK = 1
IFLA_IFNAME = 3


@dataclass(frozen=True)
class Link:
    """A network interface as RTM_NEWLINK shows it."""

    index: int
    name: str
    up: bool


def path(name: str) -> Path:
    return FOLDER / name


def exists(name: str) -> bool:
    return path(name).exists()


def create(name: str) -> None:
    run(["ip", "netns", "add", name])
    run(["ip", "-n", name, "link", "set", "lo", "up"])


def delete(name: str) -> None:
    """Remove a namespace, also when a killed `ip netns add` left only its empty file."""
    if exists(name) and run(["ip", "netns", "delete", name], check=False).returncode != 0:
        with suppress(OSError):
            path(name).unlink()


def names(prefix: str) -> list[str]:
    return sorted(entry.name for entry in FOLDER.glob("*") if entry.name.startswith(prefix)) if FOLDER.is_dir() else []


def batch(name: str, commands: list[str]) -> None:
    """Several `ip` commands in one namespace and one process."""
    run(["ip", "-n", name, "-batch", "-"], text="\n".join(commands) + "\n")


@contextmanager
def inside(name: str) -> Iterator[None]:
    """Be in a namespace for a moment: a socket made there stays there."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        there = os.open(path(name), os.O_RDONLY)
        try:
            os.setns(there, os.CLONE_NEWNET)
        finally:
            os.close(there)
        yield
    finally:
        os.setns(home, os.CLONE_NEWNET)
        os.close(home)


class Links:
    """The links of one namespace: listens for changes, lists them, sets them up and down."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.inode = path(name).stat().st_ino
        with inside(name):
            self.events = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
            self.events.bind((0, RTMGRP_LINK))
            self.requests = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
            self.requests.bind((0, 0))
        self.events.setblocking(False)

    def current(self) -> bool:
        """Whether the name still stands for the namespace that was opened."""
        try:
            return path(self.name).stat().st_ino == self.inode
        except OSError:
            return False

    def close(self) -> None:
        self.events.close()
        self.requests.close()

    def drain(self) -> None:
        with suppress(
            OSError
        ):  # EAGAIN: none left; ENOBUFS: some were lost, but all links are listed afterwards anyway
            while self.events.recv(65536):
                pass

    def list(self) -> dict[str, Link]:
        header = struct.pack("=IHHII", 32, RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, 1, 0)
        self.requests.send(header + struct.pack("=BBHiII", socket.AF_UNSPEC, 0, 0, 0, 0, 0))
        found: dict[str, Link] = {}
        while True:
            data = self.requests.recv(1 << 18)
            for kind, payload in messages(data):
                if kind in (NLMSG_DONE, NLMSG_ERROR):
                    return found
                if kind == RTM_NEWLINK:
                    link = parse_link(payload)
                    found[link.name] = link

    def set_up(self, link: Link, *, up: bool) -> None:
        header = struct.pack("=IHHII", 32, RTM_NEWLINK, NLM_F_REQUEST, 2, 0)
        self.requests.send(header + struct.pack("=BBHiII", socket.AF_UNSPEC, 0, 0, link.index, IFF_UP * up, IFF_UP))


def messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The netlink messages in one datagram: type and payload."""
    while len(data) >= 16:
        length, kind = struct.unpack_from("=IH", data)
        if length < 16:
            return
        yield kind, data[16:length]
        data = data[(length + 3) & ~3 :]


def parse_link(payload: bytes) -> Link:
    _, _, _, index, flags, _ = struct.unpack_from("=BBHiII", payload)
    name, rest = "", payload[16:]
    while len(rest) >= 4:
        length, kind = struct.unpack_from("=HH", rest)
        if length < 4:
            break
        if kind == IFLA_IFNAME:
            name = rest[4:length].rstrip(b"\0").decode()
        rest = rest[(length + 3) & ~3 :]
    return Link(index, name, bool(flags & IFF_UP))
