# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Nodes whose cables all go to one Ethernet switch.

All ports of one cage and PCIe root are on one subnet, where a node has the host number rank + 1. So everyone is
everyone's neighbour: nothing is routed and nothing relayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .addresses import DEFAULT_PREFIX_LENGTH
from .cables import CableInput
from .errors import FabricError, listing
from .layout import no_cable
from .model import CAGES, ROOTS, SWITCH, Peer, Plan, Port
from .subnets import Claim


def find_order(cables: Sequence[CableInput], hosts: Sequence[str], head: str) -> tuple[str, ...]:
    """The hosts by rank: the head, then the others in the order of their first cables. Raises FabricError."""
    beside = [cable for cable in cables if not cable.switched]
    if beside:
        ours = [cable.label for cable in cables if cable.switched]
        raise FabricError(
            f"{listing(ours)} {'leads' if len(ours) == 1 else 'lead'} to the switch, but not "
            f"{listing(cable.label for cable in beside)}: a cable between two nodes beside a switch is a second path "
            "between them, on a subnet that the others do not have; lead all cables to the switch, or none"
        )
    at: dict[str, dict[str, CableInput]] = {}
    for cable in cables:
        if cable.ends:
            at.setdefault(cable.ends[0].host, {})[cable.ends[0].cage] = cable
    problems = [no_cable(host) for host in sorted(hosts) if host not in at]
    for cage in CAGES:
        model = next((cages[cage] for cages in at.values() if cage in cages), None)
        problems.extend(
            f"host {host} has no cable from {cage} to the switch, as {model.label} is one: all nodes need the same "
            f"cages on the switch, because those of one cage share a subnet; add the cable {host}:{cage} - {SWITCH}, "
            f"or take the others' {cage} off the switch"
            for host in at
            if model is not None and cage not in at[host]
        )
    if problems:
        raise FabricError(*problems)
    return (head, *(host for host in at if host != head))


def share_subnets(cables: Sequence[CableInput], problems: list[str]) -> dict[int, CableInput]:
    """By the number of each cable, the cable of the same cage that speaks for it: the first that names subnets, if any.

    Notes those that name others.
    """
    found: dict[int, CableInput] = {}
    for cage in CAGES:
        ours = [cable for cable in cables if cable.switched and cable.ends and cable.ends[0].cage == cage]
        named = [cable for cable in ours if cable.subnets]
        problems.extend(
            f"{other.label}: names {_both(other)} where {named[0].label} names {_both(named[0])}: all {cage} on a "
            "switch share one subnet on each PCIe root; name them on one cable only, or the same on all"
            for other in named[1:]
            if other.subnets != named[0].subnets
        )
        found |= {cable.number: (named or ours)[0] for cable in ours}
    return found


def _both(cable: CableInput) -> str:
    return " and ".join(map(str, cable.subnets or ()))


def owned(claims: Sequence[Claim], order: Sequence[str]) -> list[Claim]:
    """The claims with the hosts that get their addresses."""
    return [replace(claim, owners=tuple(order)) for claim in claims]


def longest_prefix(size: int) -> int:
    """The longest prefix whose subnets hold that many nodes, besides the network's own address and broadcast."""
    return 32 - (size + 1).bit_length()


def usual_prefix(size: int) -> int:
    """The prefix length of subnets from the pool."""
    return min(DEFAULT_PREFIX_LENGTH, longest_prefix(size))


def check_room(claims: Sequence[Claim], size: int) -> list[str]:
    """Problems of subnets that hold fewer addresses than there are nodes."""
    most = longest_prefix(size)
    return [
        f"{claim}: holds {(1 << (32 - claim.subnet.prefix_length)) - 2} addresses, and {size} nodes get one each: "
        f"name a subnet of /{most} or larger"
        for claim in claims
        if claim.subnet.prefix_length > most
    ]


def ports(plan: Plan, host: str) -> tuple[Port, ...]:
    """The ports of a host, by cage and root, each with the same port of all other hosts by rank. Raises FabricError."""
    hosts = {cable.ends[0].host for cable in plan.cables}
    if hosts != set(plan.order):
        raise FabricError(
            f"the plan is damaged: its order is {listing(plan.order)}, its cables are those of {listing(sorted(hosts))}"
            "; make it anew with the filter fabric_plan"
        )
    by_rank = sorted(plan.cables, key=lambda cable: cable.host_numbers[0])
    found = [
        Port(
            cage=cable.ends[0].cage,
            root=label,
            cable=cable.number,
            towards=SWITCH,
            address=cable.address(0, root),
            subnet=cable.subnets[root],
            peers=tuple(
                Peer(other.ends[0], other.address(0, root))
                for other in by_rank
                if other is not cable and other.ends[0].cage == cable.ends[0].cage
            ),
        )
        for cable in plan.cables
        if cable.ends[0].host == host
        for root, label in enumerate(ROOTS)
    ]
    return tuple(sorted(found, key=lambda port: (port.cage, port.root)))
