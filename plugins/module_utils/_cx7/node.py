# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts together what one node shows. Reads only; every part that is missing is a null, an empty list or a warning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Runner

from . import gids, ib, kernel_log, lldp, networkmanager, pci
from .model import Cx7, Function, Hotplug, Neighbour, SlotPowerRegister
from .slot_power import RegisterRefusedError, read_registers
from .sysfs import Tree, flag, integer

MARKER = ("etc", "nvidia", "cx7-hotplug-enabled")
IFF_UP = 0x1

_NETDEV_FILES = (
    "address",
    "carrier",
    "carrier_changes",
    "carrier_down_count",
    "flags",
    "mtu",
    "operstate",
    "phys_port_name",
    "phys_switch_id",
    "speed",
)
_PCI_FILES = ("current_link_speed", "current_link_width", "max_link_speed", "max_link_width")
_RDMA_FILES = ("fw_ver", "hca_type", "node_guid", "sys_image_guid")
_RDMA_PORT_FILES = ("state", "phys_state", "rate", "link_layer")


@dataclass(frozen=True, slots=True)
class Sources:
    """Where to look."""

    sys: Tree
    proc: Tree
    host: Tree  # the root folder, for the marker below /etc
    runner: Runner
    permanent_mac: Callable[[str], str | None] = lambda _netdev: None
    kernel_log: str | None = None  # text of a log to read instead of the node's
    ask_lldp: bool = True
    ask_register: bool = False


def _netdev_of(sys: Tree, address: str) -> str | None:
    names = sys.names("bus", "pci", "devices", address, "net")
    if names:
        return names[0]
    return next((name for name in sys.names("class", "net") if pci.device_behind(sys, "net", name) == address), None)


def _rdma_of(sys: Tree, address: str, netdev: str | None) -> str | None:
    """By the function's own folder, by the device link, and last by the netdev that its GIDs stand on."""
    names = sys.names("bus", "pci", "devices", address, "infiniband")
    if names:
        return names[0]
    devices = sys.names("class", "infiniband")
    for name in devices:
        if pci.device_behind(sys, "infiniband", name) == address:
            return name
    for name in devices if netdev else []:
        folder = ("class", "infiniband", name, "ports", "1", "gid_attrs", "ndevs")
        if any(sys.read(*folder, index) == netdev for index in sys.names(*folder)):
            return name
    return None


def _function(sys: Tree, address: str, root: str, cage: str, permanent_mac: Callable[[str], str | None]) -> Function:
    netdev = _netdev_of(sys, address)
    rdma = _rdma_of(sys, address, netdev)
    port = ("class", "infiniband", rdma, "ports", "1") if rdma else ()
    raw: dict[str, str | None] = {key: sys.read("bus", "pci", "devices", address, key) for key in _PCI_FILES}
    if netdev:
        raw |= {key: sys.read("class", "net", netdev, key) for key in _NETDEV_FILES}
    if rdma:
        raw |= {key: sys.read("class", "infiniband", rdma, key) for key in _RDMA_FILES}
        raw |= {f"ib_{key}": sys.read(*port, key) for key in _RDMA_PORT_FILES}
    flags = integer(raw.get("flags"))
    speed = integer(raw.get("speed"))
    return Function(
        pci=address,
        root=root,
        cage=cage,
        phys_port_name=raw.get("phys_port_name") or None,
        phys_switch_id=raw.get("phys_switch_id") or None,
        netdev=netdev,
        mac=raw.get("address") or None,
        mac_permanent=permanent_mac(netdev) if netdev else None,
        rdma=rdma,
        admin_up=bool(flags & IFF_UP) if flags is not None else None,
        carrier=flag(raw.get("carrier")),
        operstate=raw.get("operstate") or None,
        speed_mbps=speed if speed is not None and speed > 0 else None,
        mtu=integer(raw.get("mtu")),
        carrier_changes=integer(raw.get("carrier_changes")),
        carrier_down_count=integer(raw.get("carrier_down_count")),
        link_layer=raw.get("ib_link_layer") or None,
        ib_state=ib.name_of(raw.get("ib_state")),
        ib_phys_state=ib.name_of(raw.get("ib_phys_state")),
        ib_rate_gbps=ib.rate_gbps(raw.get("ib_rate")),
        pcie_speed_gts=pci.link_speed_gts(raw["current_link_speed"]),
        pcie_width=pci.link_width(raw["current_link_width"]),
        pcie_max_speed_gts=pci.link_speed_gts(raw["max_link_speed"]),
        pcie_max_width=pci.link_width(raw["max_link_width"]),
        firmware=raw.get("fw_ver") or None,
        gids=gids.read(sys, *port) if port else (),
        raw=raw,
    )


