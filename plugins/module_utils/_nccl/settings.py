# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""What NCCL and vLLM must be told on one node, from its part of the plan and what its NIC shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._fabric.bind import bind
from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError, listing, shown
from ansible_collections.switchless.spark.plugins.module_utils._fabric.model import ROOTS
from ansible_collections.switchless.spark.plugins.module_utils._fabric.plain import plain

from .graph import generate, parse_channels, render
from .model import Device, device_to_dict
from .reasons import ABSENT, REASONS

NETS = ("rdma", "socket")
CABLED = ("pair", "triangle", "ring")
SWITCH = "switch"
ARX_SIZE = 4
"""Ranks of a ring that arx forwards in."""

IN_THE_WAY_ON_A_SWITCH = frozenset(("NCCL_GRAPH_FILE", "NCCL_ALGO", "NCCL_IB_SUBNET_AWARE_ROUTING"))

DEFAULT_CHANNELS = 8
DEFAULT_GRAPH_FILE = "/etc/switchless/nccl-graph.xml"
DEBUG_LEVELS = ("WARN", "INFO", "TRACE")


def settings(
    host: object,
    plan: object,
    functions: object,
    control: object,
    *,
    graph_file: str = DEFAULT_GRAPH_FILE,
    channels: object = DEFAULT_CHANNELS,
    net: object = "rdma",
    arx: bool = True,
    device_order: object = None,
    debug: object = "INFO",
) -> dict[str, object]:
    """The environment, the graph and the devices of a node.

    `host`: what the filter fabric_host gives. `plan`: what fabric_plan gives. `functions`: `cx7.functions` of
    cx7_info. `control`: `netdev` and `address` of the control plane on this node. `net`: rdma, or socket for machines
    without RDMA. `device_order`: the devices as NCCL found them (its log line `Using [0]`), else by PCI address.
    `debug`: NCCL's log level, nothing to leave it out. Raises FabricError with what is wrong.
    """
    layout, size, prefix_length = _shape(plain(plan))
    link = _choice("net", net, NETS)
    devices = _devices(host, functions, link, plain(device_order))
    environment = {
        **(_cabled(graph_file, parse_channels(channels)) if layout != SWITCH else {}),
        **(_rdma(devices, layout, prefix_length) if link == "rdma" else {"NCCL_NET": "Socket", "NCCL_IB_DISABLE": "1"}),
        **_control(plain(control), devices if link == "socket" else ()),
        **(_arx(devices) if arx and link == "rdma" and (layout, size) == ("ring", ARX_SIZE) else {}),
        **_debug(plain(debug)),
    }
    unwanted = ABSENT.keys() - environment.keys() - (frozenset() if layout == SWITCH else IN_THE_WAY_ON_A_SWITCH)
    absent = [name for name in ABSENT if name in unwanted]
    reasons = {**{name: REASONS[name] for name in environment}, **{name: ABSENT[name] for name in absent}}
    return {
        "environment": environment,
        "absent": absent,
        "reasons": {name: {"why": reason.why, "source": reason.source} for name, reason in reasons.items()},
        "graph": render(generate(devices, channels)) if layout != SWITCH else None,
        "devices": [device_to_dict(device) for device in devices],
    }


def _shape(plan: object) -> tuple[str, int, int]:
    if isinstance(plan, Mapping):
        layout, size, length = (plan.get(key) for key in ("layout", "size", "prefix_length"))
        if isinstance(layout, str) and isinstance(size, int) and isinstance(length, int):
            return _choice("the plan's layout", layout, (*CABLED, SWITCH)), size, length
    raise FabricError(f"the plan is {shown(plan)}: expected what the filter fabric_plan gives")


def _choice(what: str, raw: object, known: Sequence[str]) -> str:
    value = plain(raw)
    if isinstance(value, str) and value in known:
        return value
    raise FabricError(f"{what} is {shown(value)}: expected {', '.join(known[:-1])} or {known[-1]}")


