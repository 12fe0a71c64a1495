# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""The proofs of the transport, from the ports up: each passed, failed, or not run with the reason.

A stage that saw nothing has not passed. Each takes what was read on the nodes of this run, host to data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._link.reading import quoted
from ansible_collections.switchless.spark.plugins.module_utils._link.results import GOOD
from ansible_collections.switchless.spark.plugins.module_utils._link.schedule import SKIPPED

from . import arx, proof, version
from .compare import differences, expected_from
from .diagnose import diagnose
from .log import parse as parse_log
from .settings import SWITCH
from .validate import node_findings
from .xml import GraphError
from .xml import parse as parse_graphs

PASSED, FAILED, NOT_RUN = "passed", "failed", "not run"
ROCE_V2 = "RoCE v2"
BY_TCP = "link_test measured by TCP: no usable RDMA"
NO_PYTHON = "no such interpreter, or transport_python is not set there"
UNLAID = "the fabric is not laid yet, and check mode lays none"
BUSBW_GBPS = 190.0
"""The article's, at 256 MiB on four Sparks with one cable to each neighbour."""

Node = Mapping[str, Any]
Nodes = Mapping[str, Node]


@dataclass(frozen=True, slots=True)
class Stage:
    """One proof. ``reasons``: why it failed, line by line, or why it was not run."""

    name: str
    result: str
    seen: str
    expected: str
    reasons: tuple[str, ...] = ()


def _stage(name: str, seen: str, expected: str, failures: Sequence[str]) -> Stage:
    if failures:
        return Stage(name, FAILED, seen, expected, tuple(failures))
    return Stage(name, PASSED, seen, expected)


def settings(nodes: Nodes) -> Stage:
    """Nothing else on the nodes sets the transport's variables to something else."""
    found = [f"{host}: {item['text']}" for host, node in nodes.items() for item in node["transport"]["contradictions"]]
    return _stage("settings", f"{len(found)} contradictions", "none outside /etc/switchless/nccl.env", found)


def memory(nodes: Nodes) -> Stage:
    """The kernel can register memory with the NIC."""
    found = [node["transport"]["refusal"]["text"] for node in nodes.values() if node["transport"]["refusal"]]
    totals = {node["transport"]["memory"]["cma_total_kb"] for node in nodes.values()}
    seen = ", ".join("unknown" if total is None else f"{total} kB" for total in sorted(totals, key=str))
    return _stage("memory", f"CmaTotal {seen}", "memory can be registered", found)


def ports(nodes: Nodes) -> Stage:
    """Every port of the plan has an RDMA device with a link, and a RoCE v2 GID that is its own address.

    In check mode a node whose fabric is not laid yet cannot have them, and has not failed.
    """
    name, expected = "ports", "an RDMA device and a RoCE v2 GID on each"
    found: list[str] = []
    unlaid: list[str] = []
    count = 0
    for host, node in nodes.items():
        by_place = {(item["cage"], item["root"]): item for item in node["functions"]}
        for port in node["ports"]:
            count += 1
            function = by_place.get((port["cage"], port["root"]))
            if words := _port_words(function, port["address"]):
                where = unlaid if node["unlaid"] else found
                where.append(f"{host}: cage {port['cage']} root {port['root']} (cable {port['cable']}): {words}")
    seen = f"{count - len(found) - len(unlaid)} of {count} ports"
    if unlaid and not found:
        return Stage(name, NOT_RUN, seen, expected, (UNLAID,))
    return _stage(name, seen, expected, found)


def _port_words(function: Node | None, address: str) -> str:
    if function is None or not function["rdma"]:
        return "no RDMA device; load mlx5_ib, and see --tags cx7"
    if function["ib_state"] != "ACTIVE":
        return f"{function['rdma']} is {function['ib_state'] or 'in no known state'}, expected ACTIVE; see --tags cx7"
    types = {str(gid["type"]) for gid in function["gids"] if gid["ipv4"] == address}
    if not types:
        return f"{function['rdma']} has no GID for {address}: lay the fabric again (--tags fabric)"
    if ROCE_V2 not in types:
        return f"{function['rdma']} has {address} as {', '.join(sorted(types))} only, expected {ROCE_V2}"
    return ""


def graph(nodes: Nodes, plan: Node) -> Stage:
    """Every channel receives from the previous rank and sends to the next, and neighbours agree."""
    if plan["layout"] == SWITCH:
        return Stage("graph", PASSED, "none", "none on a switch, where all ranks are neighbours")
    found = node_findings({host: node["settings"] for host, node in nodes.items()}, plan)
    errors = [str(item["text"]) for item in found if item["severity"] == "error"]
    channels = max((str(node["settings"]["graph"]).count("<channel>") for node in nodes.values()), default=0)
    return _stage("graph", f"{channels} channels on {len(nodes)} nodes", "each along the cables", errors)


