# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Public reports (their numbers are those of the project's collection of reports) with the right verdict for each.

A case says what the node shows, its log, what was measured, what the plan has, and what has to come out: for each port
the verdict and the code of its first reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.unit.cx7 import spark_logs as log
from tests.unit.cx7.spark_tree import UNREADABLE, Shown

Gbps = float | None
UP = Shown(cables="p0")
DARK = Shown(cables="", absent="all")
LOW = "insufficient_power_line"


@dataclass(frozen=True)
class Case:
    id: str
    expected: Mapping[str, str]  # port, or "node" → "verdict code"
    shown: Shown = UP
    log: str = log.HEALTHY
    rdma: Mapping[str, tuple[Gbps, Gbps]] = field(default_factory=dict)  # port → (out, in)
    tcp: Mapping[str, tuple[Gbps, Gbps]] = field(default_factory=dict)
    plan: str = "p0"  # cages that the plan uses
    port: Mapping[str, Any] = field(default_factory=dict)  # more of what the plan wants of each of them
    already_rebooted: bool = False
    notes: Mapping[str, str] = field(default_factory=dict)  # port → codes of its notes
    measure: str = ""  # ports that only lack a measurement

    @property
    def expect(self) -> list[dict[str, Any]]:
        return [
            {"cage": cage, "root": root, "peer": {"host": "spark2", "cage": "p1"}, **self.port}
            for cage in self.plan.split()
            for root in "AB"
        ]

    @property
    def bandwidth(self) -> list[dict[str, Any]]:
        return [
            {"cage": port.split()[0], "root": port.split()[1], "direction": direction, "gbps": gbps, "method": method}
            for method, rows in (("rdma", self.rdma), ("tcp", self.tcp))
            for port, both in rows.items()
            for direction, gbps in zip(("out", "in"), both, strict=True)
        ]


def both(out: Gbps, back: Gbps | None = None) -> dict[str, tuple[Gbps, Gbps]]:
    """The same on both roots of p0."""
    pair = (out, out if back is None else back)
    return {"p0 A": pair, "p0 B": pair}


def p0(verdict: str, node: str | None = None) -> dict[str, str]:
    return {"node": node or verdict.split(maxsplit=1)[0], "p0 A": verdict, "p0 B": verdict}


SLOW = both(13.23)
FAST = both(98.03)

