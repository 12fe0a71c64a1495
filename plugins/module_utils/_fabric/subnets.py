# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""The subnets of the cables: what they must not touch, and the pool that gives the rest of them."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from .addresses import DEFAULT_POOL, DEFAULT_PREFIX_LENGTH, AddressError
from .errors import listing
from .model import ROOTS, Subnet, dotted


@dataclass(frozen=True, slots=True)
class Claim:
    """A subnet somebody named: `label` is how the error names the cable, `cable` its number, `root` an index.

    `owners` are those that get the addresses 1, 2, … in it.
    """

    subnet: Subnet
    cable: int
    root: int
    label: str
    owners: tuple[str, ...] = ("its first end", "its second end")

    def __str__(self) -> str:
        return f"{self.label}, root {ROOTS[self.root]}: {self.subnet}"


@dataclass(frozen=True, slots=True)
class Taken:
    """Addresses in use outside the fabric: a management network, or one address (prefix length 32)."""

    subnet: Subnet
    users: tuple[str, ...]

    def __str__(self) -> str:
        what = (
            f"management address {dotted(self.subnet.network)}"
            if self.subnet.prefix_length == 32
            else f"management network {self.subnet}"
        )
        return f"{what} of {listing(self.users, 4)}" if self.users else what


class Index:
    """Finds the claims that share an address with a network, in logarithmic time while claims do not overlap."""

    def __init__(self, claims: Iterable[Claim]) -> None:
        self._claims = sorted(claims, key=lambda claim: (claim.subnet.network, claim.cable, claim.root))
        self._firsts = [claim.subnet.network for claim in self._claims]
        # The highest address of all claims up to each: walking left may stop where this is too low.
        self._reach: list[int] = []
        for claim in self._claims:
            self._reach.append(max(claim.subnet.last, self._reach[-1] if self._reach else 0))

    def touching(self, subnet: Subnet) -> Iterator[Claim]:
        """Claims that share an address with the network, highest first."""
        place = bisect_right(self._firsts, subnet.last) - 1
        while place >= 0 and self._reach[place] >= subnet.network:
            if self._claims[place].subnet.last >= subnet.network:
                yield self._claims[place]
            place -= 1

    def overlaps(self) -> Iterator[tuple[Claim, Claim]]:
        """Pairs of claims that share an address: each claim with the one that reaches furthest before it."""
        furthest: Claim | None = None
        for claim in self._claims:
            if furthest is not None and claim.subnet.network <= furthest.subnet.last:
                yield furthest, claim
            if furthest is None or claim.subnet.last > furthest.subnet.last:
                furthest = claim


def check_overlaps(claims: Sequence[Claim]) -> Iterator[str]:
    """Problems of subnets among themselves."""
    for first, second in Index(claims).overlaps():
        if first.cable == second.cable:
            yield (
                f"{first.label}: root A and root B have overlapping subnets ({first.subnet} and {second.subnet}): "
                "the twins of one cage on one subnet answer for each other; give each root its own"
            )
        else:
            one, two = sorted((first, second), key=lambda claim: claim.cable)
            yield (
                f"{two}: overlaps {one.subnet} of {one.label}, root {ROOTS[one.root]}: each root of each cable "
                "needs a subnet of its own; change one of the two"
            )


def check_lengths(claims: Sequence[Claim]) -> Iterator[str]:
    """Problems of prefix lengths: NCCL is told one number for the whole fabric."""
    usual = usual_length(claims)
    model = next((claim for claim in claims if claim.subnet.prefix_length == usual), None)
    for claim in claims:
        if model is not None and claim.subnet.prefix_length != usual:
            yield (
                f"{claim}: has prefix length {claim.subnet.prefix_length}, {model.label} has {usual}: all subnets "
                "of a fabric need one prefix length, because NCCL_IB_SUBNET_PREFIX_LEN is one number; change one"
            )


def usual_length(claims: Iterable[Claim]) -> int:
    """The prefix length that most subnets have (the first seen of equals), 24 if there are none."""
    counts = Counter(claim.subnet.prefix_length for claim in claims)
    return counts.most_common(1)[0][0] if counts else DEFAULT_PREFIX_LENGTH


def check_taken(claims: Sequence[Claim], taken: Iterable[Taken]) -> Iterator[str]:
    """Problems of subnets with addresses that are in use outside the fabric."""
    index = Index(claims)
    for other in taken:
        for claim in index.touching(other.subnet):
            number = other.subnet.network - claim.subnet.network
            same = ""
            if other.subnet.prefix_length == 32 and 1 <= number <= len(claim.owners):
                same = f" and is the very address that {claim.owners[number - 1]} would get"
            yield (
                f"{claim}: overlaps the {other}{same}: a node would lose its management path; "
                "give the cable another subnet"
            )


@dataclass(frozen=True, slots=True)
class Pool:
    """Where cables without subnets of their own get theirs: in order, skipping what other cables name."""

    network: Subnet

    def check_taken(self, taken: Iterable[Taken]) -> Iterator[str]:
        """Problems of the pool as a whole: today's cables may miss a management network that tomorrow's hit."""
        for other in taken:
            if other.subnet.network <= self.network.last and self.network.network <= other.subnet.last:
                yield (
                    f"fabric_subnet_pool {self.network}: overlaps the {other}: a node would lose its management "
                    f"path; choose a pool outside it, such as {DEFAULT_POOL}"
                )

    def draw(self, prefix_length: int, count: int, named: Sequence[Claim], whose: str = "cables") -> list[Subnet]:
        """The first `count` free subnets of that length. Raises AddressError if there are fewer."""
        index = Index(named)
        found: list[Subnet] = []
        size = 1 << (32 - prefix_length)
        for network in range(self.network.network, self.network.last + 2 - size, size):
            if len(found) == count:
                break
            subnet = Subnet(network, prefix_length)
            if next(index.touching(subnet), None) is None:
                found.append(subnet)
        if len(found) < count:
            held = max(0, (self.network.last + 1 - self.network.network) // size)
            used = held - len(found)
            enough = max(0, prefix_length - (count + used - 1).bit_length())
            raise AddressError(
                f"fabric_subnet_pool {self.network}: is too small: {count // 2} {whose} without subnets of their own "
                f"need {count} /{prefix_length} subnets, and it holds {held}"
                + (f", of which cables name {used} already" if used else "")
                + f": choose a pool of /{enough} or larger"
            )
        return found
