# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each fault of the lab: what it makes a node show, what cx7_health makes of that, and what takes it away."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lab import cables, faults, inject, site
from lab.common import LabError
from lab.faults import KINDS, Fault
from lab.watch import wanted_jacks
from lab.wiring import DEFAULT, load_wiring
from tests.unit.lab.node_side import Node

BOTH = ("p0", "p1")
ALL = ("p0 A", "p0 B", "p1 A", "p1 B")
FAST = [
    {"cage": cage, "root": root, "direction": way, "gbps": 105.0, "method": "rdma"}
    for cage in BOTH
    for root in "AB"
    for way in ("out", "in")
]


def make(text: str, cabled: Sequence[str] = BOTH) -> Fault:
    name, *words = text.split()
    return faults.parse(name, words, cabled)


def verdicts(judged: Any) -> dict[str, tuple[str, str]]:
    """By port: the verdict and the code of its first reason."""
    return {
        f"{port.cage} {port.root}": (port.verdict, port.reasons[0].code if port.reasons else "")
        for port in judged.functions
    }


def reasons(judged: Any, port: str) -> set[str]:
    return {
        reason.code
        for item in judged.functions
        if f"{item.cage} {item.root}" == port
        for reason in item.reasons
        if reason.verdict == item.verdict
    }


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    return Node(tmp_path, monkeypatch)


# --- fault → verdict ---

UNMEASURED = ("unknown", "not_measured")
# fault: (how it comes, the verdict of the ports named, whose reasons are these, the verdict of the others)
TABLE = {
    "late-cable p1": ("running", "needs_reboot", "p1 A, p1 B", {"not_advertised", "hotplug"}),
    "late-cable p0 B": ("running", "needs_reboot", "p0 B", {"not_advertised", "hotplug"}),
    "late-cable": ("running", "needs_reboot", "p0 A, p0 B, p1 A, p1 B", {"not_advertised", "hotplug"}),
    "stuck p1": ("boot", "needs_reboot", "p1 A, p1 B", {"not_advertised", "hotplug"}),
    "throttle both": ("running", "unknown", "p0 A, p0 B, p1 A, p1 B", {"not_measured"}),
    "x2-width": ("boot", "fault", "p0 B, p1 B", {"pcie_width"}),
    "x2-width A": ("running", "fault", "p0 A, p1 A", {"pcie_width"}),
    "fault-retraining": ("boot", "fault", "p0 A, p0 B, p1 A, p1 B", {"retraining_failed"}),
    "fault-retraining B": ("boot", "fault", "p0 B, p1 B", {"retraining_failed"}),
    "flap p0": ("running", "fault", "p0 A, p0 B", {"link_flaps"}),
    "flap p1 A": ("boot", "fault", "p1 A", {"link_flaps"}),
    "no-cable": ("boot", "fault", "p0 A, p0 B, p1 A, p1 B", {"cable_missing"}),
    "wrong-speed-100g p1": ("running", "misconfigured", "p1 A, p1 B", {"link_rate_low"}),
    "wrong-speed-100g": ("boot", "misconfigured", "p0 A, p0 B, p1 A, p1 B", {"link_rate_low"}),
    "peer-drops-nic": ("boot", "unknown", "p0 A, p0 B, p1 A, p1 B", {"not_measured"}),
    "staged-kernel": ("boot", "unknown", "p0 A, p0 B, p1 A, p1 B", {"not_measured"}),
}


def test_the_table_has_every_fault() -> None:
    assert {text.split()[0] for text in TABLE} == set(KINDS)


@pytest.mark.parametrize("text", TABLE)
def test_verdict(node: Node, text: str) -> None:
    how, verdict, named, codes = TABLE[text]
    fault = make(text)
    if how == "boot":
        node.boot([fault])
    else:
        node.boot([])
        node.fault(fault)
    judged = node.judge()
    ports = named.split(", ")
    assert {port: said[0] for port, said in verdicts(judged).items() if port in ports} == dict.fromkeys(ports, verdict)
    for port in ports:
        assert reasons(judged, port) == codes
    # Hot-plug is of the whole NIC: a port whose own lines are missing has that sign of it, and no other.
    others = {port: said for port, said in verdicts(judged).items() if port not in ports}
    other = ("needs_reboot", "hotplug") if "hotplug" in codes else UNMEASURED
    assert others == dict.fromkeys(others, other)


