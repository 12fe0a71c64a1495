# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cases of a NIC, a link or a port that is not there or not whole: part B of the reports."""

from __future__ import annotations

from tests.unit.cx7 import spark_logs as log
from tests.unit.cx7.spark_case import DARK, FAST, LOW, SLOW, Case, both, p0
from tests.unit.cx7.spark_tree import UNREADABLE, Shown

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
    Case(
        "both cables pulled out while it ran",
        p0("fault cable_missing") | {"p1 A": "fault cable_missing"},
        shown=DARK,
        log=log.boot(0, 1) + log.PULLED + log.REMOVED,
        plan="p0 p1",
    ),
    Case(
        "one pulled out, then the peer at the other went down",
        {"node": "fault", "p0 A": "fault cable_missing", "p1 A": "needs_reboot nic_dropped"},
        shown=DARK,
        log=log.boot(0, 1) + log.PULLED_P0 + log.REMOVED,
        plan="p0 p1",
    ),
    Case(
        "pulled out, put in again, then the peer went down",
        p0("needs_reboot nic_dropped"),
        shown=DARK,
        log=log.boot(0)
        + log.PULLED_P0
        + log.PULLED_P0.replace("unplugged", "plugged").replace("[ 9004", "[ 9005")
        + log.REMOVED,
    ),
    Case(
        "pulled out, from half a log",
        {"node": "fault", "p0 A": "fault cable_missing"},
        shown=DARK,
        log=log.PULLED_P0 + log.REMOVED,
    ),
    Case(
        "pulled out, hot-plug armed and silent",
        p0("fault cable_missing"),
        shown=DARK,
        log=log.boot(0) + log.PULLED_P0,
    ),
    Case(
        "pulled out, a marker and a driver that says nothing of itself",
        p0("fault cable_missing"),
        shown=Shown(cables="", absent="all", enabled=UNREADABLE),
        log=log.boot(0) + log.PULLED_P0,
    ),
    Case(
        "pulled out, no hot-plug that could let the NIC go",
        p0("fault nic_vanished"),
        shown=Shown(cables="", absent="all", enabled="0"),
        log=log.boot(0) + log.PULLED_P0,
    ),
    Case(
        "an empty cage in the log of the boot, then the peer of the other went down",
        {"node": "needs_reboot", "p0 A": "needs_reboot nic_dropped"},
        shown=DARK,
        log=log.boot(1) + log.REMOVED,
        plan="p0 p1",
    ),
    Case(
        "pulled out of p0 and put in p1: the NIC is back",
        {"node": "fault", "p0 A": "fault cable_missing", "p1 A": "needs_reboot hotplug"},
        shown=Shown(cables="p1"),
        log=log.boot(0) + log.PULLED_P0 + log.REMOVED + log.BACK_WITH_P1,
        plan="p0 p1",
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
