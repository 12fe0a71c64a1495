# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Whether a graph sends and receives where the cables lead: of one node, and of neighbours with each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError, listing, shown
from ansible_collections.switchless.spark.plugins.module_utils._fabric.model import ROOTS
from ansible_collections.switchless.spark.plugins.module_utils._fabric.plain import plain
from ansible_collections.switchless.spark.plugins.module_utils._fabric.plan import plan_from_dict

from .model import RING, RING_ID, Channel, Device, Finding, Graph, devices_from
from .xml import GraphError, parse

_ANEW = "make it anew with the filter nccl_settings"


def findings(
    graph: str | Graph,
    devices: Sequence[Device],
    environment: Mapping[str, str],
    *,
    nccl: str | None = None,
    dumped: bool = False,
) -> list[Finding]:
    """What is wrong with the graph of one node; nothing if every channel goes to the neighbours it should.

    `graph`: the text of the file, or what was read from it. `devices` in NCCL's order. `environment`: what NCCL is
    told. `nccl`: the version that shall read it. `dumped`: the text is what NCCL dumped, with graphs of every kind.
    """
    try:
        graphs = parse(graph, nccl=nccl) if isinstance(graph, str) else (graph,)
    except GraphError as exc:
        return [Finding("unreadable", "error", f"NCCL cannot read the graph: {exc}; {_ANEW}")]
    rings = [one for one in graphs if one.id == RING_ID]
    found: list[Finding] = []
    if not dumped:
        found += [_other(one) for one in graphs if one.id != RING_ID]
    if len(rings) != 1:
        seen = f"{len(rings)} graphs have the id {RING_ID}, which is the ring's"
        consequence = "NCCL takes the last" if rings else "NCCL searches a graph by itself, which knows no cables"
        return [*found, Finding("ring_graphs", "error", f"{seen}: expected one; {consequence}; {_ANEW}")]
    found += _whole(rings[0], environment)
    for number, channel in enumerate(rings[0].channels):
        found += (replace(finding, channel=number) for finding in _channel(number, channel, devices))
    return [*found, *_roots(rings[0], devices)]


def _error(code: str, text: str) -> Finding:
    return Finding(code, "error", text)


def _other(graph: Graph) -> Finding:
    return _error(
        "other_graph",
        f"a graph has the id {graph.id}: expected {RING_ID}, the ring's, and no other: NCCL searches the rest by "
        "itself; leave it out",
    )


def _whole(graph: Graph, environment: Mapping[str, str]) -> Iterator[Finding]:
    if graph.pattern != RING:
        yield _error("pattern", f"pattern is {graph.pattern}: expected {RING}, the ring; {_ANEW}")
    if graph.crossnic != 1:
        yield _error(
            "crossnic", f"crossnic is {graph.crossnic}: expected 1: channels receive and send on two ports; {_ANEW}"
        )
    elif _integer(environment.get("NCCL_CROSS_NIC")) == 0:
        yield _error(
            "skipped",
            "NCCL_CROSS_NIC is 0 and the graph has crossnic 1: NCCL skips it without a word; set NCCL_CROSS_NIC to 1",
        )
    if graph.nchannels == 0:
        yield _error("no_channels", f"nchannels is 0: expected 1 or more: NCCL ignores such a graph; {_ANEW}")
    if graph.nchannels != len(graph.channels):
        yield _error(
            "nchannels",
            f"nchannels is {graph.nchannels}, the graph has {len(graph.channels)} channels: expected the same: NCCL "
            f"believes the number; {_ANEW}",
        )
    most = _integer(environment.get("NCCL_MAX_NCHANNELS"))
    if most is not None and graph.nchannels > most:
        yield _error(
            "too_many_channels",
            f"nchannels is {graph.nchannels}, NCCL_MAX_NCHANNELS is {most}: expected no more than that: NCCL leaves "
            "the rest unused; set both to one number",
        )