def _functions(sources: Sources, warnings: list[str]) -> tuple[Function, ...]:
    found: dict[tuple[str, str], Function] = {}
    for address in pci.find(sources.sys):
        root, cage = pci.place(address)
        if root is None or cage is None:
            warnings.append(f"{address} is a ConnectX-7 but not where a Spark has its own: it is left out")
            continue
        if (cage, root) in found:
            warnings.append(f"{address} would be a second {cage} on root {root}: it is left out")
            continue
        function = _function(sources.sys, address, root, cage, sources.permanent_mac)
        if function.phys_port_name not in (None, cage):
            warnings.append(
                f"{address} says phys_port_name {function.phys_port_name}, its PCI function number says {cage}: "
                f"{cage} is used"
            )
        found[cage, root] = function
    return tuple(found[key] for key in sorted(found))


def _hotplug(sources: Sources) -> Hotplug:
    sys = sources.sys
    raw: dict[str, str | None] = {}
    folder: tuple[str, ...] | None = None
    for parent in (("bus", "platform", "drivers", "cx7-pcie-hotplug"), ("devices", "platform")):
        device = next((name for name in sys.names(*parent) if name.startswith("MTKP0001:")), None)
        if device is not None:
            folder = (*parent, device, "pcie_hotplug")
            break
    if folder is not None:
        raw = {key: sys.read(*folder, key) for key in ("hotplug_enabled", "debug_state")}
    return Hotplug(
        armed=sources.host.exists(*MARKER),
        marker="/" + "/".join(MARKER),
        driver=folder is not None and sys.exists(*folder),
        enabled=flag(raw.get("hotplug_enabled")),
        powered=flag(raw.get("debug_state")),
        raw=raw,
    )


def uptime_seconds(proc: Tree) -> float | None:
    try:
        return float((proc.read("uptime") or "").split()[0])
    except (IndexError, ValueError):
        return None


def _with_neighbours(
    functions: tuple[Function, ...],
    states: Mapping[str, str] | None,
    neighbours: Mapping[str, Neighbour] | None,
) -> tuple[Function, ...]:
    return tuple(
        replace(
            function,
            networkmanager=(states or {}).get(function.netdev or ""),
            lldp=(neighbours or {}).get(function.netdev or ""),
        )
        for function in functions
    )


def look(sources: Sources) -> Cx7:
    """Everything that the node shows, once."""
    warnings: list[str] = []
    functions = _functions(sources, warnings)
    netdevs = [function.netdev for function in functions if function.netdev]
    states = networkmanager.read(sources.runner) if netdevs else None
    neighbours = lldp.read(sources.runner, netdevs, warnings) if netdevs and sources.ask_lldp else None
    if sources.kernel_log is not None:
        log, log_source = kernel_log.parse(sources.kernel_log), "file"
    else:
        log, log_source = kernel_log.read(sources.runner, warnings)
    findings = kernel_log.find(log.lines)
    registers: tuple[SlotPowerRegister, ...] = ()
    if sources.ask_register:
        try:
            registers = read_registers(sources.runner, functions, findings, log.complete, warnings)
        except RegisterRefusedError as refusal:
            warnings.append(str(refusal))
    return Cx7(
        functions=_with_neighbours(functions, states, neighbours),
        root_ports=pci.root_ports(sources.sys),
        hotplug=_hotplug(sources),
        events=findings.events,
        events_omitted=findings.events_omitted,
        slot_power=findings.slot_power,
        slot_power_register=registers,
        log_complete=log.complete,
        log_source=log_source,
        log_clock=log.clock,
        boot_id=sources.proc.read("sys", "kernel", "random", "boot_id"),
        uptime_seconds=uptime_seconds(sources.proc),
        lldp_running=neighbours is not None,
        networkmanager_running=states is not None,
        warnings=tuple(warnings),
    )