SLOT_POWER = (
    Case("A1 clean counters, clean log, 13.23 by RDMA", p0("needs_reboot throttled"), rdma=SLOW),
    Case("A2 excerpt of the log alone", p0("needs_reboot hotplug"), log=log.A2),
    Case("A2 log and 13.33", p0("needs_reboot hotplug"), log=log.A2, rdma=both(13.33, 13.23)),
    Case("A2 after rebooting both", p0("ok"), rdma=FAST, notes={"p0 A": LOW}),
    Case("A2 wrong GID: exit 0 and no row", p0("unknown no_result"), rdma=both(None), measure="p0 A, p0 B"),
    Case(
        "A2 TCP with 8 streams proves nothing", p0("unknown tcp_proves_nothing"), tcp=both(13.1), measure="p0 A, p0 B"
    ),
    Case("A3 the line without a device", p0("needs_reboot not_advertised"), log=log.A3),
    Case(
        "A3 the line and 12.7", p0("needs_reboot not_advertised"), log=log.HEALTHY + log.NOT_ADVERTISED, rdma=both(12.7)
    ),
    Case(
        "A4 upside down: no module event at all",
        p0("fault cable_missing"),
        shown=Shown(cables=""),
        log=log.BOOT + log.PROBES + log.TWENTY_SEVEN_WATTS,
    ),
    Case(
        "A4 second path at MTU 1500",
        p0("misconfigured mtu"),
        shown=Shown(files={"p0 A": {"mtu": "1500"}, "p0 B": {"mtu": "1500"}}),
        rdma=FAST,
        port={"mtu": 9000},
    ),
    Case("A5 before", p0("needs_reboot hotplug"), log=log.POWERED_DOWN + log.PLUGGED_LATER, rdma=both(13.49)),
    Case("A5 healthy, 27 W at 1.5 s", p0("ok"), rdma=both(108.94), notes={"p0 A": LOW}),
    Case(
        "A13 both lines, throttled",
        p0("needs_reboot not_advertised"),
        log=log.HEALTHY + log.NOT_ADVERTISED,
        rdma=both(13.1),
        notes={"p0 A": LOW},
    ),
    Case("A5 log, not measured", p0("unknown not_measured"), measure="p0 A, p0 B"),
    Case("A6 the host that was not rebooted sends slowly", p0("needs_reboot throttled"), rdma=both(13.2, 98.1)),
    Case("A6 the host that was rebooted receives slowly", p0("unknown peer_throttled"), rdma=both(98.1, 13.2)),
    Case(
        "A6 only what it receives has a result",
        p0("unknown no_result"),
        rdma={"p0 A": (None, 13.2), "p0 B": (None, 13.2)},
    ),
    Case(
        "A6 one root slow, the other fast",
        {"node": "needs_reboot", "p0 A": "needs_reboot throttled", "p0 B": "ok"},
        rdma={"p0 A": (13.2, 13.2), "p0 B": (98.0, 98.0)},
    ),
    Case("A7 27 W at run time alone", p0("unknown not_measured"), log=log.HEALTHY + log.A7, measure="p0 A, p0 B"),
    Case("A7 before", p0("needs_reboot throttled"), log=log.HEALTHY + log.A7, rdma=both(13.4, 12.7)),
    Case("A7 both roots at once share the cap", p0("needs_reboot throttled"), rdma=both(6.67)),
    Case("A7 after", p0("ok"), log=log.HEALTHY + log.A7, rdma={"p0 A": (106.0, 106.0), "p0 B": (105.0, 105.0)}),
    Case("A8 before", p0("needs_reboot throttled"), rdma=both(13.39)),
    Case("A8 after", p0("ok"), rdma=both(98.01)),
    Case("A9 a reboot did not help", p0("needs_power_drain throttled"), rdma=both(13.19), already_rebooted=True),
    Case(
        "A9 nor by the log",
        p0("needs_power_drain not_advertised"),
        log=log.HEALTHY + log.NOT_ADVERTISED,
        already_rebooted=True,
    ),
    Case("A9 drained", p0("ok"), rdma=both(110.88), already_rebooted=True),
    Case("A10 before", p0("needs_reboot throttled"), rdma=both(12.74)),
    Case("A10 after", p0("ok"), rdma=both(111.86)),
    Case("A10 one TCP stream looks the same", p0("unknown tcp_proves_nothing"), tcp=both(12.0), measure="p0 A, p0 B"),
    Case("A12 no trap on this pair", p0("ok"), rdma=both(92.0)),
    Case("E10 four times 27 W is no alarm", p0("ok"), rdma=both(97.0), notes={"p0 A": LOW}),
    Case(
        "a hot-plug that was measured fast in both directions",
        p0("ok"),
        log=log.POWERED_DOWN + log.PLUGGED_LATER,
        rdma=FAST,
        notes={"p0 A": f"{LOW} hotplug"},
    ),
    Case(
        "the marker disarmed, the cable plugged later",
        p0("needs_reboot plugged_late"),
        log=log.boot()
        + (
            "[  500.000000] mlx5_core 0000:01:00.0: Port module event: module 0, Cable plugged\n"
            "[  500.010000] mlx5_core 0002:01:00.0: Port module event: module 0, Cable plugged\n"
        ),
    ),
    Case(
        "the driver loaded again with the cable seated",
        p0("unknown not_measured"),
        log=log.HEALTHY
        + (
            "[  500.000000] mlx5_core 0000:01:00.0: firmware version: 28.45.4028\n"
            "[  500.400000] mlx5_core 0000:01:00.0: Port module event: module 0, Cable plugged\n"
        ),
        measure="p0 A, p0 B",
    ),
    Case("TCP that is fast shows that the port is", p0("ok"), tcp=both(96.0)),
    Case("70 by RDMA", p0("unknown bandwidth_degraded"), rdma=both(70.0)),
    Case("40 by RDMA", p0("unknown bandwidth_unexplained"), rdma=both(40.0)),
    Case("0 by RDMA is not the cap", p0("unknown bandwidth_unexplained"), rdma=both(0.0)),
)

X2 = {"current_link_width": "2"}
DOWN = {
    "carrier": "0",
    "operstate": "down",
    "speed": "-1",
    "state": "1: DOWN",
    "phys_state": "3: Disabled",
    "rate": "40 Gb/sec (4X QDR)",
}
SLOW_LINK = {"speed": "100000", "rate": "100 Gb/sec (4X EDR)"}

