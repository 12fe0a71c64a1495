# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""`fabric_cables` as the user wrote it, read with every mistake noted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .addresses import LONGEST_PREFIX, SHORTEST_PREFIX, AddressError, parse_usable
from .errors import did_you_mean, listing, shown
from .model import CAGES, ROOTS, SWITCH, End, Subnet
from .plain import as_list, plain
from .subnets import Claim

_KEYS = ("ends", "subnets")
_EXAMPLE = 'write it as {ends: ["spark1:p0", "spark2:p1"]}'


@dataclass(frozen=True, slots=True)
class CableInput:
    """An item of `fabric_cables` as far as it could be read.

    `ends` is None if they could not. `subnets` is None if the cable names none (`pooled`) or they could not be read.
    """

    number: int
    ends: tuple[End, End] | None
    subnets: tuple[Subnet, Subnet] | None
    pooled: bool

    @property
    def switched(self) -> bool:
        """Whether it leads to the switch, which is then its second end."""
        return self.ends is not None and self.ends[1].host == SWITCH

    @property
    def label(self) -> str:
        """How errors name the cable: by number and ends."""
        return f"cable {self.number} ({self.ends[0]} - {self.ends[1]})" if self.ends else f"cable {self.number}"

    def claims(self) -> list[Claim]:
        """Its own subnets."""
        return [Claim(subnet, self.number, root, self.label) for root, subnet in enumerate(self.subnets or ())]


def parse_cables(raw: object, problems: list[str]) -> list[CableInput]:
    """Read `fabric_cables`: a list of mappings with `ends` and, if wanted, `subnets`."""
    items = as_list(raw)
    if items is None:
        problems.append(f"fabric_cables is {shown(raw)}: expected a list with one item a cable; {_EXAMPLE}")
        return []
    if not items:
        problems.append(f"fabric_cables is empty: expected one item for each cable; {_EXAMPLE}")
    return [_parse_cable(number, item, problems) for number, item in enumerate(items, start=1)]


def _parse_cable(number: int, raw: object, problems: list[str]) -> CableInput:
    if not isinstance(raw, Mapping):
        problems.append(f"cable {number} is {shown(raw)}: expected a mapping with 'ends'; {_EXAMPLE}")
        return CableInput(number, None, None, pooled=False)
    item = {plain(key): value for key, value in raw.items()}
    ends = _parse_ends(number, item, problems)
    bare = CableInput(number, ends, None, pooled="subnets" not in item)
    problems.extend(
        f"{bare.label}: has the unknown key {shown(key)}: expected only ends and subnets{did_you_mean(key, _KEYS)}"
        for key in item
        if key not in _KEYS
    )
    if bare.pooled:
        return bare
    return CableInput(number, ends, _parse_subnets(bare.label, item["subnets"], problems), pooled=False)


def _parse_ends(number: int, item: Mapping[object, object], problems: list[str]) -> tuple[End, End] | None:
    label = f"cable {number}"
    if "ends" not in item:
        problems.append(f"{label}: has no 'ends': expected the two ends of the cable; {_EXAMPLE}")
        return None
    raw = as_list(item["ends"])
    if raw is None:
        problems.append(f"{label}: ends is {shown(item['ends'])}: expected a list of two; {_EXAMPLE}")
        return None
    ends = [_parse_end(label, end, problems) for end in raw]
    if len(ends) != 2:
        seen = listing(shown(end) for end in raw) or "none"
        problems.append(f"{label}: has {len(ends)} ends ({seen}): a cable has two; {_EXAMPLE}")
        return None
    first, second = ends
    if not first or not second:
        return None
    if first.host == second.host == SWITCH:
        problems.append(
            f'{label}: both ends are the switch: one is at a Spark; write it as {{ends: ["spark1:p0", "switch"]}}'
        )
        return None
    return (second, first) if first.host == SWITCH else (first, second)