def test_a_healthy_node(node: Node) -> None:
    node.boot([])
    assert set(verdicts(node.judge()).values()) == {UNMEASURED}
    assert node.judge(bandwidth=FAST).verdict == "ok"


def test_stuck_asks_for_a_power_drain_once_it_was_rebooted(node: Node) -> None:
    node.boot([make("stuck p1 A")])
    judged = node.judge(rebooted=True)
    assert verdicts(judged)["p1 A"][0] == "needs_power_drain"
    assert "power bricks out" in " ".join(judged.remedy)


@pytest.mark.parametrize(("way", "verdict"), [("out", "needs_reboot"), ("in", "unknown"), ("both", "needs_reboot")])
def test_throttle_shows_only_in_a_measurement(node: Node, way: str, verdict: str) -> None:
    fault = make(f"throttle {way} p0 A")
    node.boot([])
    before = node.dmesg()
    node.fault(fault)
    assert node.dmesg() == before
    slow = faults.caps([fault])
    measured = [row | {"gbps": 13.2} if (row["cage"], row["root"], row["direction"]) in slow else row for row in FAST]
    judged = node.judge(bandwidth=measured)
    assert verdicts(judged)["p0 A"][0] == verdict
    assert {port: said[0] for port, said in verdicts(judged).items() if port != "p0 A"} == dict.fromkeys(ALL[1:], "ok")


def test_no_cable_is_normal_where_none_is_planned(node: Node) -> None:
    node.boot([make("no-cable")])
    judged = node.judge(planned=())
    assert set(verdicts(judged).values()) == {("no_cable", "no_cable")}
    assert not list((node.root / "sys/class/net").iterdir())
    assert (node.root / "sys/devices/pci0000:00/0000:00:00.0/current_link_speed").read_text() == "2.5 GT/s PCIe\n"
    assert (node.root / "sys/devices/platform/MTKP0001:00/pcie_hotplug/debug_state").read_text() == "0\n"


def test_cables_that_are_pulled_while_the_node_runs(node: Node) -> None:
    node.boot([])
    node.fault(Fault("no-cable", gone=True))
    assert set(verdicts(node.judge()).values()) == {("fault", "cable_missing")}
    assert set(verdicts(node.judge(planned=())).values()) == {("no_cable", "no_cable")}
    said = [line.split("] ")[1] for line in node.dmesg().splitlines()]
    first = next(index for index, line in enumerate(said) if "Cable removal" in line)
    assert all("Cable unplugged" in line for line in said[first - 4 : first])
    assert all(line.endswith("Link down") for line in said[first - 8 : first - 4])


def test_no_cable_leaves_a_nic_whose_hotplug_is_not_armed(node: Node) -> None:
    node.boot([])
    node.put("sys/devices/platform/MTKP0001:00/pcie_hotplug/hotplug_enabled", "0")
    node.fault(Fault("no-cable", gone=True))
    assert "Cable removal" not in node.dmesg()
    assert len(list((node.root / "sys/class/net").iterdir())) == 4


def test_a_peer_that_goes_down_takes_the_nic_along(node: Node) -> None:
    node.boot([make("peer-drops-nic")])
    assert set(verdicts(node.judge()).values()) == {UNMEASURED}
    node.fault(Fault("peer-drops-nic", gone=True))
    judged = node.judge()
    assert set(verdicts(judged).values()) == {("needs_reboot", "nic_dropped")}
    assert judged.reboot
    node.running.update()
    assert node.dmesg().count("Cable removal") == 1, "it goes once"


def test_x2_width_is_what_the_kernel_says_too(node: Node) -> None:
    node.boot([make("x2-width")])
    assert node.dmesg().count("limited by 32.0 GT/s PCIe x2 link at 0002:00:00.0 (capable of 126.028 Gb/s with") == 2
    assert (node.root / "sys/devices/pci0002:00/0002:00:00.0/current_link_width").read_text() == "2\n"
    node.fault()
    assert set(verdicts(node.judge()).values()) == {UNMEASURED}


