# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Inventory values to a plan, and a plan to and from the dictionary that Ansible carries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .addresses import DEFAULT_POOL, AddressError, parse_network
from .cables import CableInput, check_ends, parse_cables
from .errors import FabricError, shown
from .layout import find_walk
from .model import ROOTS, SCHEMA, SWITCH, Cable, End, Plan, Subnet
from .settings import parse_control_plane, parse_head, parse_hosts, parse_management, parse_mtu, parse_pool
from .subnets import Claim, check_lengths, check_overlaps, check_taken, usual_length
from .switched import check_room, find_order, owned, share_subnets, usual_prefix


def build_plan(
    cables: object,
    *,
    hosts: object,
    head: object = None,
    subnet_pool: object = DEFAULT_POOL,
    mtu: object = 9000,
    control_plane: object = "management",
    management: object = None,
) -> Plan:
    """The plan of the fabric that these values describe.

    `cables`: list of `{ends: ["host:p0", "host:p1"], subnets: ["a/24", "b/24"]}`, subnets only if wanted (root A, B);
    `{ends: ["host:p0", "switch"]}` for all of them where an Ethernet switch joins the nodes.
    `hosts`: all hosts of the fabric, in any order. `head`: the host of rank 0, else the first end of the first cable.
    `subnet_pool`: network that the other cables' subnets are cut from, two each, in order. `mtu`: bytes.
    `control_plane`: management or fabric. `management`: addresses or networks (list, or by host) that the fabric must
    not touch. Raises FabricError with every problem found.
    """
    problems: list[str] = []
    members = parse_hosts(hosts, problems)
    inputs = parse_cables(cables, problems)
    sound = check_ends(inputs, members, problems)
    first = parse_head(head, members, inputs, problems)
    size = parse_mtu(mtu, problems)
    control = parse_control_plane(control_plane, problems)

    switched = any(cable.switched for cable in inputs)
    layout = ""
    order: tuple[str, ...] = ()
    if sound and inputs and len(members) > 1:
        try:
            start = first or next(cable.ends[0].host for cable in inputs if cable.ends)
            if switched:
                order, layout = find_order(inputs, members, start), SWITCH
            else:
                order = find_walk([cable.ends for cable in inputs if cable.ends], members, start).order
                layout = {2: "pair", 3: "triangle"}.get(len(order), "ring")
        except FabricError as exc:
            problems.extend(exc.problems)

    # On a switch one cable of each cage speaks for all.
    speakers = share_subnets(inputs, problems) if switched else {cable.number: cable for cable in inputs}
    speaking = [cable for cable in inputs if speakers.get(cable.number) is cable]
    claims = _claims(speaking, order if switched else None, len(members), subnet_pool, management, problems)
    if problems:
        raise FabricError(*problems)
    subnets = {(claim.cable, claim.root): claim.subnet for claim in claims}
    ranks = _ranks(layout, order)
    return Plan(
        layout=layout,
        order=order,
        mtu=size,
        control_plane=control,
        prefix_length=claims[0].subnet.prefix_length,
        cables=tuple(
            _cable(cable.number, cable.ends, (subnets[speaker.number, 0], subnets[speaker.number, 1]), ranks)
            for cable, speaker in ((cable, speakers[cable.number]) for cable in inputs)
            if cable.ends
        ),
    )


def _ranks(layout: str, order: Sequence[str]) -> dict[str, int]:
    """Ranks by host, which are needed only where they make the addresses."""
    return {host: rank for rank, host in enumerate(order)} if layout == SWITCH else {}


def _cable(number: int, ends: tuple[End, End], subnets: tuple[Subnet, Subnet], ranks: Mapping[str, int]) -> Cable:
    return Cable(number, ends, subnets, (ranks[ends[0].host] + 1, 0)) if ranks else Cable(number, ends, subnets)


