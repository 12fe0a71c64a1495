# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Public reports (their numbers are those of the project's collection of reports) with the right verdict for each.

A case says what the node shows, its log, what was measured, what the plan has, and what has to come out: for each port
the verdict and the code of its first reason.
"""

from __future__ import annotations

from tests.unit.cx7 import spark_logs as log
from tests.unit.cx7.spark_case import FAST, LOW, SLOW, Case, both, p0
from tests.unit.cx7.spark_missing import MISSING_NIC
from tests.unit.cx7.spark_tree import Shown

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

CASES = SLOT_POWER + MISSING_NIC
