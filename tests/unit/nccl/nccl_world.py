# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fabrics with whole NICs, and what NCCL is told on each of their nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._nccl.model import Device, Graph, devices_from
from ansible_collections.switchless.spark.plugins.module_utils._nccl.settings import settings
from ansible_collections.switchless.spark.plugins.module_utils._nccl.xml import parse
from tests.unit.fabric.fabric_world import Data, plan_of, views_of
from tests.unit.fabric.test_fabric_golden import load

CONTROL = {"netdev": "enP7s7", "address": "192.0.2.11"}

# The names of a Spark, in the order of their PCI addresses.
PORTS = (
    ("p0", "A", "0000:01:00.0", "enp1s0f0np0", "rocep1s0f0"),
    ("p1", "A", "0000:01:00.1", "enp1s0f1np1", "rocep1s0f1"),
    ("p0", "B", "0002:01:00.0", "enP2p1s0f0np0", "roceP2p1s0f0"),
    ("p1", "B", "0002:01:00.1", "enP2p1s0f1np1", "roceP2p1s0f1"),
)


def functions(**without: Sequence[str]) -> list[Data]:
    """What cx7_info shows of a whole NIC, by (cage, root). `without` by cage and root, as p0A: keys that are null."""
    return [
        {
            key: None if key in without.get(cage + root, ()) else value
            for key, value in {
                "pci": pci,
                "root": root,
                "cage": cage,
                "netdev": netdev,
                "mac": f"4c:bb:47:00:00:0{number}",
                "rdma": rdma,
                "carrier": True,
            }.items()
        }
        for number, (cage, root, pci, netdev, rdma) in enumerate(sorted(PORTS))
    ]


def inventory(name: str) -> tuple[Data, dict[str, Data]]:
    """The plan of an inventory, and what each node gets of it."""
    cables, hosts, values = load(name)
    return plan_of(cables, hosts, **values), views_of(cables, hosts, **values)


def of_inventory(name: str, host: str, **values: Any) -> dict[str, Any]:
    """The settings of one host of an inventory."""
    plan, views = inventory(name)
    return settings(views[host], plan, functions(), CONTROL, **values)


def of_cables(cables: Sequence[Data], hosts: Sequence[str], head: str | None = None, **values: Any) -> dict[str, Any]:
    """The settings of all hosts, by host."""
    plan, views = plan_of(cables, hosts, head=head), views_of(cables, hosts, head=head)
    return {host: settings(views[host], plan, functions(), CONTROL, **values) for host in plan["order"]}


def graph_of(told: dict[str, Any]) -> Graph:
    """The graph of a node's settings, read back."""
    (graph,) = parse(told["graph"])
    return graph


def devices_of(told: dict[str, Any]) -> tuple[Device, ...]:
    """The devices of a node's settings."""
    return devices_from(told["devices"])
