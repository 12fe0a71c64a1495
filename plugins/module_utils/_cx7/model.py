# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node shows of its ConnectX-7, as values. Units are in the names; null means that the node did not say."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

SCHEMA = 1
ROOT_OF_DOMAIN = {"0000": "A", "0002": "B"}  # PCI domain → PCIe root: the two Gen5 x4 root ports of the one ASIC
CAGE_OF_FUNCTION = {"0": "p0", "1": "p1"}  # PCI function number → cage, the same in both domains
PORTS = (("p0", "A"), ("p0", "B"), ("p1", "A"), ("p1", "B"))  # the four functions of one ConnectX-7, (cage, root)


@dataclass(frozen=True, slots=True)
class Gid:
    """One entry of an RDMA port's GID table that is in use. The index drifts: always look it up by address."""

    index: int
    gid: str
    type: str | None
    ipv4: str | None
    netdev: str | None


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Who is at the other end of the cable, as its LLDP daemon says."""

    chassis_name: str | None
    chassis_id: str | None
    port_id: str | None
    port_description: str | None
    ttl_seconds: int | None


@dataclass(frozen=True, slots=True)
class Function:
    """One PCI function: a (cage, root) of the node with its netdev and its RDMA device."""

    pci: str
    root: str
    cage: str
    phys_port_name: str | None = None
    phys_switch_id: str | None = None
    netdev: str | None = None
    mac: str | None = None
    mac_permanent: str | None = None
    rdma: str | None = None
    admin_up: bool | None = None
    carrier: bool | None = None
    operstate: str | None = None
    speed_mbps: int | None = None
    mtu: int | None = None
    carrier_changes: int | None = None
    carrier_down_count: int | None = None
    link_layer: str | None = None
    ib_state: str | None = None
    ib_phys_state: str | None = None
    ib_rate_gbps: float | None = None
    pcie_speed_gts: float | None = None
    pcie_width: int | None = None
    pcie_max_speed_gts: float | None = None
    pcie_max_width: int | None = None
    firmware: str | None = None
    gids: tuple[Gid, ...] = ()
    networkmanager: str | None = None
    lldp: Neighbour | None = None
    raw: dict[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Event:
    """One line of this boot's kernel log that concerns the NIC."""

    kind: str
    text: str
    seconds: float | None = None
    stamp: str | None = None
    pci: str | None = None
    root: str | None = None
    cage: str | None = None
    detail: str | None = None
    priority: int | None = None


@dataclass(frozen=True, slots=True)
class SlotPower:
    """One slot-power line. C(insufficient) with 27 W is printed by every healthy Spark; C(not_advertised) is not."""

    status: str
    text: str
    watts: int | None = None
    seconds: float | None = None
    stamp: str | None = None
    pci: str | None = None
    root: str | None = None
    cage: str | None = None
    pid: int | None = None


@dataclass(frozen=True, slots=True)
class SlotPowerRegister:
    """Register MPEIN of one function; only read when asked for."""

    pci: str
    status: str | None
    watts: int | None
    raw: str


@dataclass(frozen=True, slots=True)
class RootPort:
    """The root port above the functions. 2.5 GT/s with nothing behind it is a NIC that was powered down."""

    root: str
    pci: str
    pcie_speed_gts: float | None
    pcie_width: int | None
    raw: dict[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hotplug:
    """The driver that takes a NIC without cables off the bus, and the marker file that arms it."""

    armed: bool
    marker: str
    driver: bool
    enabled: bool | None
    powered: bool | None
    raw: dict[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cx7:
    """All of it: what C(cx7_info) returns."""

    functions: tuple[Function, ...]
    root_ports: tuple[RootPort, ...]
    hotplug: Hotplug
    events: tuple[Event, ...]
    events_omitted: int
    slot_power: tuple[SlotPower, ...]
    slot_power_register: tuple[SlotPowerRegister, ...]
    log_complete: bool
    log_source: str
    log_clock: str
    boot_id: str | None
    uptime_seconds: float | None
    lldp_running: bool
    networkmanager_running: bool
    warnings: tuple[str, ...]
    schema: int = SCHEMA

    def as_dict(self) -> dict[str, Any]:
        """Plain data for C(exit_json)."""
        return asdict(self)