def _integer(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() else None


def _channel(number: int, channel: Channel, devices: Sequence[Device]) -> Iterator[Finding]:
    ends: list[Device] = []
    for verb, index, neighbour in (("receives", channel.receive, "previous"), ("sends", channel.send, "next")):
        what = f"channel {number} {verb} on device {index}"
        if index >= len(devices):
            yield _error("no_device", f"{what}: expected one of the {len(devices)} that NCCL has; {_ANEW}")
            continue
        ends.append(devices[index])
        if not devices[index].faces(neighbour):
            yield _error(
                "wrong_port",
                f"channel {number} {verb} on {devices[index]}, which faces the {devices[index].towards} rank: expected "
                f"one that faces the {neighbour}; compare NCCL's log line 'Using [0]' with these numbers, then {_ANEW}",
            )
    if len(ends) == 2 and ends[0].root != ends[1].root:
        yield _error(
            "crosses_roots",
            f"channel {number} receives on {ends[0]} and sends on {ends[1]}: expected one PCIe root; {_ANEW}",
        )


def _roots(graph: Graph, devices: Sequence[Device]) -> Iterator[Finding]:
    """Only in channels that exist; a single one has no choice."""
    known = [channel.receive for channel in graph.channels if channel.receive < len(devices)]
    used = Counter(devices[index].root for index in known)
    one, two = (used[root] for root in ROOTS)
    if one == two or len(graph.channels) < 2:
        return
    seen = f"{one} channels use PCIe root {ROOTS[0]} and {two} use root {ROOTS[1]}"
    if abs(one - two) == 1:
        yield Finding("roots_uneven", "warning", f"{seen}: expected as many on each; take an even number of channels")
    else:
        yield _error("roots_uneven", f"{seen}: expected as many on each: half of every cable is each root's; {_ANEW}")


def fabric_findings(
    graphs_by_rank: Mapping[int, Graph],
    devices_by_rank: Mapping[int, Sequence[Device]],
    plan: object,
) -> list[Finding]:
    """What is wrong between neighbours: each channel must be sent on the cable and root on which it is received.

    Ranks that are missing (a play with a limit) are left out, and so is what lies between them and others.
    """
    order = plan_from_dict(plan).order
    found: list[Finding] = []
    counts = Counter(len(graph.channels) for graph in graphs_by_rank.values())
    if len(counts) > 1:
        told = ", ".join(f"{order[rank]} {len(graphs_by_rank[rank].channels)}" for rank in sorted(graphs_by_rank))
        found.append(
            _error("channel_counts", f"the nodes have graphs of {told} channels: expected one number; {_ANEW}")
        )
    for rank, graph in sorted(graphs_by_rank.items()):
        after = (rank + 1) % len(order)
        if after in graphs_by_rank:
            pairs = zip(graph.channels, graphs_by_rank[after].channels, strict=False)
            for number, (ours, theirs) in enumerate(pairs):
                if ours.send >= len(devices_by_rank[rank]) or theirs.receive >= len(devices_by_rank[after]):
                    continue  # said of the node itself
                sender, receiver = devices_by_rank[rank][ours.send], devices_by_rank[after][theirs.receive]
                if (sender.cable, sender.root) != (receiver.cable, receiver.root):
                    text = (
                        f"channel {number}: {order[rank]} sends on {sender}, {order[after]} receives on {receiver}: "
                        f"expected both on one cable and PCIe root; make both graphs anew with the filter nccl_settings"
                    )
                    found.append(Finding("not_joined", "error", text, number, rank))
    return found


def node_findings(
    nodes: object, plan: object, *, nccl: str | None = None, dumped: bool = False
) -> list[dict[str, object]]:
    """The findings of every node and of neighbours among them, as plain data.

    `nodes`: host to what the filter nccl_settings gives (`graph`, `devices`, `environment`), where `graph` may be what
    was read from the node instead. A node without a graph is left out: it has none on a switch.
    """
    value = plain(nodes)
    if not isinstance(value, dict):
        raise FabricError(f"nodes is {shown(value)}: expected hosts with what the filter nccl_settings gives")
    order = plan_from_dict(plan).order
    ranks = {host: rank for rank, host in enumerate(order)}
    graphs: dict[int, Graph] = {}
    devices: dict[int, Sequence[Device]] = {}
    found: list[tuple[str | None, Finding]] = []
    for host, raw in value.items():
        node: Mapping[str, Any] = raw if isinstance(raw, dict) else {}
        if node.get("graph") is None and "graph" in node:
            continue
        text, environment = node.get("graph"), node.get("environment", {})
        if not isinstance(text, str) or not isinstance(environment, dict):
            raise FabricError(f"{host}: has {shown(raw)}: expected what the filter nccl_settings gives")
        if host not in ranks:
            raise FabricError(f"host {shown(host)} is not in the fabric ({listing(order)}): name one of its hosts")
        rank = ranks[host]
        devices[rank] = devices_from(node.get("devices"))
        seen = findings(text, devices[rank], environment, nccl=nccl, dumped=dumped)
        found += [(host, replace(finding, rank=rank)) for finding in seen]
        if not any(finding.code in ("unreadable", "ring_graphs") for finding in seen):
            graphs[rank] = next(graph for graph in parse(text) if graph.id == RING_ID)
    found += [(None, finding) for finding in fabric_findings(graphs, devices, plan)]
    return [_to_dict(host, finding) for host, finding in found]


def _to_dict(host: str | None, finding: Finding) -> dict[str, object]:
    return {
        "host": host,
        "rank": finding.rank,
        "channel": finding.channel,
        "code": finding.code,
        "severity": finding.severity,
        "text": finding.text if host is None else f"{host}: {finding.text}",
    }
