# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Cables to an order of nodes: the graph, walked from the head."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .errors import FabricError, listing
from .model import CAGES, End

Ends = tuple[End, End]


@dataclass(frozen=True, slots=True)
class Step:
    """The cable (an index into the cables) from one rank to the next; `near` is the index of its end at the first."""

    cable: int
    near: int


@dataclass(frozen=True, slots=True)
class Walk:
    """Hosts in cable order. `steps[i]` leads from `order[i]` to the next; a closed walk has as many steps as hosts."""

    order: tuple[str, ...]
    steps: tuple[Step, ...]

    @property
    def closed(self) -> bool:
        """Whether the last step leads back to the first host."""
        return len(self.steps) == len(self.order)


def incidence(cables: Sequence[Ends]) -> dict[str, list[int]]:
    """The cables (indices, in order) of each host."""
    found: dict[str, list[int]] = {}
    for index, ends in enumerate(cables):
        for end in ends:
            found.setdefault(end.host, []).append(index)
    return found


def walk(cables: Sequence[Ends], at: Mapping[str, Sequence[int]], start: str) -> Walk:
    """Follow the cables from `start`, along the first of its cables in the list.

    Every host has one or two cables and none leads back to its own host, so the walk ends at `start` or at a host with
    one cable.
    """
    order = [start]
    steps: list[Step] = []
    host, cable = start, at[start][0]
    while True:
        near = 0 if cables[cable][0].host == host else 1
        steps.append(Step(cable, near))
        host = cables[cable][1 - near].host
        if host == start:
            return Walk(tuple(order), tuple(steps))
        order.append(host)
        onward = [other for other in at[host] if other != cable]
        if not onward:
            return Walk(tuple(order), tuple(steps))
        cable = onward[0]


def components(cables: Sequence[Ends], at: Mapping[str, Sequence[int]]) -> Iterator[Walk]:
    """The separate parts of the fabric, each walked from an end if it has one."""
    seen: set[str] = set()
    for alone in (True, False):
        for host, links in at.items():
            if host not in seen and (len(links) == 1) is alone:
                part = walk(cables, at, host)
                seen.update(part.order)
                yield part


def find_walk(cables: Sequence[Ends], hosts: Sequence[str], head: str) -> Walk:
    """The one closed ring (or the pair) that all hosts form, from the head. Raises FabricError."""
    at = incidence(cables)
    bare = sorted(host for host in hosts if host not in at)
    problems = [no_cable(host) for host in bare]
    parts = list(components(cables, at))
    if len(parts) > 1:
        problems.append(
            f"the cables form {len(parts)} separate parts: {'; '.join(_part(part) for part in parts[:8])}"
            f"{f'; and {len(parts) - 8} more' if len(parts) > 8 else ''}: a fabric is one ring through all hosts; "
            "move one cable of each part so that they join, or give each part a group of its own"
        )
    elif parts and not bare and not parts[0].closed and len(parts[0].order) > 2:
        problems.append(_open_chain(cables, at, parts[0]))
    if problems:
        raise FabricError(*problems)
    return walk(cables, at, head)


def no_cable(host: str) -> str:
    """The problem of a host that no cable touches."""
    return (
        f"host {host} is in the group but has no cable: add its cables to fabric_cables, or take the host out "
        "of the group"
    )


def _part(part: Walk) -> str:
    numbers = listing(str(step.cable + 1) for step in sorted(part.steps, key=lambda step: step.cable))
    return (
        f"{'ring' if part.closed and len(part.order) > 2 else 'chain' if len(part.order) > 2 else 'pair'} "
        f"{listing(part.order)} (cable{'' if len(part.steps) == 1 else 's'} {numbers})"
    )


def _open_chain(cables: Sequence[Ends], at: Mapping[str, Sequence[int]], part: Walk) -> str:
    first, last = part.order[0], part.order[-1]
    ends = []
    for host in (first, last):
        used = {end.cage for end in cables[at[host][0]] if end.host == host}
        ends.append(str(End(host, next(cage for cage in CAGES if cage not in used))))
    trail = listing(_cable(cables, step) for step in part.steps)
    return (
        f"the cables form an open chain from {first} to {last} ({trail}): tensor parallelism needs a closed ring, "
        "because every node sends to the next and receives from the previous one (any three Sparks of a ring of "
        f"four form such a line); add the cable {ends[0]} - {ends[1]}"
    )


def _cable(cables: Sequence[Ends], step: Step) -> str:
    one, two = cables[step.cable]
    return f"cable {step.cable + 1} ({one} - {two})"
