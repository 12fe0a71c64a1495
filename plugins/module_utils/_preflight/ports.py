# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who listens on TCP ports: C(/proc/net/tcp) and C(/proc/net/tcp6).

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree

TABLES = ("tcp", "tcp6")
LISTEN = "0A"
_WORD = 8  # hexadecimal digits of 32 bits, which are in the order of this machine


@dataclass(frozen=True, slots=True)
class Listener:
    """A port that is taken. The process is null when it is another user's and this is not root."""

    port: int
    address: str
    pid: int | None = None
    process: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def address(text: str) -> str:
    """C(0100007F) is 127.0.0.1."""
    words = (text[at : at + _WORD] for at in range(0, len(text), _WORD))
    return str(ipaddress.ip_address(b"".join(bytes.fromhex(word)[::-1] for word in words)))


def parse(text: str) -> Iterator[tuple[int, str, str]]:
    """Port, address and inode of each socket that listens. One that merely has this port at its end does not."""
    for line in text.splitlines()[1:]:
        match line.split():
            case [_, local, _, state, _, _, _, _, _, inode, *_] if state == LISTEN:
                host, _colon, port = local.partition(":")
                yield int(port, 16), address(host), inode


def look(tree: Tree, wanted: Collection[int]) -> tuple[Listener, ...] | None:
    """Those of the ports that are taken, sorted. Null when nobody says; IPv6 may be off."""
    if not wanted:
        return ()
    tables = [_whole(tree, name) for name in TABLES]
    if tables[0] is None:
        return None
    found = sorted({row for text in tables for row in parse(text or "") if row[0] in wanted})
    owners = _owners(tree, {inode for _port, _address, inode in found})
    return tuple(Listener(port, host, *owners.get(inode, (None, None))) for port, host, inode in found)


def _whole(tree: Tree, table: str) -> str | None:
    """These files come in pieces of a page."""
    try:
        return tree.path("proc", "net", table).read_text("ascii")
    except (OSError, ValueError):
        return None


def _owners(tree: Tree, inodes: Collection[str]) -> Mapping[str, tuple[int, str | None]]:
    """Inode to process. Asked only for a port that is taken, since it reads every process."""
    found: dict[str, tuple[int, str | None]] = {}
    for pid in tree.names("proc") if inodes else ():
        if not pid.isdecimal():
            continue
        for handle in tree.names("proc", pid, "fd"):
            try:
                kind, _colon, rest = str(tree.path("proc", pid, "fd", handle).readlink()).partition(":")
            except OSError:
                continue
            if kind == "socket" and rest.strip("[]") in inodes:
                found.setdefault(rest.strip("[]"), (int(pid), tree.read("proc", pid, "comm") or None))
    return found