def _devices(host: object, functions: object, net: str, order: object) -> tuple[Device, ...]:
    """The ports of the plan in NCCL's order, numbered."""
    ports: list[dict[str, Any]] = bind(host, functions)
    pci = {(item.get("cage"), item.get("root")): item.get("pci") for item in plain(functions)}  # type: ignore[attr-defined]
    node: Any = plain(host)
    if net == "rdma":
        problems = [
            f"{node['host']}: cage {port['cage']} on PCIe root {port['root']} (cable {port['cable']}): "
            f"{port['netdev']} has no RDMA device: NCCL needs one on every port of the plan; load the "
            "kernel module mlx5_ib, install rdma-core, and run with --tags cx7 for the reason and the cure"
            for port in ports
            if not port["rdma"]
        ]
        if problems:
            raise FabricError(*problems)
    key = "rdma" if net == "rdma" else "netdev"
    # NCCL sorts by domain, bus and device; the two functions of a root stay as the kernel lists them, usually in order.
    # That is why what NCCL says it found is compared with this, and why device_order is there.
    ports.sort(key=lambda port: str(pci[port["cage"], port["root"]]))
    if order is not None:
        ports = _ordered(ports, key, order)
    return tuple(
        Device(
            index=index,
            device=port[key],
            netdev=port["netdev"],
            pci=str(pci[port["cage"], port["root"]] or ""),
            cage=port["cage"],
            root=port["root"],
            cable=port["cable"],
            towards=port["towards"],
        )
        for index, port in enumerate(ports)
    )


def _ordered(ports: Sequence[dict[str, Any]], key: str, order: object) -> list[dict[str, Any]]:
    by_name = {port[key]: port for port in ports}
    if isinstance(order, list) and sorted(map(str, order)) == sorted(by_name):
        return [by_name[device] for device in order]
    raise FabricError(
        f"device_order is {shown(order)}: expected the devices {listing(by_name)}, each once, in the order of NCCL's "
        "log line 'Using [0]'"
    )


def _cabled(graph_file: str, channels: int) -> dict[str, str]:
    return {
        "NCCL_ALGO": "Ring",
        "NCCL_GRAPH_FILE": str(plain(graph_file)),
        "NCCL_CROSS_NIC": "1",
        "NCCL_MIN_NCHANNELS": str(channels),
        "NCCL_MAX_NCHANNELS": str(channels),
        "NCCL_CUMEM_ENABLE": "1",
        "NCCL_RUNTIME_CONNECT": "1",
        "VLLM_BATCH_INVARIANT": "0",
    }


def _rdma(devices: Sequence[Device], layout: str, prefix_length: int) -> dict[str, str]:
    """On a switch each PCIe root has one subnet, the same on all nodes: a channel stays on the root it is on."""
    subnets = {"NCCL_IB_SUBNET_AWARE_ROUTING": "1", "NCCL_IB_SUBNET_PREFIX_LEN": str(prefix_length)}
    return {
        "NCCL_NET": "IB",
        "NCCL_IB_HCA": "=" + ",".join(device.device for device in devices),
        **(subnets if layout != SWITCH else {"NCCL_CROSS_NIC": "0"}),
        "NCCL_IB_MERGE_NICS": "0",
        "NCCL_IB_ADDR_FAMILY": "AF_INET",
        "NCCL_IB_ROCE_VERSION_NUM": "2",
    }


def _control(control: object, data: Sequence[Device]) -> dict[str, str]:
    """The control plane; NCCL itself goes over `data` where it has no RDMA."""
    values = [control.get(key) for key in ("netdev", "address")] if isinstance(control, Mapping) else []
    match values:
        case [str() as netdev, str() as address] if netdev and address:
            sockets = ",".join(device.netdev for device in data) or netdev
            return {
                "NCCL_SOCKET_FAMILY": "AF_INET",
                "NCCL_SOCKET_IFNAME": f"={sockets}",
                "GLOO_SOCKET_IFNAME": netdev,
                "TP_SOCKET_IFNAME": netdev,
                "VLLM_HOST_IP": address,
            }
    raise FabricError(
        f"control is {shown(control)}: expected netdev and address of the control plane on this node, both as text"
    )


def _arx(devices: Sequence[Device]) -> dict[str, str]:
    def facing(neighbour: str) -> str:
        return ",".join(
            device.device for root in ROOTS for device in devices if device.root == root and device.faces(neighbour)
        )

    return {
        "VLLM_ARX_RING": "1",
        "ARX_RING_PREV_HCAS": facing("previous"),
        "ARX_RING_NEXT_HCAS": facing("next"),
    }


def _debug(raw: object) -> dict[str, str]:
    if raw is None or raw == "":
        return {}
    level = _choice("debug", raw, DEBUG_LEVELS)
    return (
        {"NCCL_DEBUG": level} if level == "WARN" else {"NCCL_DEBUG": level, "NCCL_DEBUG_SUBSYS": "INIT,ENV,NET,GRAPH"}
    )
