# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""What one node needs of a plan, in time linear in the number of nodes."""

from __future__ import annotations

from collections.abc import Sequence

from .errors import FabricError, listing, shown
from .layout import Walk, incidence, walk
from .model import CAGES, ROOTS, SWITCH, Cable, Far, HostView, Peer, Plan, Port, Subnet, dotted
from .plain import plain
from .routes import Ring
from .switched import ports as ports_on_a_switch


def host_view(plan: Plan, host: object) -> HostView:
    """The plan as the named host sees it. Raises FabricError if the host is not in it."""
    name = plain(host)
    if not isinstance(name, str) or name not in plan.order:
        raise FabricError(f"host {shown(name)} is not in the fabric ({listing(plan.order)}): name one of its hosts")
    if plan.layout == SWITCH:
        own = ports_on_a_switch(plan, name)
        return _view(plan, name, own, None, [port.subnet for port in own])
    ends = [cable.ends for cable in plan.cables]
    round_trip = walk(ends, incidence(ends), plan.order[0])
    if round_trip.order != plan.order:
        raise FabricError(
            f"the plan is damaged: its order is {listing(plan.order)}, its cables lead "
            f"{listing(round_trip.order)}; make it anew with the filter fabric_plan"
        )
    ports = _ports(plan, round_trip, plan.order.index(name), name)
    # A pair with one cable is the only walk that does not close; it has nothing to route.
    ring = Ring(plan.cables, round_trip.steps) if round_trip.closed else None
    return _view(plan, name, ports, ring, [subnet for cable in plan.cables for subnet in cable.subnets])


def _view(plan: Plan, name: str, ports: Sequence[Port], ring: Ring | None, subnets: Sequence[Subnet]) -> HostView:
    rank, size = plan.order.index(name), len(plan.order)
    return HostView(
        host=name,
        rank=rank,
        previous=plan.order[rank - 1],
        next=plan.order[(rank + 1) % size],
        ports=tuple(ports),
        unused=tuple(cage for cage in CAGES if all(port.cage != cage for port in ports)),
        routes=tuple(ring.routes(rank)) if ring else (),
        relays=tuple(ring.relays(rank)) if ring else (),
        far=_far(plan, ring, rank) if ring else (),
        subnets=tuple(sorted(subnets, key=_by_network)),
    )


def _by_network(subnet: Subnet) -> int:
    return subnet.network


def _ports(plan: Plan, round_trip: Walk, rank: int, name: str) -> list[Port]:
    cables = [(round_trip.steps[rank - 1].cable, "previous")]
    if rank < len(round_trip.steps):
        cables.append((round_trip.steps[rank].cable, "next"))
    if not round_trip.closed:
        cables = [(0, "both")]
    found = [port for index, towards in cables for port in _ports_of(plan.cables[index], name, towards)]
    return sorted(found, key=lambda port: (port.cage, port.root))


def _ports_of(cable: Cable, name: str, towards: str) -> list[Port]:
    end = 0 if cable.ends[0].host == name else 1
    return [
        Port(
            cage=cable.ends[end].cage,
            root=label,
            cable=cable.number,
            towards=towards,
            address=cable.address(end, root),
            subnet=cable.subnets[root],
            peers=(Peer(cable.ends[1 - end], cable.address(1 - end, root)),),
        )
        for root, label in enumerate(ROOTS)
    ]


def _far(plan: Plan, ring: Ring, rank: int) -> tuple[Far, ...]:
    found: list[Far] = []
    for other, relays in ring.far(rank):
        # The onward port comes first if its cage does.
        facing = sorted((True, False), key=lambda onward: ring.cage(other, onward))
        found.append(
            Far(
                plan.order[other],
                other,
                relays,
                tuple(ring.address(other, onward, root) for onward in facing for root in range(len(ROOTS))),
            )
        )
    return tuple(found)


def _peers(port: Port) -> dict[str, object]:
    """The port at the other end of the cable; behind a switch all others of the subnet, and none at the end."""
    found = [{"host": peer.end.host, "cage": peer.end.cage, "address": dotted(peer.address)} for peer in port.peers]
    return {"peer": None, "peers": found} if port.towards == SWITCH else {"peer": found[0]}


def host_to_dict(view: HostView) -> dict[str, object]:
    """The view as plain data: see docs/architecture.md."""
    return {
        "host": view.host,
        "rank": view.rank,
        "previous": view.previous,
        "next": view.next,
        "ports": [
            {
                "cage": port.cage,
                "root": port.root,
                "cable": port.cable,
                "towards": port.towards,
                "address": dotted(port.address),
                "prefix_length": port.subnet.prefix_length,
                "subnet": str(port.subnet),
                **_peers(port),
            }
            for port in view.ports
        ],
        "unused": list(view.unused),
        "routes": [
            {"to": str(route.to), "via": dotted(route.via), "cage": route.cage, "root": route.root}
            for route in view.routes
        ],
        "relays": [
            {"in": {"cage": relay.in_cage, "root": relay.root}, "out": {"cage": relay.out_cage, "root": relay.root}}
            for relay in view.relays
        ],
        "far": [
            {
                "host": far.host,
                "rank": far.rank,
                "relays": far.relays,
                "addresses": [dotted(address) for address in far.addresses],
            }
            for far in view.far
        ],
        "subnets": [str(subnet) for subnet in view.subnets],
    }
