# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GID table of an RDMA port."""

from __future__ import annotations

from ipaddress import IPv6Address

from .model import Gid
from .sysfs import Tree

# What the kernel writes → what people and tools call it.
TYPES = {"IB/RoCE v1": "RoCE v1", "RoCE v1": "RoCE v1", "RoCE v2": "RoCE v2"}


def ipv4_of(gid: str) -> str | None:
    """C(0000:…:ffff:c0a8:640a) → C(192.168.100.10); None for any other kind of GID."""
    try:
        mapped = IPv6Address(gid).ipv4_mapped
    except ValueError:
        return None
    return str(mapped) if mapped is not None else None


def is_empty(gid: str | None) -> bool:
    return gid is None or not gid.strip("0:")


def read(sys: Tree, *port: str) -> tuple[Gid, ...]:
    """All entries in use, by index. An empty index reads as zeros or EINVAL; so may its type and netdev."""
    found = []
    for index in sorted(int(name) for name in sys.names(*port, "gids") if name.isdigit()):
        gid = sys.read(*port, "gids", str(index))
        if gid is None or is_empty(gid):
            continue
        kind = sys.read(*port, "gid_attrs", "types", str(index))
        found.append(
            Gid(
                index=index,
                gid=gid,
                type=TYPES.get(kind, kind) if kind else None,
                ipv4=ipv4_of(gid),
                netdev=sys.read(*port, "gid_attrs", "ndevs", str(index)) or None,
            )
        )
    return tuple(found)
