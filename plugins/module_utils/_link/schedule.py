# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Who measures what with whom, and when: a function of the plan, and of what the nodes that take part have.

A node takes part in one measurement at a time. Its two cages share no cable, but they share both PCIe roots, and one
root carries about what one cable gives on it: two measurements at once would slow each other down. For the same reason
the two roots of a cable come one after the other: together they share the cable, and a cap of 13 Gb/s would show as
6.67 twice. And the two directions come apart, since the cap after a hot-plug is on one of them.

So the cables of one round share no node: an edge colouring of the ring, two rounds if its size is even, three if it is
odd, and within a round four measurements for each cable.

Behind a switch each port sends to the next rank's and hears the previous one's: every cable carries both directions,
each port is measured once in each, and the rounds are those of a ring, for each cage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._fabric.model import (
    CAGES,
    ROOTS,
    SWITCH,
    Cable,
    End,
    Plan,
    dotted,
)
from ansible_collections.switchless.spark.plugins.module_utils._fabric.plain import plain
from ansible_collections.switchless.spark.plugins.module_utils._fabric.plan import plan_from_dict

from . import iperf, perftest
from .meet import CLIENT, RDMA, SERVER, TCP

SCHEMA = 1
DEFAULT_PORT = 18515
TOOLS = {RDMA: (perftest.PROGRAM, perftest.PACKAGE), TCP: (iperf.PROGRAM, iperf.PACKAGE)}
FAULT = "fault"
SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Leg:
    """One measurement: a root of a cable in one direction. ``sender`` is 0 or 1, the end that sends."""

    cable: Cable
    root: str
    sender: int

    @property
    def source(self) -> End:
        return self.cable.ends[self.sender]

    @property
    def target(self) -> End:
        return self.cable.ends[1 - self.sender]


def rounds(plan: Plan) -> list[list[Cable]]:
    """The cables in as few rounds as a chain or ring needs, no node twice in a round."""
    busy: list[set[str]] = []
    found: list[list[Cable]] = []
    for cable in _around(plan):
        hosts = {end.host for end in cable.ends}
        number = next((n for n, taken in enumerate(busy) if not taken & hosts), len(busy))
        if number == len(busy):
            busy.append(set())
            found.append([])
        busy[number] |= hosts
        found[number].append(cable)
    return found


def _around(plan: Plan) -> Iterator[Cable]:
    """The cables in the order of the ring, from the head: in this order greedy colouring is the best one."""
    if plan.layout == SWITCH:
        yield from _through_the_switch(plan)
        return
    between: dict[frozenset[str], list[Cable]] = {}
    for cable in plan.cables:
        between.setdefault(frozenset(end.host for end in cable.ends), []).append(cable)
    for one, two in zip(plan.order, (*plan.order[1:], plan.order[0]), strict=True):
        yield from between.pop(frozenset((one, two)), ())


def _through_the_switch(plan: Plan) -> Iterator[Cable]:
    """For each cage what joins each rank to the next, as if it were a cable with the number of the sender's."""
    by_end = {(cable.ends[0].host, cable.ends[0].cage): cable for cable in plan.cables}
    for cage in sorted({cage for _host, cage in by_end}):
        for one, two in zip(plan.order, (*plan.order[1:], plan.order[0]), strict=True):
            sender, receiver = by_end[one, cage], by_end[two, cage]
            yield Cable(
                sender.number,
                (sender.ends[0], receiver.ends[0]),
                sender.subnets,
                (sender.host_numbers[0], receiver.host_numbers[0]),
            )


def legs(cable: Cable, senders: Sequence[int] = (0, 1)) -> Iterator[Leg]:
    """The measurements of a cable, in the order that both its ends follow; ``senders`` are the ends that send."""
    for root in ROOTS:
        for sender in senders:
            yield Leg(cable, root, sender)


@dataclass(frozen=True, slots=True)
class Node:
    """What is known of a node that takes part."""

    host: str
    functions: Mapping[tuple[str, str], Mapping[str, Any]]
    verbs: frozenset[str]
    verbs_detail: str
    tools: frozenset[str]
    gpu_processes: Sequence[str]

    def without_rdma(self, cage: str, root: str) -> str | None:
        """Why this port cannot be measured by RDMA, or nothing."""
        device = self.functions[cage, root].get("rdma")
        if not self.verbs:
            return f"{self.host}: {self.verbs_detail}"
        if device is None:
            return f"{self.host}: cage {cage}, root {root} has no RDMA device"
        return None if device in self.verbs else f"{self.host}: programs cannot open {device}"


def _nodes(data: Mapping[str, Any]) -> dict[str, Node]:
    return {
        host: Node(
            host=host,
            functions={(f["cage"], f["root"]): f for f in item["functions"] if f.get("netdev")},
            verbs=frozenset(item["readiness"]["verbs"]),
            verbs_detail=item["readiness"]["verbs_detail"],
            tools=frozenset(item["readiness"]["tools"]),
            gpu_processes=item["readiness"]["gpu_processes"],
        )
        for host, item in data.items()
    }


