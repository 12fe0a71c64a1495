# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the four nodes of the article show and say when all is well, to be spoilt piece by piece.

Bytes and datagrams are those of a run of tests/nccl: NCCL 2.28.9 over sockets, four ranks on one GPU, 1, 4, 16 and 64
MiB three times each.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._link.results import results
from ansible_collections.switchless.spark.plugins.module_utils._link.schedule import schedule
from ansible_collections.switchless.spark.plugins.module_utils._nccl.library import Library
from ansible_collections.switchless.spark.plugins.module_utils._nccl.memory import Memory
from ansible_collections.switchless.spark.plugins.module_utils._nccl.proof import judge
from ansible_collections.switchless.spark.plugins.module_utils._nccl.settings import settings
from tests.unit.fabric.fabric_world import Data
from tests.unit.nccl.nccl_world import CONTROL, functions, inventory

MIB = 2**20
SIZES = (1, 4, 16, 64)
ITERATIONS = 3
VOLUME = sum(SIZES) * MIB * ITERATIONS * 3 // 2
"""Bytes that each of four ranks sends: 1.5 times what it reduces."""
SENDS = {"sent": 201055470, "received": 156816}
RECEIVES = {"received": 200841180, "sent": 142428}
PLAN, VIEWS = inventory("ring4")
ORDER: list[str] = PLAN["order"]
SETTINGS: dict[str, Data] = {host: settings(VIEWS[host], PLAN, functions(), CONTROL) for host in ORDER}
DEVICES: dict[str, list[Data]] = {host: SETTINGS[host]["devices"] for host in ORDER}


def said(host: str, nccl: str = "2.30.7") -> Data:
    """The line of a rank, with the bytes at the ports that face its neighbours."""
    ports = {}
    for device in DEVICES[host]:
        ports[f"{device['cage']}/{device['root']}"] = dict(SENDS if device["towards"] == "next" else RECEIVES)
    return {
        "rank": ORDER.index(host),
        "size": len(ORDER),
        "torch": "2.10.0+cu130",
        "device": "NVIDIA GB10",
        "library": "/opt/vllm/lib/libnccl.so.2",
        "nccl": nccl,
        "error": None,
        "phase": "end",
        "sizes": [
            {
                "mib": mib,
                "elements": mib * MIB // 4 * ITERATIONS,
                "wrong": 0,
                "seconds": mib / 16_000 * (1 + ORDER.index(host) / 100),
                "busbw_gbps": 201.3 / (1 + ORDER.index(host) / 100),
            }
            for mib in SIZES
        ],
        "ports": ports,
        "forwarded": 0,
        "without_link": [],
    }


def all_said(nccl: str = "2.30.7") -> dict[str, Any]:
    return {host: said(host, nccl) for host in ORDER}


def judged(told: dict[str, Any], **more: Any) -> dict[str, Any]:
    return judge(told, DEVICES, more.pop("plan", PLAN), **more)


def shown(host: str) -> list[Data]:
    """What cx7_info shows: all links up, on each port of the plan a GID of either version of RoCE."""
    addresses = {(port["cage"], port["root"]): port["address"] for port in VIEWS[host]["ports"]}
    found = []
    for function in functions():
        address = addresses[function["cage"], function["root"]]
        gids = [
            {"index": index, "gid": f"::ffff:{address}", "type": kind, "ipv4": address, "netdev": function["netdev"]}
            for index, kind in enumerate(("IB/RoCE v1", "RoCE v2"), 2)
        ]
        link_local = {"index": 0, "gid": "fe80::1", "type": "RoCE v2", "ipv4": None, "netdev": function["netdev"]}
        found.append(function | {"ib_state": "ACTIVE", "gids": [link_local, *gids]})
    return found


def link_rows(gbps: float = 98.03, *, verbs: bool = True, hosts: tuple[str, ...] = (), unmade: str = "") -> Any:
    """Host to the rows of link_test, by its own code."""
    present = {
        host: {
            "functions": functions(),
            "readiness": {
                "verbs": [function["rdma"] for function in functions()] if verbs else [],
                "verbs_detail": "" if verbs else "/dev/infiniband is not there",
                "tools": ["ib_write_bw", "iperf3"],
                "gpu_processes": [],
            },
        }
        for host in hosts or ORDER
    }
    made = schedule(PLAN, present)
    measured: dict[str, list[Data]] = {host: [] for host in present}
    for lists in made["rounds"]:
        for host, items in lists.items():
            measured[host] += [item | {"gbps": gbps, "detail": "", "lost": False, "raw": ""} for item in items]
    return results(made, measured, unmade=unmade)["hosts"]


LINK_ROWS = link_rows()
LOADED = Library(
    python="/opt/vllm/bin/python",
    version="2.30.7",
    library="/opt/vllm/lib/libnccl.so.2",
    sha256="ab" * 32,
    torch="2.10.0+cu130",
    built_for="2.28.9",
)
MEMORY = Memory(cma_total_kb=131072, cma_free_kb=100000, kernel="6.17.0-1032-nvidia")


def node(host: str) -> Data:
    """All that the filter transport_report gets of a node."""
    return {
        "ports": VIEWS[host]["ports"],
        "functions": shown(host),
        "settings": deepcopy(SETTINGS[host]),
        "transport": {
            "contradictions": [],
            "refusal": None,
            "memory": MEMORY.as_dict(),
            "nccl": LOADED.as_dict(),
            "gpu_processes": [],
        },
        "unlaid": False,
        "link": deepcopy(LINK_ROWS[host]),
        "rank": {"changed": False, "told": said(host), "exit_status": 0, "stderr": "", "log": "", "graph": None},
        "arx": {"rc": 0, "stdout": "RESULT ring: PASS (480 checks)\n"},
    }


def nodes(*hosts: str) -> dict[str, Data]:
    return {host: node(host) for host in hosts or ORDER}