def neighbours(nodes: Nodes) -> Stage:
    """What the role link_test measured by RDMA between neighbours. Part of the cables is no proof of all."""
    name, expected = "neighbour RDMA", "90 Gb/s each way on each root"
    rows = [(host, row) for host, node in nodes.items() for row in node["link"] or () if row["direction"] == "out"]
    if not rows:
        return Stage(name, NOT_RUN, "", expected, ("the role link_test did not run: --tags link_test,transport",))
    bad = [
        f"{host}: cage {row['cage']} root {row['root']} to {row['peer']}: {row['verdict']} {row['detail']}".rstrip()
        for host, row in rows
        if row["verdict"] not in GOOD
    ]
    by_rdma = [row for _host, row in rows if row["method"] == "rdma" and row["verdict"] != SKIPPED]
    slowest = min((row["gbps"] for row in by_rdma if row["gbps"] is not None), default=None)
    seen = f"{len(by_rdma)} measured" if by_rdma else ""
    seen += "" if slowest is None else f", slowest {slowest:.1f} Gb/s"
    unproved = {str(row["detail"]) for _host, row in rows if row["verdict"] == SKIPPED}
    unproved |= {BY_TCP for _host, row in rows if row["verdict"] != SKIPPED and row["method"] != "rdma"}
    unproved |= {f"{host}: not measured" for host, node in nodes.items() if not node["link"]}
    if unproved and not bad:
        return Stage(name, NOT_RUN, seen, expected, tuple(sorted(unproved)))
    return _stage(name, seen, expected, bad)


def loaded(nodes: Nodes) -> Stage:
    """The NCCL that the serving environment loads."""
    name, expected = "NCCL", f"{version.words()} or newer, the same everywhere"
    found = {host: node["transport"]["nccl"] for host, node in nodes.items()}
    if not any(found.values()):
        return Stage(name, NOT_RUN, "", expected, ("no serving environment: transport_python names no interpreter",))
    bad = [
        f"{host}: {NO_PYTHON if said is None else said['detail'] or 'NCCL is not loaded'}"
        for host, said in found.items()
        if said is None or not said["version"]
    ]
    versions = {host: said["version"] for host, said in found.items() if said and said["version"]}
    old = [f"{host}: {text} from {found[host]['library']}" for host, text in versions.items() if version.too_old(text)]
    builds = {str(said["sha256"]) for said in found.values() if said}
    differ = ["the library is not the same file on all nodes"] if len(builds) > 1 else []
    return _stage(name, ", ".join(sorted(set(versions.values()))) or "none", expected, [*bad, *old, *differ])


def all_reduce(nodes: Nodes, plan: Node, unrun: str, busbw_gbps: float | None) -> tuple[Stage, dict[str, Any] | None]:
    """The checked all-reduce over all ranks; with what was judged."""
    name, expected = "all-reduce", "all elements right, half of the bytes on each root, nothing relayed"
    if unrun:
        return Stage(name, NOT_RUN, "", expected, (unrun,)), None
    ranks = {host: node["rank"] for host, node in nodes.items()}
    told = {host: rank["told"] if rank else None for host, rank in ranks.items()}
    devices = {host: node["settings"]["devices"] for host, node in nodes.items()}
    judged = proof.judge(told, devices, plan, busbw_gbps=busbw_gbps)
    otherwise = [
        f"{host}: {line}" for host, node in nodes.items() if node["rank"] for line in _otherwise(host, node, plan)
    ]
    mute = [
        f"{host}: its program ended with {rank['exit_status']} and said: "
        f"{quoted(rank['stderr'].splitlines()) or 'nothing'}"
        for host, rank in ranks.items()
        if rank and not rank["told"]
    ]
    causes = []
    if otherwise or not judged["ok"]:
        found = diagnose({host: rank["log"] for host, rank in ranks.items() if rank}, plan)
        causes = [f"{item['host'] or 'the fabric'}: {item['cause']}. {item['cure']}" for item in found]
    rows = judged["rows"]
    seen = f"{rows[-1]['mib']} MiB at {rows[-1]['busbw_gbps']} Gb/s bus bandwidth" if rows else "no figure"
    return _stage(name, seen, expected, [*causes, *otherwise, *judged["findings"], *mute]), judged


def _otherwise(host: str, node: Node, plan: Node) -> list[str]:
    """What NCCL did by its own log and dump otherwise than the node's settings say."""
    rank, told = node["rank"], node["settings"]
    expected = expected_from(
        {key: told[key] for key in ("graph", "devices", "environment")}
        | {"rank": plan["order"].index(host), "ranks": plan["size"]}
    )
    try:
        dumped = parse_graphs(rank["graph"]) if rank["graph"] else None
    except GraphError:  # half a file of a rank that ended while it wrote; the log says the same and more
        dumped = None
    return [difference.text for difference in differences(parse_log(rank["log"]), dumped, expected)]


def arx_ring(nodes: Nodes, unrun: str) -> Stage:
    """The serving image's own test of its small all-reduces."""
    name, expected = "arx ring test", "480 checks a rank, 0 failures"
    if unrun:
        return Stage(name, NOT_RUN, "", expected, (unrun,))
    read = {host: arx.read(node["arx"]["rc"], node["arx"]["stdout"]) for host, node in nodes.items() if node["arx"]}
    silent = [f"{host}: gave no result" for host in nodes if host not in read]
    failures = [f"{host}: {result.words}" for host, result in read.items() if not result.passed]
    return _stage(name, f"{sum(result.passed for result in read.values())} ranks passed", expected, silent + failures)