def _parse_end(label: str, raw: object, problems: list[str]) -> End | None:
    value = plain(raw)
    cages = " or ".join(CAGES)
    if isinstance(value, dict):
        problems.append(
            f"{label}: YAML read an end as {shown(value)}: write host:cage without a space behind the colon, in quotes"
        )
        return None
    if not isinstance(value, str):
        problems.append(
            f'{label}: YAML read an end as {shown(value)}: expected host:cage; put it in quotes, as in "spark1:p0"'
        )
        return None
    if value == SWITCH:
        return End(SWITCH, "")
    host, colon, cage = value.rpartition(":")
    if not colon or not host.strip():
        problems.append(
            f'{label}: end {shown(value)} is not host:cage: write the host, a colon and {cages}, as in "spark1:p0"'
            + did_you_mean(value, (SWITCH,))
        )
        return None
    if host == SWITCH:
        problems.append(f"{label}: end {shown(value)} names a cage of the switch: write {SWITCH!r} alone, it has none")
        return None
    if host != host.strip():
        problems.append(f"{label}: end {shown(value)} has a space in the host's name: take it out")
        return None
    if cage not in CAGES:
        problems.append(
            f"{label}: end {shown(value)} names the cage {shown(cage)}: expected {cages} (p0 is the one next "
            "to the RJ45 socket)"
        )
        return None
    return End(host, cage)


def _parse_subnets(label: str, raw: object, problems: list[str]) -> tuple[Subnet, Subnet] | None:
    cure = "name two, root A's first, then root B's, or leave the key out to take both from fabric_subnet_pool"
    items = as_list(raw)
    if items is None:
        problems.append(f"{label}: subnets is {shown(raw)}: expected a list of two; {cure}")
        return None
    if len(items) != 2:
        seen = listing(shown(item) for item in items) or "none"
        problems.append(f"{label}: has {len(items)} subnets ({seen}): a cable has two, one for each PCIe root; {cure}")
        return None
    found = [_parse_subnet(f"{label}, root {root}", item, problems) for root, item in zip(ROOTS, items, strict=True)]
    return (found[0], found[1]) if found[0] and found[1] else None


def _parse_subnet(label: str, raw: object, problems: list[str]) -> Subnet | None:
    value = plain(raw)
    if not isinstance(value, str):
        problems.append(
            f'{label}: subnet is {shown(value)}: expected text such as "192.168.100.0/24"; put it in quotes'
        )
        return None
    try:
        subnet = parse_usable(value)
    except AddressError as exc:
        problems.append(f"{label}: subnet {value!r} {exc}")
        return None
    if not SHORTEST_PREFIX <= subnet.prefix_length <= LONGEST_PREFIX:
        problems.append(
            f"{label}: subnet {subnet} has prefix length {subnet.prefix_length}: expected {SHORTEST_PREFIX} "
            f"to {LONGEST_PREFIX} (24 is usual; /30 is the least that holds both ends)"
        )
        return None
    return subnet


def check_ends(cables: Sequence[CableInput], hosts: Sequence[str], problems: list[str]) -> bool:
    """Note ports used twice, cables that come back to their host and unknown hosts. True if there are none."""
    known = set(hosts)
    before = len(problems)
    users: dict[End, CableInput] = {}
    for cable in cables:
        if not cable.ends:
            continue
        first, second = cable.ends
        nodes = cable.ends[:1] if cable.switched else cable.ends
        problems.extend(
            f"{cable.label}: host {host!r} is not in the group ({listing(hosts)}): correct the name or add the host to "
            f"the group{did_you_mean(host, hosts)}"
            for host in dict.fromkeys(end.host for end in nodes)
            if known and host not in known
        )
        if first.host == second.host:
            problems.append(
                f"{cable.label}: both ends are on host {first.host}: a cable joins two Sparks; correct one end"
            )
            continue
        for end in nodes:
            other = users.setdefault(end, cable)
            if other is not cable:
                problems.append(
                    f"{cable.label}: port {end} is already used by {other.label}: one cage takes one "
                    "cable; correct one of the two"
                )
    return len(problems) == before and all(cable.ends for cable in cables)
