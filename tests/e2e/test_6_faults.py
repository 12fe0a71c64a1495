# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every fault of the lab on two nodes: the phase cx7 names node, cage and root, and reboots where that helps.

The tests go on from one another: a node has to be up for half a minute before it is judged, so each boot is used for
all that it can show.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._cx7 import health, load
from tests.e2e.cluster import CHECKOUT, Cluster, Played

PORTS = {"p0 A": "enp1s0f0np0", "p0 B": "enP2p1s0f0np0", "p1 A": "enp1s0f1np1", "p1 B": "enP2p1s0f1np1"}
HARD_SECONDS = 240
SETTLE_SECONDS = 30  # what the kernel says of a cable earlier than this is part of the boot
REMOVAL_AT_BOOT_SECONDS = 60  # a NIC that leaves the bus later than this did not leave for want of a cable at boot
MEMORY = "/var/lib/switchless/cx7/reboots.json"
NAMED = re.compile(r"(spark\d), cage (p\d), root ([AB]) \(([^)]*)\): (\w+)\. (.*?)(?=\. spark\d|\.$|\. [A-Z]|$)")


def cx7(pair: Cluster, *words: str) -> Played:
    """Run the phase alone, with its default wait: a NIC without a cable goes off the bus some seconds after boot."""
    extra = ("-e", "cx7_settle_seconds=30", "-e", "cx7_reboot_timeout_seconds=120", "-e", "cx7_link_timeout_seconds=60")
    return pair.play(*extra, *words, playbook="playbooks/cx7.yml", timeout=HARD_SECONDS)


def named(played: Played) -> dict[str, set[str]]:
    """Verdicts that the phase gives, by node, cage and root; what is only not measured is not named."""
    found: dict[str, set[str]] = {}
    flat = " ".join(played.text.split())
    for node, cage, root, netdev, verdict, _said in NAMED.findall(flat):
        assert netdev in (PORTS[f"{cage} {root}"], "no netdev"), played.text
        found.setdefault(f"{node} {cage} {root}", set()).add(verdict)
    return found


def on(node: str, *ports: str, verdict: str) -> dict[str, set[str]]:
    """The same verdict for several ports of a node, as `named` gives it."""
    return {f"{node} {port}": {verdict} for port in ports}


def module(pair: Cluster, name: str) -> dict[str, dict[str, Any]]:
    """Run an information module on all nodes; gives what it returned, by node."""
    argv = ["ansible", "-i", str(pair.inventory), "sparks", "-b", "-o", "-m", f"switchless.spark.{name}"]
    done = subprocess.run(
        argv, capture_output=True, text=True, check=False, timeout=HARD_SECONDS, cwd=CHECKOUT, env=pair.env
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.split(" | SUCCESS => ", 1) for line in done.stdout.splitlines() if " | SUCCESS => " in line]
    return {node: json.loads(text) for node, text in lines}


def judge(shown: dict[str, Any]) -> health.Health:
    """Judge what cx7_info returned, with a plan that uses all ports."""
    ports = [dict(zip(("cage", "root"), port.split(), strict=True)) for port in PORTS]
    return health.judge(load.cx7(shown["cx7"]), load.expected(ports), {})


def boots(pair: Cluster) -> dict[str, str]:
    """Give the boot id of every node."""
    return {node: said.strip() for node, said in pair.nodes("cat /proc/sys/kernel/random/boot_id").items()}


def reboot(pair: Cluster, *nodes: str) -> None:
    """Switch nodes off, then on again."""
    for node in nodes:
        pair.lab("poweroff", node)
    pair.lab("up")


def active(pair: Cluster) -> dict[str, list[str]]:
    """Give the faults of every node as `status` has them."""
    nodes = json.loads(pair.lab("status", "--json"))["nodes"]
    return {node["name"]: node["faults"] for node in nodes}


def capped(pair: Cluster) -> set[str]:
    """Jacks towards which no more than the cap goes."""
    argv = ["ip", "netns", "exec", f"lab.{pair.name}.wire", "tc", "qdisc", "show"]
    shown = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"tbf \S+ dev (\S+) .*rate 13Gbit", shown))