def _claims(
    inputs: Sequence[CableInput],
    order: Sequence[str] | None,
    size: int,
    raw_pool: object,
    management: object,
    problems: list[str],
) -> list[Claim]:
    """Every cable's subnets, its own or from the pool, with their problems noted. `order`: the nodes on a switch."""
    named = [claim for cable in inputs for claim in cable.claims()]
    taken = parse_management(management, problems)
    pool = parse_pool(raw_pool, problems)
    if order is not None:
        named = owned(named, order)
        problems.extend(check_room(named, size))
    problems.extend(check_overlaps(named))
    problems.extend(check_lengths(named))
    problems.extend(check_taken(named, taken))
    pooled = [cable for cable in inputs if cable.pooled]
    if pool is None or not pooled:
        return named
    problems.extend(pool.check_taken(taken))
    length = usual_length(named) if named or order is None else usual_prefix(size)
    whose = "cables" if order is None else "cages on the switch"
    try:
        drawn = iter(pool.draw(length, 2 * len(pooled), named, whose))
    except AddressError as exc:
        problems.append(str(exc))
        return named
    return named + [
        Claim(next(drawn), cable.number, root, cable.label) for cable in pooled for root in range(len(ROOTS))
    ]


def plan_to_dict(plan: Plan) -> dict[str, object]:
    """The plan as plain data: see docs/architecture.md."""
    return {
        "schema": SCHEMA,
        "layout": plan.layout,
        "size": len(plan.order),
        "head": plan.order[0],
        "order": list(plan.order),
        "mtu": plan.mtu,
        "control_plane": plan.control_plane,
        "prefix_length": plan.prefix_length,
        "cables": [
            {
                "cable": cable.number,
                "name": cable.name,
                "ends": [{"host": end.host, "cage": end.cage or None} for end in cable.ends],
                "subnets": {root: str(subnet) for root, subnet in zip(ROOTS, cable.subnets, strict=True)},
            }
            for cable in plan.cables
        ],
    }


def plan_from_dict(raw: object) -> Plan:
    """The plan that `plan_to_dict` gave. Raises FabricError if it is anything else."""
    # Not plain(raw): most of a large plan is not needed for one node, and what is not read costs nothing.
    if not isinstance(raw, Mapping):
        raise FabricError(f"the plan is {shown(raw)}: expected what the filter fabric_plan gives")
    data: Mapping[str, Any] = raw
    if data.get("schema") != SCHEMA:
        raise FabricError(
            f"the plan has schema {shown(data.get('schema'))}: expected {SCHEMA}; make it anew with the "
            "filter fabric_plan of this collection"
        )
    try:
        layout, order = _text(data["layout"]), tuple(_text(host) for host in data["order"])
        ranks = _ranks(layout, order)
        return Plan(
            layout=layout,
            order=order,
            mtu=int(data["mtu"]),
            control_plane=_text(data["control_plane"]),
            prefix_length=int(data["prefix_length"]),
            cables=tuple(_cable_from_dict(cable, ranks) for cable in data["cables"]),
        )
    except (KeyError, IndexError, TypeError, ValueError) as exc:
        raise FabricError(
            f"the plan is damaged ({type(exc).__name__}: {exc}): make it anew with the filter fabric_plan"
        ) from exc


def _cable_from_dict(cable: Mapping[str, Any], ranks: Mapping[str, int]) -> Cable:
    one, two = cable["ends"]
    subnets = cable["subnets"]
    return _cable(
        int(cable["cable"]),
        (End(_text(one["host"]), _text(one["cage"])), End(_text(two["host"]), _text(two["cage"] or ""))),
        (parse_network(_text(subnets[ROOTS[0]])), parse_network(_text(subnets[ROOTS[1]]))),
        ranks,
    )


def _text(value: object) -> str:
    """Exact text. Raises TypeError for anything that is none."""
    if isinstance(value, str):
        return str.__str__(value)
    raise TypeError(f"{shown(value)} where text belongs")