MISSING_NIC = (
    Case(
        "B1 no cable, none planned", {"node": "no_cable", "p0 A": "no_cable no_cable"}, shown=DARK, log=log.B1, plan=""
    ),
    Case(
        "B1 the plan has a cable, the NIC saw none",
        {"node": "fault", "p0 A": "fault cable_missing"},
        shown=DARK,
        log=log.POWERED_DOWN,
    ),
    Case(
        "B1 a cable was in and the cards are gone",
        p0("fault nic_vanished"),
        shown=DARK,
        log=log.boot(0) + ("[   10.163483] mlx5_core 0000:01:00.0: E-Switch: cleanup\n"),
    ),
    Case("B2 retraining failed", p0("fault retraining_failed"), shown=DARK, log=log.B2),
    Case("B2 retraining failed, none planned", p0("fault retraining_failed"), shown=DARK, log=log.B2, plan=""),
    Case(
        "B3 gone 20 s after boot although a cable is in",
        p0("misconfigured hotplug_removed_nic"),
        shown=DARK,
        log=log.B3,
    ),
    Case(
        "B3 gone although the module was seen",
        p0("misconfigured hotplug_removed_nic"),
        shown=DARK,
        log=log.boot(0) + ("[   21.000000] cx7-pcie-hotplug MTKP0001:00: Cable removal\n"),
    ),
    Case(
        "B3b no cable, dates only",
        {"node": "no_cable", "p0 A": "no_cable no_cable", "p1 B": "no_cable no_cable"},
        shown=DARK,
        log=log.B3B,
        plan="",
    ),
    Case(
        "B4 no NIC and nothing said",
        {"node": "no_cable", "p0 A": "no_cable no_cable"},
        shown=DARK,
        log=log.NOTHING,
        plan="",
    ),
    Case("B4 the same with a plan", p0("fault nic_absent"), shown=DARK, log=log.NOTHING),
    Case(
        "B4 the same with a plan and half a log", p0("unknown nic_absent"), shown=DARK, log="[ 900.5] usb 1-1: reset\n"
    ),
    Case(
        "B5 the peer rebooted: 2 of 4 active",
        {"node": "needs_reboot", "p0 A": "needs_reboot nic_dropped", "p1 A": "needs_reboot hotplug"},
        shown=Shown(cables="p1"),
        log=log.B5,
        plan="p0 p1",
    ),
    Case(
        "B5 the peer is down and took the NIC with it",
        p0("needs_reboot nic_dropped"),
        shown=DARK,
        log=log.boot(0) + ("[ 9005.200000] cx7-pcie-hotplug MTKP0001:00: Cable removal\n"),
    ),
    Case(
        "B5 seen from the peer, which is healthy and has no link",
        p0("needs_reboot peer_dropped"),
        shown=Shown(cables=""),
        port={"peer_dropped": True},
    ),
    Case("the same, not knowing that of the peer", p0("fault cable_missing"), shown=Shown(cables="")),
    Case(
        "a cable pulled out later, none planned",
        {"node": "no_cable"},
        shown=DARK,
        log=log.boot(0) + ("[ 9005.200000] cx7-pcie-hotplug MTKP0001:00: Cable removal\n"),
        plan="",
    ),
    Case("B6 inserted later", p0("needs_reboot hotplug"), log=log.POWERED_DOWN + log.PLUGGED_LATER),
    Case(
        "B8 second root at half width",
        {"node": "fault", "p0 A": "ok", "p0 B": "fault pcie_width", "p1 B": "fault pcie_width"},
        shown=Shown(files={"p0 B": X2, "p1 B": X2}),
        rdma={"p0 A": (98.0, 98.0), "p0 B": (55.0, 55.0)},
    ),
    Case(
        "B8 a reboot does not help although it is throttled too",
        {"node": "fault", "p0 A": "needs_reboot throttled", "p0 B": "fault pcie_width"},
        shown=Shown(files={"p0 B": X2}),
        rdma=SLOW,
    ),
    Case(
        "PCIe at 16 GT/s",
        {"node": "fault", "p0 A": "fault pcie_speed"},
        shown=Shown(files={"p0 A": {"current_link_speed": "16.0 GT/s PCIe"}}),
        rdma=FAST,
    ),
    Case(
        "B10 fatal PCIe error",
        {"node": "fault", "p0 A": "fault aer_fatal", "p0 B": "unknown not_measured"},
        log=log.HEALTHY + log.B10,
        measure="p0 B",
    ),
    Case(
        "B11 25 Gb/s after a re-plug",
        p0("needs_reboot link_rate_collapsed"),
        shown=Shown(files={port: {"speed": "25000", "rate": "25 Gb/sec (1X EDR)"} for port in ("p0 A", "p0 B")}),
    ),
    Case(
        "B12 link dropped 21 times",
        {"node": "fault", "p0 A": "fault link_flaps", "p0 B": "ok"},
        shown=Shown(files={"p0 A": {"carrier_down_count": "21", "carrier_changes": "43"}}),
        rdma=FAST,
    ),
    Case(
        "the peer was rebooted twice",
        p0("ok"),
        shown=Shown(files={"p0 A": {"carrier_down_count": "2", "carrier_changes": "5"}}),
        rdma=FAST,
        notes={"p0 A": f"{LOW} link_losses"},
    ),
    Case(
        "18 losses by reboots of the peer in a month",
        p0("ok"),
        shown=Shown(uptime="2592000.0 1.0", files={"p0 A": {"carrier_down_count": "18", "carrier_changes": "37"}}),
        rdma=FAST,
    ),
    Case(
        "B13 Rate 40 on a port that is down",
        {"node": "ok", "p0 A": "ok", "p1 A": "no_cable no_cable", "p1 B": "no_cable no_cable"},
        rdma=FAST,
    ),
    Case(
        "B16 a real 100G link",
        p0("misconfigured link_rate_low"),
        shown=Shown(files={"p0 A": SLOW_LINK, "p0 B": SLOW_LINK}),
        rdma=both(92.0),
    ),
    Case(
        "B16 100G is what the plan wants",
        p0("ok"),
        shown=Shown(files={"p0 A": SLOW_LINK, "p0 B": SLOW_LINK}),
        rdma=both(92.0),
        port={"minimum_rate_gbps": 100},
    ),
    Case("B14 up", p0("ok"), rdma=both(97.5)),
    Case(
        "B15 a 100G cable, renamed netdevs",
        p0("misconfigured link_rate_low"),
        shown=Shown(
            netdevs={"p0 A": "net-aerial00", "p0 B": "net-aerial01", "p1 A": "net-aerial02", "p1 B": "net-aerial03"},
            files={"p0 A": SLOW_LINK, "p0 B": SLOW_LINK},
        ),
    ),
    Case("B18 CPU-forwarded by a switch", p0("unknown bandwidth_unexplained"), rdma=both(4.85)),
    Case("B19 an EEPROM that looks wrong is not looked at", p0("ok"), rdma=both(98.0)),
    Case(
        "module error",
        p0("fault module_error"),
        shown=Shown(cables=""),
        log=log.HEALTHY
        + "".join(
            f"[  100.1] mlx5_core {pci}: Port module event[error]: module 0, Cable error, Bad or shorted cable/module\n"
            for pci in ("0000:01:00.0", "0002:01:00.0")
        ),
    ),
    Case(
        "one twin down",
        {"node": "fault", "p0 A": "ok", "p0 B": "fault twin_down"},
        shown=Shown(files={"p0 B": DOWN}),
        rdma={"p0 A": (98.0, 98.0)},
    ),
    Case(
        "one function gone",
        {"node": "fault", "p0 A": "ok", "p0 B": "fault function_missing"},
        shown=Shown(absent="p0 B"),
        rdma=FAST,
    ),
    Case(
        "set down",
        {"node": "misconfigured", "p0 A": "misconfigured admin_down"},
        shown=Shown(files={"p0 A": DOWN | {"flags": "0x1002", "carrier": UNREADABLE}}),
        rdma=FAST,
    ),
    Case(
        "set down and not in the plan",
        {"node": "ok", "p1 A": "no_cable not_in_use"},
        shown=Shown(files={"p1 A": DOWN | {"flags": "0x1002", "carrier": UNREADABLE}}),
        rdma=FAST,
    ),
    Case(
        "set down without a plan",
        {"node": "unknown", "p1 A": "unknown admin_down"},
        shown=Shown(files={"p1 A": DOWN | {"flags": "0x1002", "carrier": UNREADABLE}}),
        rdma=FAST,
        plan="",
    ),
    Case(
        "RDMA down on a running link",
        {"node": "fault", "p0 A": "fault rdma_down"},
        shown=Shown(files={"p0 A": {"state": "1: DOWN", "phys_state": "3: Disabled", "rate": "200 Gb/sec (4X HDR)"}}),
        rdma=FAST,
    ),
    Case(
        "set to InfiniBand",
        {"node": "misconfigured", "p0 A": "misconfigured link_layer"},
        shown=Shown(files={"p0 A": {"link_layer": "InfiniBand"}}),
        rdma=FAST,
    ),
    Case(
        "width not readable",
        {"node": "unknown", "p0 A": "unknown unreadable"},
        shown=Shown(files={"p0 A": {"current_link_width": UNREADABLE}}),
        rdma=FAST,
    ),
    Case(
        "carrier not readable",
        {"node": "unknown", "p0 A": "unknown unreadable"},
        shown=Shown(files={"p0 A": {"carrier": UNREADABLE}}),
        rdma=FAST,
    ),
    Case("up for 12 s", p0("unknown too_early"), shown=Shown(uptime="12.34 5.6"), rdma=FAST),
    Case("uptime not readable", p0("unknown uptime_unknown"), shown=Shown(uptime=None), rdma=FAST),
)

CASES = SLOT_POWER + MISSING_NIC
