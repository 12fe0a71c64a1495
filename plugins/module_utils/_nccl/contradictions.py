# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Settings on a node that contradict the ones that the plan asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from .sources import Source

GID_INDEX = "NCCL_IB_GID_INDEX"
LOGGING = ("NCCL_DEBUG", "NCCL_DEBUG_SUBSYS")
"""They change what NCCL says, not what it does; the proofs set their own."""
LEFTOVERS = ("NCCL_IB_USE_INLINE", "NCCL_IB_PREPOST_RECEIVE_WORK_REQUESTS")

NOT_SET = "not set"


@dataclass(frozen=True, slots=True)
class Contradiction:
    """One setting that contradicts."""

    file: str
    line: int
    name: str
    seen: str
    expected: str
    reason: str
    remedy: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {
            "text": f"{self.file}:{self.line} sets {self.name} to {self.seen}, expected {self.expected}: "
            f"{self.reason}. {self.remedy}"
        }


def _is_set(value: str) -> bool:
    """As NCCL takes a switch: any number but 0."""
    return _number(value) != 0


def _number(value: str) -> int | None:
    try:
        return int(value.strip() or "0", 0)
    except ValueError:
        return None


def same(one: str, other: str) -> bool:
    """Whether NCCL takes two values for the same. Blanks count: to NCCL they are part of a name."""
    if one == other:
        return True
    numbers = _number(one), _number(other)
    return None not in numbers and numbers[0] == numbers[1] and bool(one.strip() and other.strip())


REASONS = {
    GID_INDEX: "the index differs between nodes and drifts while they run, and an empty value is index 0, a link-local "
    "address",
    "NCCL_IB_USE_INLINE": "a leftover of old images that froze the first all-reduce of four bytes",
    "NCCL_IB_PREPOST_RECEIVE_WORK_REQUESTS": "a leftover of old images that froze the first all-reduce of four bytes",
    "NCCL_IB_DEVICE_PCI_ORDER": "the channel graph numbers the devices by their PCI addresses",
    "NCCL_IB_DISABLE": "NCCL would go over sockets without a word",
    "NCCL_NET": "NCCL would go over another network than RDMA without a word",
    "VLLM_BATCH_INVARIANT": "it makes vLLM ask for the tree, which needs a cable between ranks that have none",
}
"""Why a setting hurts that is not part of what the plan asks for."""

OVERRULED = "NCCL takes it wherever the environment does not have the name"
COMPETES = "which of the two a program gets depends on how it is started"


def _unasked(source: Source) -> str | None:
    """What a setting should be that the plan says nothing about. None: it does no harm."""
    if source.name == GID_INDEX:
        return NOT_SET
    if source.name in (*LEFTOVERS, "NCCL_IB_DISABLE", "VLLM_BATCH_INVARIANT"):
        return NOT_SET if _is_set(source.value) else None
    if source.name == "NCCL_IB_DEVICE_PCI_ORDER":
        return NOT_SET if not _is_set(source.value) else None
    if source.name == "NCCL_NET":
        return NOT_SET if source.value.strip().upper() not in ("", "IB") else None
    return None


def _expected(source: Source, environment: Mapping[str, str], absent: frozenset[str]) -> str | None:
    if source.name in absent:
        return NOT_SET
    if source.name not in environment:
        return _unasked(source)
    wanted = environment[source.name]
    return None if source.name in LOGGING or same(source.value, wanted) else repr(wanted)


def contradictions(
    sources: Iterable[Source], environment: Mapping[str, str], absent: Iterable[str] = ()
) -> list[Contradiction]:
    """Settings made elsewhere that the plan's environment contradicts, in the order of the files.

    ``environment`` is what the plan asks for, ``absent`` the names that must not be set at all, not even to nothing.
    The collection's own file is left out: the role writes it anew. Equal values are no contradiction.
    """
    unwanted = frozenset(absent)
    found = []
    for source in sources:
        expected = None if source.ours else _expected(source, environment, unwanted)
        if expected is None:
            continue
        general = OVERRULED if source.kind == "nccl_conf" else COMPETES
        found.append(
            Contradiction(
                file=source.file,
                line=source.line,
                name=source.name,
                seen=repr(source.value) if source.value else "nothing (an empty value is a value)",
                expected=expected,
                reason=REASONS.get(source.name, general),
                remedy=f"Remove line {source.line} of {source.file}",
            )
        )
    return found
