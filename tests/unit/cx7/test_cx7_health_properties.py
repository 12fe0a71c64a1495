# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for every node: evidence that goes missing never makes a port look better.

Evidence is removed by making a value null, by taking a function off the list, by losing lines of the log (all of them,
or some with the log no longer complete), and by losing a measurement or its result. The plan is not evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._cx7.health import Health, judge
from ansible_collections.switchless.spark.plugins.module_utils._cx7.load import Expected, Measured
from ansible_collections.switchless.spark.plugins.module_utils._cx7.model import (
    PORTS,
    Cx7,
    Event,
    Function,
    Hotplug,
    SlotPower,
)
from ansible_collections.switchless.spark.plugins.module_utils._cx7.verdicts import OK, SEVERITY

DOMAIN = {"A": "0000", "B": "0002"}
HEALTHY: dict[str, Any] = {
    "admin_up": True,
    "carrier": True,
    "speed_mbps": 200000,
    "mtu": 9000,
    "carrier_down_count": 0,
    "link_layer": "Ethernet",
    "ib_state": "ACTIVE",
    "ib_phys_state": "LinkUp",
    "ib_rate_gbps": 200.0,
    "pcie_speed_gts": 32.0,
    "pcie_width": 4,
    "rdma": "roce",
    "networkmanager": "unmanaged",
}
ODD: dict[str, tuple[Any, ...]] = {
    "admin_up": (False,),
    "carrier": (False,),
    "speed_mbps": (100000, 25000),
    "mtu": (1500,),
    "carrier_down_count": (1, 21),
    "link_layer": ("InfiniBand",),
    "ib_state": ("DOWN",),
    "ib_phys_state": ("Disabled",),
    "ib_rate_gbps": (40.0, 100.0),
    "pcie_speed_gts": (2.5,),
    "pcie_width": (2,),
    "rdma": (),
    "networkmanager": ("connected",),
}
KINDS = (
    "probe",
    "hotplug_plugin",
    "hotplug_removal",
    "module_plugged",
    "module_unplugged",
    "module_error",
    "link_up",
    "link_down",
    "retraining_failed",
    "aer_fatal",
)
GBPS = (90.0, 89.9, 70.0, 40.0, 13.2, 6.67, 0.0, None)
Rows = dict[tuple[str, str, str], Measured]
Plan = dict[tuple[str, str], Expected]


@dataclass(frozen=True)
class Scene:
    cx7: Cx7
    rows: Rows
    plan: Plan

    def judged(self, *, already_rebooted: bool = False) -> Health:
        return judge(self.cx7, self.plan, self.rows, already_rebooted=already_rebooted)


