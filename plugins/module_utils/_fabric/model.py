# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""What a fabric is made of. Everything here is frozen and knows nothing of where it came from.

Addresses are integers (host order) until they are shown: a node of a large ring has thousands of them, and the
standard library's address objects cost ten times as much as the plan.
"""

from __future__ import annotations

from dataclasses import dataclass

SCHEMA = 1
"""Version of the dictionaries that leave this package."""

ROOTS = ("A", "B")
"""PCIe roots: PCI domain 0000 and 0002. Each cage is reached through both."""

CAGES = ("p0", "p1")
"""QSFP cages: PCI function 0 (next to the RJ45 socket) and 1."""

SWITCH = "switch"
"""The far end of a cable that leads to an Ethernet switch, and the layout of a fabric whose cables all do."""


@dataclass(frozen=True, slots=True)
class End:
    """One end of a cable. The end at a switch has no cage."""

    host: str
    cage: str

    def __str__(self) -> str:
        return f"{self.host}:{self.cage}" if self.cage else self.host


@dataclass(frozen=True, slots=True)
class Subnet:
    """An IPv4 network: its first address as an integer and its prefix length."""

    network: int
    prefix_length: int

    def __str__(self) -> str:
        return f"{dotted(self.network)}/{self.prefix_length}"

    @property
    def last(self) -> int:
        """The highest address in it."""
        return self.network + (1 << (32 - self.prefix_length)) - 1


@dataclass(frozen=True, slots=True)
class Cable:
    """A cable: its 1-based place in `fabric_cables`, its two ends, its subnets in the order of ROOTS.

    `host_numbers` are those of its ends in these subnets. A switch, which is always the second end, has none: 0.
    """

    number: int
    ends: tuple[End, End]
    subnets: tuple[Subnet, Subnet]
    host_numbers: tuple[int, int] = (1, 2)

    @property
    def name(self) -> str:
        """`host:cage - host:cage`."""
        return f"{self.ends[0]} - {self.ends[1]}"

    def address(self, end: int, root: int) -> int:
        """Address of an end (0 or 1) on a root (index into ROOTS)."""
        return self.subnets[root].network + self.host_numbers[end]


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole fabric. `order[rank]` is the host of that rank; `layout` is pair, triangle, ring or switch."""

    layout: str
    order: tuple[str, ...]
    mtu: int
    control_plane: str
    prefix_length: int
    cables: tuple[Cable, ...]


@dataclass(frozen=True, slots=True)
class Peer:
    """A port that another reaches on its own subnet: the cage and the address there."""

    end: End
    address: int


@dataclass(frozen=True, slots=True)
class Port:
    """One (cage, root) of a node that has a cable. `towards` is previous, next, both or switch.

    A cable has one peer; behind a switch are the same (cage, root) of all other nodes, by rank.
    """

    cage: str
    root: str
    cable: int
    towards: str
    address: int
    subnet: Subnet
    peers: tuple[Peer, ...]


@dataclass(frozen=True, slots=True)
class Route:
    """A way to a foreign subnet (or a single address, prefix length 32) through a neighbour's address."""

    to: Subnet
    via: int
    cage: str
    root: str


@dataclass(frozen=True, slots=True)
class Relay:
    """An ordered pair of cages between which a node forwards, on one root."""

    in_cage: str
    out_cage: str
    root: str


@dataclass(frozen=True, slots=True)
class Far:
    """A node that shares no cable with this one: `relays` nodes lie between on the shortest way."""

    host: str
    rank: int
    relays: int
    addresses: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HostView:
    """What one node needs to know of the fabric."""

    host: str
    rank: int
    previous: str
    next: str
    ports: tuple[Port, ...]
    unused: tuple[str, ...]
    routes: tuple[Route, ...]
    relays: tuple[Relay, ...]
    far: tuple[Far, ...]
    subnets: tuple[Subnet, ...]


_OCTETS = tuple(str(number) for number in range(256))
"""Looking numbers up is three times faster than to format them, and a node of a large ring shows ten thousand."""


def dotted(address: int) -> str:
    """An address as text."""
    octet = _OCTETS
    return (
        octet[address >> 24]
        + "."
        + octet[address >> 16 & 255]
        + "."
        + octet[address >> 8 & 255]
        + "."
        + octet[address & 255]
    )