def test_a_late_cable_leaves_sysfs_clean(node: Node) -> None:
    assert faults.overrides([make("late-cable")]) == {"boot_log": []}
    node.boot([])
    node.fault(make("late-cable p1"))
    late = [line for line in node.dmesg().splitlines() if "not advertised" in line]
    assert [line.split("mlx5_core ")[1].split()[0] for line in late] == ["0000:01:00.1:", "0002:01:00.1:"]


def test_a_link_of_100g_shows_so_only_while_there_is_one(node: Node) -> None:
    node.boot([make("wrong-speed-100g p0")], cages=("p1",))
    assert (node.root / "sys/class/net/enp1s0f0np0/speed").read_text() == "-1\n"
    assert (node.root / "sys/class/infiniband/rocep1s0f0/ports/1/rate").read_text() == "40 Gb/sec (4X QDR)\n"


# --- what the user writes ---


def test_words_may_come_in_any_order() -> None:
    assert make("throttle B in p1") == make("throttle in p1 B") == Fault("throttle", (("p1", "B"),), "in")
    assert make("throttle").direction == "out"
    assert str(make("throttle both p1")) == "throttle both p1 root A+B"
    assert str(make("x2-width")) == "x2-width root B"
    assert str(make("late-cable", ["p1"])) == "late-cable p1 root A+B"


def test_an_unknown_fault_is_answered_with_the_list() -> None:
    with pytest.raises(LabError) as caught:
        make("late_cable")
    for name in KINDS:
        assert f"  {name}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "cabled", "said"),
    [
        ("late-cable p2", BOTH, "late-cable does not take 'p2'; it takes, once each, cage: p0, p1; root: A, B"),
        ("late-cable p0 p1", BOTH, "late-cable does not take 'p1'"),
        ("x2-width p0", BOTH, "x2-width does not take 'p0'; it takes, once each, root: A, B"),
        ("no-cable p0", BOTH, "no-cable does not take 'p0'; it takes, once each, nothing"),
        ("flap p0", ["p1"], "cage p0 has no cable; cages with one: p1"),
        ("flap", [], "no cage has a cable; cages with one: none"),
    ],
)
def test_what_a_fault_does_not_take(text: str, cabled: Sequence[str], said: str) -> None:
    with pytest.raises(LabError, match=said):
        make(text, cabled)


# --- what takes it away ---


def after(change: Any, *texts: str) -> list[str]:
    return [str(fault) for fault in change([make(text) for text in texts])]


def test_a_reboot_ends_what_it_ends_in_life() -> None:
    texts = [text for text in TABLE if not text.startswith(("late-cable", "throttle"))]
    assert after(lambda all_: faults.rebooted(all_, BOTH), "late-cable", "throttle out", *texts) == [
        str(make(text)) for text in texts
    ]
    assert after(lambda all_: faults.rebooted(all_, BOTH), "throttle in") == ["throttle in p0 p1 root A+B"]
    assert after(lambda all_: faults.rebooted(all_, ["p0"]), "throttle both") == [
        "throttle both p1 root A+B",
        "throttle in p0 root A+B",
    ]
    assert after(lambda all_: faults.peer_rebooted(all_, BOTH), "throttle both") == ["throttle out p0 p1 root A+B"]
    assert after(lambda all_: faults.peer_rebooted(all_, BOTH), "throttle in", "late-cable p0") == [
        "late-cable p0 root A+B"
    ]


def test_a_reboot_with_the_cable_out_ends_nothing() -> None:
    (left,) = faults.rebooted([make("late-cable")], ["p0"])
    assert (left.cages, left.shown) == (("p1",), False)


def test_a_power_drain_and_a_cable_seated_anew() -> None:
    assert after(faults.drained, "stuck", "x2-width", "flap") == ["x2-width root B", "flap p0 p1 root A+B"]
    assert after(lambda all_: faults.reseated(all_, "p0"), "flap", "stuck p0") == [
        "flap p1 root A+B",
        "stuck p0 root A+B",
    ]


# --- the lab's side ---


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> site.Site:
    monkeypatch.setattr(site, "STORE", tmp_path)
    lab = site.Site("spark")
    lab.__dict__["wiring"] = load_wiring(DEFAULT)
    return lab