class Maker:
    """Makes nodes from one number. Hypothesis picks the number: drawing each value by itself takes 20 times as long."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311

    def rarely(self) -> bool:
        return self.random.random() < 0.1

    def some[T](self, items: Sequence[T], most: int) -> list[T]:
        return self.random.sample(items, min(len(items), self.random.randint(0, most)))

    def functions(self) -> tuple[Function, ...]:
        """Mostly healthy functions: a node where all is odd proves nothing."""
        if self.rarely():
            return ()
        found = []
        for cage, root in PORTS:
            if self.rarely():
                continue
            odd = {name: self.random.choice((None, *ODD[name])) for name in self.some(sorted(ODD), 2)}
            values = HEALTHY | (odd if self.random.random() < 0.5 else {})
            pci = f"{DOMAIN[root]}:01:00.{cage[1]}"
            found.append(Function(pci=pci, root=root, cage=cage, netdev=f"{cage}{root}", **values))
        return tuple(found)

    def place(self) -> dict[str, Any]:
        cage, root = self.random.choice(((None, None), *PORTS))
        return {"cage": cage, "root": root, "seconds": self.random.choice((None, self.random.uniform(0, 10000)))}

    def event(self) -> Event:
        return Event(kind=self.random.choice(KINDS), text="line", **self.place())

    def slot_power(self) -> SlotPower:
        return SlotPower(status=self.random.choice(("not_advertised", "insufficient")), text="line", **self.place())

    def cx7(self) -> Cx7:
        return Cx7(
            functions=self.functions(),
            root_ports=(),
            hotplug=Hotplug(armed=True, marker="", driver=True, enabled=True, powered=True),
            events=tuple(self.event() for _event in range(self.random.randint(0, 4))),
            events_omitted=0,
            slot_power=tuple(self.slot_power() for _line in range(self.random.randint(0, 2))),
            slot_power_register=(),
            log_complete=self.random.random() < 0.5,
            log_source="journal",
            log_clock=self.random.choice(("boot", "first_line", "none")),
            boot_id=None,
            uptime_seconds=self.random.choice((5.0, None)) if self.rarely() else 86400.0,
            lldp_running=True,
            networkmanager_running=self.random.random() < 0.5,
            warnings=(),
        )

    def rows(self) -> Rows:
        found = {}
        for cage, root in PORTS:
            for direction in ("out", "in"):
                if not self.rarely():
                    method = self.random.choice(("rdma", "rdma", "tcp"))
                    gbps = 98.0 if self.random.random() < 0.7 else self.random.choice(GBPS)
                    found[cage, root, direction] = Measured(cage, root, direction, gbps, method)
        return found

    def plan(self) -> Plan:
        cages = self.random.choice(((), ("p0",), ("p0", "p1")))
        mtu, unmanaged = self.random.choice((None, 9000)), self.random.random() < 0.5
        return {port: Expected(*port, mtu=mtu, unmanaged=unmanaged) for port in PORTS if port[0] in cages}

    def scene(self) -> Scene:
        return Scene(self.cx7(), self.rows(), self.plan())

    def lost(self, function: Function) -> dict[str, Any]:
        """Half of the time what is odd about a function gets lost: that is where a judge would be fooled."""
        odd = [name for name, value in HEALTHY.items() if getattr(function, name) != value]
        names = odd if self.random.random() < 0.5 else self.some(sorted(HEALTHY), 3)
        return dict.fromkeys(names)

    def with_less_evidence(self, scene: Scene) -> Scene:
        """The same node with some of what it showed, or of what was measured, gone."""
        cx7 = scene.cx7
        kept = [replace(function, **self.lost(function)) for function in cx7.functions if not self.rarely()]
        rows = {}
        for key, row in scene.rows.items():
            if not self.rarely():
                rows[key] = replace(row, gbps=None) if self.rarely() else row
        share = self.random.random()
        return replace(
            scene,
            cx7=replace(
                cx7,
                functions=tuple(kept),
                events=tuple(event for event in cx7.events if self.random.random() < share),
                slot_power=tuple(line for line in cx7.slot_power if self.random.random() < share),
                log_complete=cx7.log_complete and self.random.random() < 0.5,
                uptime_seconds=None if self.rarely() else cx7.uptime_seconds,
            ),
            rows=rows,
        )


makers = st.builds(Maker, st.integers(0, 2**64))
often = settings(max_examples=300, deadline=None)


@often
@given(maker=makers)
def test_less_evidence_never_makes_a_port_ok(maker: Maker) -> None:
    scene = maker.scene()
    before, after = scene.judged(), maker.with_less_evidence(scene).judged()
    for was, now in zip(before.functions, after.functions, strict=True):
        assert now.verdict != OK or was.verdict == OK, (was, now)
    if scene.plan:
        assert after.verdict != OK or before.verdict == OK


@often
@given(maker=makers)
def test_ok_is_measured_in_both_directions(maker: Maker) -> None:
    """And a planned port is never excused for want of a cable."""
    scene = maker.scene()
    for item in scene.judged().functions:
        if item.verdict == OK:
            results = [scene.rows[item.cage, item.root, direction].gbps for direction in ("out", "in")]
            assert all(gbps is not None and gbps >= 90 for gbps in results)
        assert not (item.planned and item.verdict == "no_cable")


@often
@given(maker=makers)
def test_the_27_w_line_changes_nothing(maker: Maker) -> None:
    scene = maker.scene()
    lines = tuple(SlotPower("insufficient", "line", 27, 1.5, None, f.pci, f.root, f.cage) for f in scene.cx7.functions)
    with_lines = replace(scene, cx7=replace(scene.cx7, slot_power=scene.cx7.slot_power + lines))
    for was, now in zip(scene.judged().functions, with_lines.judged().functions, strict=True):
        assert (was.verdict, was.reasons) == (now.verdict, now.reasons)


@often
@given(maker=makers)
def test_tcp_never_says_throttled(maker: Maker) -> None:
    scene = maker.scene()
    by_tcp = replace(scene, rows={key: replace(row, method="tcp") for key, row in scene.rows.items()})
    for item in by_tcp.judged().functions:
        assert not {reason.code for reason in item.reasons} & {"throttled", "peer_throttled"}


@often
@given(maker=makers)
def test_after_a_reboot_only_the_power_drain_is_left(maker: Maker) -> None:
    scene = maker.scene()
    first, second = scene.judged(), scene.judged(already_rebooted=True)
    assert not second.reboot
    for was, now in zip(first.functions, second.functions, strict=True):
        assert now.verdict == {"needs_reboot": "needs_power_drain"}.get(was.verdict, was.verdict)
        assert SEVERITY.index(now.verdict) <= SEVERITY.index(was.verdict)


def test_the_nodes_are_of_all_kinds() -> None:
    """The properties above would hold for nodes that are never ok, or always: these are not."""
    seen = Counter(item.verdict for seed in range(500) for item in Maker(seed).scene().judged().functions)
    assert set(seen) == set(SEVERITY) - {"needs_power_drain"}
    assert seen[OK] > 50