@pytest.fixture(scope="module", autouse=True)
def forgetful(pair: Cluster) -> Iterator[None]:
    """Begin and end without a fault, and with nodes that booted long enough ago and remember no reboot."""
    pair.nodes(f"rm -f {MEMORY}")
    pair.up_for(SETTLE_SECONDS)
    yield
    for node in pair.names:
        pair.lab("fault", node, "clear")


def test_unknown_words_are_answered_with_what_there_is(pair: Cluster) -> None:
    for words, said in (
        (("spark1", "late"), "there is no fault 'late'"),
        (("spark1", "flap", "p2"), "flap does not take 'p2'"),
        (("spark9", "flap"), f"lab {pair.name} has no node 'spark9'; it has spark1, spark2"),
        (("spark1", "clear", "flap"), "spark1 has no fault 'flap'; it has: none"),
    ):
        with pytest.raises(AssertionError, match=said):
            pair.lab("fault", *words)
    assert active(pair) == {"spark1": [], "spark2": []}


def test_a_late_cable_and_half_a_pcie_link(pair: Cluster) -> None:
    pair.lab("fault", "spark1", "late-cable", "p1")
    assert capped(pair) == {"n1p1A", "n1p1B"}, "what spark1 sends, and nothing else"
    pair.lab("fault", "spark2", "x2-width")
    played = cx7(pair, "--check")
    pair.lab("fault", "spark2", "clear")
    assert played.rc != 0
    # Hot-plug adds the whole NIC, so its ports without a line of their own are under suspicion too.
    both = on("spark1", *PORTS, verdict="needs_reboot") | on("spark2", "p0 B", "p1 B", verdict="fault")
    assert named(played) == both, played.text
    assert played.said("No node is rebooted for what needs_reboot says while something else is wrong")
    assert played.said("0002:01:00.1 has 2 PCIe lanes instead of 4", "a reboot alone does not help")


def test_a_cable_for_100g_shows_at_both_ends(pair: Cluster) -> None:
    pair.lab("fault", "spark2", "wrong-speed-100g", "p1")
    played = cx7(pair, "--check")
    shown = module(pair, "cx7_info")
    pair.lab("fault", "spark2", "clear")
    assert played.rc != 0
    spark2 = {port: said for port, said in named(played).items() if port.startswith("spark2")}
    assert spark2 == on("spark2", "p1 A", "p1 B", verdict="misconfigured"), played.text  # spark1 has a late cable too
    assert played.said(
        "spark2, cage p1, root B (enP2p1s0f1np1): misconfigured. The link of cage p1, root B runs at 100"
    )
    for node, said in shown.items():
        speeds = {f"{f['cage']} {f['root']}": (f["speed_mbps"], f["ib_rate_gbps"]) for f in said["cx7"]["functions"]}
        want = {port: (100000, 100.0) if port.startswith("p1") else (200000, 200.0) for port in PORTS}
        assert speeds == want, node


def test_one_reboot_of_both_ends_a_late_cable_and_not_a_stuck_one(pair: Cluster) -> None:
    pair.lab("fault", "spark2", "stuck", "p0")
    assert active(pair) == {"spark1": ["late-cable p1 root A+B"], "spark2": ["stuck p0 root A+B"]}
    before = boots(pair)
    played = cx7(pair)
    after = boots(pair)
    assert played.rc != 0
    assert all(after[node] != before[node] for node in pair.names), played.text
    assert active(pair) == {"spark1": [], "spark2": ["stuck p0 root A+B"]}
    assert capped(pair) == {"n0p0A", "n0p0B"}
    assert named(played) == on("spark2", *PORTS, verdict="needs_power_drain")
    words = (
        "spark2: was rebooted automatically for this with this cabling",
        "take the power bricks out for at least 60",
    )
    assert played.said(*words)

    again = cx7(pair)
    assert again.rc != 0
    assert again.said(*words)
    assert named(again) == on("spark2", *PORTS, verdict="needs_power_drain")
    assert boots(pair) == after, "no second reboot"