def test_faults_are_kept(ring: site.Site) -> None:
    kept = [make(text) for text in TABLE]
    faults.save(ring, "spark1", kept)
    assert faults.load(ring, "spark1") == kept
    faults.save(ring, "spark1", [])
    assert faults.load(ring, "spark1") == []


def test_the_cap_is_on_what_the_node_sends(ring: site.Site) -> None:
    faults.save(ring, "spark1", [make("late-cable p1 A")])
    first = cables.load(ring)[0]
    assert cables.limits(ring, first) == {"n0p1A": None, "n0p1B": None, "n1p1A": "13gbit", "n1p1B": None}
    first.limits = ["1gbit", "50gbit"]
    assert cables.limits(ring, first) == {"n0p1A": "1gbit", "n0p1B": "1gbit", "n1p1A": "13gbit", "n1p1B": "50gbit"}
    faults.save(ring, "spark1", [make("throttle both p1 B")])
    first.limits = [None, None]
    assert cables.limits(ring, first) == {"n0p1A": None, "n0p1B": "13gbit", "n1p1A": None, "n1p1B": "13gbit"}


def test_a_node_without_cables_gives_and_gets_no_light(ring: site.Site) -> None:
    up = {(node, port) for node in ring.wiring.nodes for port in ("enp1s0f0np0", "enp1s0f1np1")}
    assert wanted_jacks(ring, up)["n0p1A"]
    faults.save(ring, "spark2", [make("no-cable")])
    wanted = wanted_jacks(ring, up)
    assert [name for name, lit in wanted.items() if lit] == ["n2p1A", "n3p0A", "n3p1A", "n0p0A"]


def test_a_fault_of_a_cable_shows_at_both_ends(ring: site.Site) -> None:
    faults.save(ring, "spark3", [make("wrong-speed-100g p1 B"), make("late-cable")])
    assert inject.mirrored(ring, "spark4") == [Fault("wrong-speed-100g", (("p0", "B"),))]
    assert inject.mirrored(ring, "spark2") == []
    faults.save(ring, "spark4", [make("no-cable")])
    assert inject.mirrored(ring, "spark4") == [], "a cable that is not there has no fault"


def test_a_boot_ends_faults_here_and_at_the_other_end(ring: site.Site) -> None:
    faults.save(ring, "spark1", [make("late-cable"), make("x2-width")])
    faults.save(ring, "spark2", [make("throttle in"), make("throttle out")])
    inject.boots(ring, "spark1")
    assert inject.listing(ring, ring.wiring.nodes) == [
        "spark1: x2-width root B",
        "spark2: throttle in p0 root A+B",
        "spark2: throttle out p0 p1 root A+B",
    ]
    told = json.loads((ring.node("spark1") / "board/overrides.json").read_text())
    assert told["pci"]["0002:01:00.0"] == {"current_link_width": "2"}


def test_overrides_written_by_hand_are_left_alone(ring: site.Site) -> None:
    path = ring.node("spark1") / "board/overrides.json"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    inject.boots(ring, "spark1")
    assert path.read_text() == "{}"


def test_the_staged_kernel_is_no_neutral_reboot(node: Node) -> None:
    from ansible_collections.switchless.spark.plugins.module_utils._boot import judge, look  # noqa: PLC0415
    from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree  # noqa: PLC0415
    from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Result  # noqa: PLC0415
    from tests.unit.cx7.spark_tree import Script  # noqa: PLC0415

    running = "6.17.0-1032-nvidia"
    own = {f"boot/vmlinuz-{running}": "x", f"boot/initrd.img-{running}": "x", f"usr/lib/modules/{running}/x": "x"}
    for name, text in (own | faults.staged_files()).items():
        node.put(name, text)
    (node.root / "lib").symlink_to("usr/lib")
    (node.root / "etc/default").mkdir(parents=True)
    node.grub.update(node.root)
    answers = {"uname": Result(0, running, ""), "systemd-detect-virt": Result(0, "systemd-nspawn", "")}
    verdict = judge.judge(look.look(Tree(str(node.root)), Script(answers)))
    assert (verdict.neutral, [reason.code for reason in verdict.reasons]) == (False, ["staged_kernel"])
    assert faults.STAGED_KERNEL in verdict.reasons[0].text
    assert node.grub.start(node.root) == faults.STAGED_KERNEL
