# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Whether a node can register memory with its NIC: what the kernel says of itself, judged.

Two causes give the same words (``ibv_reg_mr failed with error Cannot allocate memory``): a kernel whose contiguous
memory area is gone, and a limit on locked memory. Both can be seen before NCCL is tried.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree

BROKEN_KERNELS = re.compile(r"7\.\d+\.\d+-\d+-nvidia")
"""7.0.0-1019-nvidia is the one that was seen."""
GOOD_KERNELS = "6.17.0-1031-nvidia or 6.17.0-1032-nvidia"
NORMAL_CMA_KB = 131072

_MEMINFO = re.compile(r"(?P<name>\w+(?:\(\w+\))?):\s+(?P<kb>\d+)(?: kB)?")
_LOCKED = re.compile(r"Max locked memory\s+(?P<soft>\S+)\s+(?P<hard>\S+)")


@dataclass(frozen=True, slots=True)
class Memory:
    """C(/proc/meminfo) in kB, the kernel, and the limits on locked memory in bytes. Null is not known.

    C(-1) is no limit.
    """

    cma_total_kb: int | None = None
    cma_free_kb: int | None = None
    available_kb: int | None = None
    free_kb: int | None = None
    kernel: str | None = None
    kho_off: bool = False
    locked_soft: int | None = None
    locked_hard: int | None = None
    locked_services: int | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a node cannot register memory."""

    code: str
    host: str
    seen: str
    expected: str
    remedy: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {
            "text": f"{self.host} cannot register memory: {self.seen}, expected {self.expected}. {self.remedy}"
        }


def meminfo(text: str | None) -> dict[str, int]:
    """Names to kB."""
    return {match["name"]: int(match["kb"]) for match in map(_MEMINFO.match, (text or "").splitlines()) if match}


def limit(text: str | None) -> int | None:
    """A limit as C(/proc/PID/limits) and systemd write it. Nothing for what is no number."""
    if text in ("unlimited", "infinity", str((1 << 64) - 1)):
        return -1
    return int(text) if text is not None and text.isdecimal() else None


def look(tree: Tree, services: str | None) -> Memory:
    """Read it. ``services`` is what C(systemctl show --property=DefaultLimitMEMLOCKSoft) said."""
    sizes = meminfo(tree.read("proc", "meminfo"))
    locked = _LOCKED.search(tree.read("proc", "self", "limits") or "")
    said = dict(line.partition("=")[::2] for line in (services or "").split("\n"))
    return Memory(
        cma_total_kb=sizes.get("CmaTotal"),
        cma_free_kb=sizes.get("CmaFree"),
        available_kb=sizes.get("MemAvailable"),
        free_kb=sizes.get("MemFree"),
        kernel=tree.read("proc", "sys", "kernel", "osrelease") or None,
        kho_off="kho=off" in (tree.read("proc", "cmdline") or "").split(),
        locked_soft=limit(locked["soft"]) if locked else None,
        locked_hard=limit(locked["hard"]) if locked else None,
        locked_services=limit(said.get("DefaultLimitMEMLOCKSoft")),
    )


def refusal(host: str, memory: Memory) -> Refusal | None:
    """What keeps this node from registering memory, if that can be seen.

    More free pages in the contiguous area than it has is the fault itself. An area of 0 is its sign on the kernels that
    have the fault only: many other kernels are built without one, and with C(kho=off) 0 is right.
    The limits on locked memory decide nothing here: root is above them, and a unit or a container sets its own.
    """
    total, free, kernel = memory.cma_total_kb, memory.cma_free_kb, memory.kernel or "unknown"
    if total is None:
        return None
    faulty = BROKEN_KERNELS.match(kernel) is not None and not memory.kho_off
    if not (free is not None and free > total) and not (total == 0 and faulty):
        return None
    return Refusal(
        code="cma",
        host=host,
        seen=f"CmaTotal {total} kB and CmaFree {_kb(free)} in /proc/meminfo, kernel {kernel}",
        expected=f"CmaTotal {NORMAL_CMA_KB} kB and no more than that free",
        remedy=f"Boot it with kho=off, or boot {GOOD_KERNELS}: under this fault ibv_reg_mr fails even for 1 KB",
    )


def _kb(value: int | None) -> str:
    return "unknown" if value is None else f"{value} kB"
