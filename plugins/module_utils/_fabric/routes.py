# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Which way round a node reaches each subnet that it is not on.

Ranks and steps: step s is the cable from rank s to rank s + 1 (modulo the size). A node of rank r is on the steps r and
r - 1. All of this is index arithmetic, so one node costs time linear in the size of the ring and no search.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .layout import Step
from .model import ROOTS, Cable, Relay, Route, Subnet

RELAY_SIZE = 4
"""From this many nodes on, some node lies between two others that share no cable."""


class Ring:
    """A closed walk over cables, with the arithmetic of ranks."""

    def __init__(self, cables: Sequence[Cable], steps: Sequence[Step]) -> None:
        self.cables = [cables[step.cable] for step in steps]
        self.near = [step.near for step in steps]
        self.size = len(steps)

    def cage(self, rank: int, onward: bool) -> str:
        """The cage of a rank that faces the next (onward) or the previous one."""
        step = rank if onward else (rank - 1) % self.size
        return self.cables[step].ends[self._end(step, onward)].cage

    def address(self, rank: int, onward: bool, root: int) -> int:
        """The address of the port that faces the next (onward) or the previous rank."""
        step = rank if onward else (rank - 1) % self.size
        return self.cables[step].address(self._end(step, onward), root)

    def _end(self, step: int, first: bool) -> int:
        return self.near[step] if first else 1 - self.near[step]

    def routes(self, rank: int) -> list[Route]:
        """Routes of a rank to every subnet that it is not on, by address.

        The way onward to a step takes `ahead` hops to a node that is on it, the way back size - 1 - ahead. The shorter
        wins. In a ring of odd size one step is equally far: a packet to its nearer owner one way round is
        answered by that owner the same way, while the address at the other end of that cable would be one hop more, and
        its owner would answer the other way round. So each of the two addresses gets a route of its own, to its owner.
        """
        size = self.size
        found: list[Route] = []
        for root, name in enumerate(ROOTS):
            onward = (self.address((rank + 1) % size, False, root), self.cage(rank, True), name)
            back = (self.address((rank - 1) % size, True, root), self.cage(rank, False), name)
            for ahead in range(1, size - 1):
                step = (rank + ahead) % size
                if 2 * ahead == size - 1:
                    found.append(Route(Subnet(self.address(step, True, root), 32), *onward))
                    found.append(Route(Subnet(self.address((step + 1) % size, False, root), 32), *back))
                else:
                    shorter = onward if 2 * ahead < size - 1 else back
                    found.append(Route(self.cables[step].subnets[root], *shorter))
        found.sort(key=lambda route: route.to.network)
        return found

    def relays(self, rank: int) -> list[Relay]:
        """What a rank forwards: what some route of some rank sends through it, and no more.

        From four nodes on its two neighbours reach each other's near cable through it, both ways, each on its own root
        (the routes above never change roots); below four no route passes a node.
        """
        if self.size < RELAY_SIZE:
            return []
        pair = sorted((self.cage(rank, True), self.cage(rank, False)))
        return [Relay(one, two, root) for one, two in (pair, pair[::-1]) for root in ROOTS]

    def far(self, rank: int) -> Iterator[tuple[int, int]]:
        """(rank, number of relays between) of every rank that shares no cable with this one."""
        for other in range(self.size):
            hops = min((other - rank) % self.size, (rank - other) % self.size)
            if hops > 1:
                yield other, hops - 1
