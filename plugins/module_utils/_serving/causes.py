# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""What a line of a rank means: this collection's own words for it, and how much it counts.

- PRIMARY: it is what went wrong on this rank;
- UNKNOWN: a real error that no table knows;
- SILENT: a process ended and said nothing of why;
- POINTER: this rank could not reach another one, which is the one to look at;
- SYMPTOM: something else went wrong before, here or on another rank, and this rank noticed;
- WEAK: it can be there without harm, and counts in a run only, or on a rank that others lost without a word.

What NCCL, gloo and torch's rendezvous write is in NCCL's own table; here is what is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._nccl.causes import PRIMARY, SYMPTOM, WEAK

UNKNOWN, SILENT, POINTER = "unknown", "silent", "pointer"

Facts = Mapping[str, Any]
"""What a node said of itself: see C(host) of vllm_journal_info."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several causes that give one text. C(holds) says whether a node's facts name it; null is: they cannot."""

    code: str
    cause: str
    cure: str
    holds: Callable[[Facts], bool] | None = None

    def as_dict(self) -> dict[str, str]:
        return {"code": self.code, "cause": self.cause, "cure": self.cure}


@dataclass(frozen=True, slots=True)
class Cause:
    """C(cause), C(cure) and C(check) may name groups of the pattern in braces.

    C(before) is for how many seconds the rank had waited when it wrote the line, where the line does not say.
    """

    code: str
    pattern: re.Pattern[str]
    cause: str
    cure: str
    check: str = ""
    weight: str = PRIMARY
    choices: tuple[Choice, ...] = ()
    before: float = 0.0


def cause(
    code: str,
    pattern: str,
    why: str,
    cure: str,
    check: str = "",
    weight: str = PRIMARY,
    choices: tuple[Choice, ...] = (),
    before: float = 0.0,
) -> Cause:
    return Cause(code, re.compile(pattern), why, cure, check, weight, choices, before)


def no_contiguous_memory(facts: Facts) -> bool:
    return facts.get("cma_total_kb") == 0


def limited_memlock(facts: Facts) -> bool:
    limit = facts.get("memlock")
    return limit not in (None, "", "infinity") and facts.get("cma_total_kb") != 0


MEMORY_CHOICES = (
    Choice(
        "kernel_cma",
        "the kernel's contiguous memory area is gone (CmaTotal is 0 kB), as with 7.0.0-1019-nvidia and its like",
        "Boot with kho=off, or boot 6.17.0-1032-nvidia",
        no_contiguous_memory,
    ),
    Choice(
        "memlock",
        "the limit on locked memory is too low for what the NIC registers",
        "LimitMEMLOCK=infinity in the unit, --ulimit memlock=-1 for a container",
        limited_memlock,
    ),
)

PAIRING_CHOICES = (
    Choice(
        "wiring",
        "the ports that NCCL paired are not joined by a cable",
        "Move the cable to where the plan says; stock NCCL needs NCCL_IB_SUBNET_AWARE_ROUTING=1 and the channel graph",
    ),
    Choice(
        "hca_choice",
        "NCCL_IB_HCA names a port that leads to another node, or none that leads to this one",
        "NCCL_IB_HCA and NCCL_SOCKET_IFNAME for each node, as the role transport writes them",
    ),
    Choice(
        "other_nccl",
        "the NCCL that is loaded, as the one in an image, is not the one that was tested on this cabling",
        "The same NCCL as on the host, by checksum: equal versions are not equal builds",
    ),
)

CHOICES: Mapping[str, tuple[Choice, ...]] = {"register_memory": MEMORY_CHOICES, "no_cable": PAIRING_CHOICES}
"""Codes of NCCL's table whose text has several causes that a node's facts can tell apart."""

POINTERS = frozenset(("control_unreachable", "control_refused", "fabric_unreachable"))
"""Codes of NCCL's table that accuse the other end: they count less than an error of that end's own."""

__all__ = [
    "CHOICES",
    "POINTER",
    "POINTERS",
    "PRIMARY",
    "SILENT",
    "SYMPTOM",
    "UNKNOWN",
    "WEAK",
    "Cause",
    "Choice",
    "Facts",
    "cause",
]