def test_a_nic_that_goes_with_its_peer(pair: Cluster) -> None:
    pair.up_for(REMOVAL_AT_BOOT_SECONDS)
    pair.lab("fault", "spark1", "peer-drops-nic")
    before = boots(pair)
    pair.lab("powercut", "spark2")
    pair.lab("poweron", "spark2")
    said = {"spark1": ["peer-drops-nic (the NIC is off the bus)"], "spark2": []}
    assert active(pair) == said, "the power was away: spark2 is not stuck any more"
    shown = module(pair, "cx7_info")
    assert [len(said["cx7"]["functions"]) for said in shown.values()] == [0, 4]
    assert boots(pair)["spark1"] == before["spark1"]
    judged = judge(shown["spark1"])
    assert {reason.code for port in judged.functions for reason in port.reasons} == {"nic_dropped"}
    assert (judged.verdict, judged.reboot) == ("needs_reboot", True)


def test_a_nic_that_went_with_its_peer_wants_a_reboot_of_both(pair: Cluster) -> None:
    played = cx7(pair, "--check")
    both = on("spark1", *PORTS, verdict="needs_reboot") | on("spark2", *PORTS, verdict="needs_reboot")
    assert named(played) == both, played.text
    assert played.said("Would reboot spark1 into", "Would reboot spark2 into")


def test_the_cabling_check_leaves_a_nic_that_went_to_the_next_phase(pair: Cluster) -> None:
    """It would find no link at either end, and stop before the phase that can help."""
    played = pair.play("--check", playbook="playbooks/cabling.yml")
    assert played.rc == 0, played.text
    assert played.said("spark1: the NIC does not show p0 A, p0 B, p1 A, p1 B", "The phase cx7 says why")


def test_no_cable_at_boot_and_a_link_that_is_not_trained(pair: Cluster) -> None:
    pair.lab("fault", "spark1", "clear", "peer-drops-nic")
    pair.lab("fault", "spark1", "no-cable")
    pair.lab("fault", "spark2", "fault-retraining", "B")
    reboot(pair, *pair.names)
    played = cx7(pair, "--check")
    assert played.rc != 0
    assert named(played) == on("spark1", *PORTS, verdict="fault") | on("spark2", *PORTS, verdict="fault"), played.text
    assert played.said("in cage p0, root A, the NIC saw none and powered down")
    assert played.said(
        "spark2, cage p0, root B (no netdev): fault. The PCIe link to the NIC cannot be trained",
        "pci 0002:00:00.0: broken device, retraining",
        "spark2, cage p0, root A (enp1s0f0np0): fault. The plan has a cable to spark1:p0",
    )
    assert pair.node("spark1", "ls /sys/class/infiniband") == ""
    assert pair.node("spark2", "ls /sys/class/infiniband").split() == ["rocep1s0f0", "rocep1s0f1"]


def test_a_kernel_that_waits(pair: Cluster) -> None:
    pair.lab("fault", "spark2", "staged-kernel")
    boot = {node: said["boot"] for node, said in module(pair, "boot_info").items()}
    pair.lab("fault", "spark2", "clear", "staged-kernel")
    assert boot["spark1"]["neutral"] is True
    assert boot["spark2"]["neutral"] is False
    assert boot["spark2"]["reasons"][0]["code"] == "staged_kernel"
    assert module(pair, "boot_info")["spark2"]["boot"]["neutral"] is True


def test_all_is_well_once_the_faults_are_gone_and_a_throttle_leaves_no_trace_but_the_rate(pair: Cluster) -> None:
    for node in pair.names:
        pair.lab("fault", node, "clear")
    reboot(pair, *pair.names)
    pair.lab("fault", "spark1", "throttle", "both", "p0", "B")
    try:
        assert capped(pair) == {"n0p0B", "n1p0B"}
        played = cx7(pair, "--check")
    finally:
        pair.lab("fault", "spark1", "clear", "throttle")
    assert played.rc == 0, played.text
    assert played.said("Nothing speaks against 8 ports whose full speed was not measured.")
    assert capped(pair) == set()


def test_a_cable_that_flaps(pair: Cluster) -> None:
    pair.lab("fault", "spark2", "flap", "p0")
    played = cx7(pair, "--check")
    assert played.rc != 0
    flapping = {port for node in pair.names for port in on(node, "p0 A", "p0 B", verdict="fault")}
    assert named(played) == {port: {"fault"} for port in flapping}, "it is the cable's: both ends show it"
    assert played.said("was lost 21 times since boot")
    pair.lab("unplug", "1")
    pair.lab("plug", "1")
    assert active(pair) == {"spark1": [], "spark2": []}