def schedule(
    plan: object, nodes: object, *, port: int = DEFAULT_PORT, forks: int | None = None, force: bool = False
) -> dict[str, Any]:
    """Join the plan with the nodes that take part; ``nodes`` maps a host to its ``functions`` and ``readiness``.

    Gives ``rounds`` (for each, the measurements by host, as the module link_bandwidth takes them), ``legs`` (every
    measurement of the plan, with the reason in ``detail`` where it cannot be made), ``reasons`` why TCP takes the
    place of RDMA, ``refusals`` and the ``packages`` that are missing, by host.
    """
    present = _nodes(plain(nodes))  # type: ignore[arg-type]
    known = plan_from_dict(plan)
    cables = rounds(known)
    senders = (0,) if known.layout == SWITCH else (0, 1)
    described: list[dict[str, Any]] = []
    planned: list[dict[str, list[dict[str, Any]]]] = []
    for number, together in enumerate(cables, 1):
        lists: dict[str, list[dict[str, Any]]] = {}
        for leg in (leg for cable in together for leg in legs(cable, senders)):
            row = _describe(leg, number, present)
            described.append(row)
            if row["verdict"] is None:
                lists.setdefault(leg.source.host, []).append(_item(leg, CLIENT, row["method"], present, port))
                lists.setdefault(leg.target.host, []).append(_item(leg, SERVER, row["method"], present, port))
        if lists:
            planned.append(lists)
    return {
        "schema": SCHEMA,
        "rounds": planned,
        "legs": described,
        "reasons": sorted({reason for row in described for reason in row.pop("reasons")}),
        "refusals": list(_refusals(planned, present, forks=forks, force=force)),
        "packages": _packages(planned, present),
    }


def _describe(leg: Leg, number: int, present: Mapping[str, Node]) -> dict[str, Any]:
    """A measurement as plain data. Verdict null: it can be made."""
    verdict, detail, method, reasons = _possible(leg, present)
    return {
        "cable": leg.cable.number,
        "root": leg.root,
        "round": number,
        "from": {"host": leg.source.host, "cage": leg.source.cage},
        "to": {"host": leg.target.host, "cage": leg.target.cage},
        "method": method,
        "verdict": verdict,
        "detail": detail,
        "reasons": reasons,
    }


def _possible(leg: Leg, present: Mapping[str, Node]) -> tuple[str | None, str, str | None, list[str]]:
    absent = [end.host for end in (leg.source, leg.target) if end.host not in present]
    if absent:
        return SKIPPED, f"{' and '.join(absent)} took no part in this run", None, []
    ends = [(present[end.host], end.cage) for end in (leg.source, leg.target)]
    missing = [
        f"{node.host} has no port {cage} {leg.root}" for node, cage in ends if (cage, leg.root) not in node.functions
    ]
    if missing:
        return FAULT, "; ".join(missing), None, []
    reasons = [reason for node, cage in ends if (reason := node.without_rdma(cage, leg.root))]
    method = TCP if reasons else RDMA
    dark = [
        _dark(node, cage, leg.root) for node, cage in ends if node.functions[cage, leg.root].get("carrier") is not True
    ]
    return (FAULT if dark else None), "; ".join(dark), method, reasons


def _dark(node: Node, cage: str, root: str) -> str:
    return f"{node.functions[cage, root]['netdev']} of {node.host} has no link"


def _item(leg: Leg, side: str, method: str, present: Mapping[str, Node], port: int) -> dict[str, Any]:
    """A measurement as one end takes part in it. The server has a port of its own for each of its functions."""
    own = leg.sender if side == CLIENT else 1 - leg.sender
    end, peer, root = leg.cable.ends[own], leg.cable.ends[1 - own], ROOTS.index(leg.root)
    function = present[end.host].functions[end.cage, leg.root]
    return {
        "cable": leg.cable.number,
        "root": leg.root,
        "cage": end.cage,
        "direction": "out" if side == CLIENT else "in",
        "peer": str(peer),
        "side": side,
        "method": method,
        "netdev": function["netdev"],
        "rdma": function.get("rdma"),
        "address": dotted(leg.cable.address(own, root)),
        "peer_address": dotted(leg.cable.address(1 - own, root)),
        "port": port + CAGES.index(leg.target.cage) * len(ROOTS) + root,
    }


def _refusals(
    planned: Sequence[Mapping[str, Any]], present: Mapping[str, Node], *, forks: int | None, force: bool
) -> Iterator[str]:
    """What speaks against measuring now."""
    measuring = sorted({host for lists in planned for host in lists})
    for host in measuring:
        if present[host].gpu_processes and not force:
            running = "; ".join(present[host].gpu_processes)
            yield f"{host}: the GPU is in use ({running}), and measuring would disturb it and be disturbed by it"
    together = max((len(lists) for lists in planned), default=0)
    if forks is not None and forks < together:
        yield f"{together} nodes have to measure at once, Ansible works on {forks}: set forks to {together} or more"


def _packages(planned: Sequence[Mapping[str, Any]], present: Mapping[str, Node]) -> dict[str, list[str]]:
    """Packages of the tools that are needed and not there, by host."""
    needed: dict[str, set[str]] = {}
    for lists in planned:
        for host, items in lists.items():
            needed.setdefault(host, set()).update(item["method"] for item in items)
    return {
        host: sorted(package for tool, package in map(TOOLS.__getitem__, methods) if tool not in present[host].tools)
        for host, methods in sorted(needed.items())
    }
