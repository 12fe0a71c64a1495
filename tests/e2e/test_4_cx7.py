# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The NIC of every node judged, and the reboot of all nodes: when it helps, once, and never alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.cluster import Cluster, Played

NOT_ADVERTISED = (
    "mlx5_core 0000:01:00.0: mlx5_pcie_event:322:(pid 3202): PCIe slot power capability was not advertised."
)
PLUGIN = "cx7-pcie-hotplug MTKP0001:00: Cable plugin"
MEMORY = "/var/lib/switchless/cx7/reboots.json"
SERVER = "/etc/systemd/system/vllm@.service"
SERVER_UNIT = "[Service]\nExecStart=/usr/bin/sleep infinity\n"
HARD_SECONDS = 300
SETTLE_SECONDS = 30  # what the kernel says of a cable earlier than this is part of the boot


def boots(ring: Cluster) -> dict[str, str]:
    """Give the boot id of every node."""
    return {node: said.strip() for node, said in ring.nodes("cat /proc/sys/kernel/random/boot_id").items()}


def memory(ring: Cluster, node: str) -> list[dict[str, Any]]:
    """Give what a node remembers of its automatic reboots."""
    text = ring.node(node, f"cat {MEMORY} 2>/dev/null || true")
    reboots: list[dict[str, Any]] = json.loads(text)["reboots"] if text else []
    return reboots


def cx7(ring: Cluster, *words: str) -> Played:
    """Run the phase alone."""
    extra = ("-e", "cx7_reboot_timeout_seconds=120", "-e", "cx7_link_timeout_seconds=60")
    settle = ("-e", "cx7_settle_seconds=30")  # the default: a node that booted just now is not judged
    return ring.play(*extra, *settle, *words, playbook="playbooks/cx7.yml", timeout=HARD_SECONDS)


def late_cable(ring: Cluster, node: str) -> None:
    """Let a node's kernel say what it says of a cable that is plugged while the node runs."""
    ring.lab("kmsg", node, "4", NOT_ADVERTISED)
    ring.lab("kmsg", node, "6", PLUGIN)


def install(ring: Cluster, node: str, path: str, text: str) -> None:
    """Write a unit."""
    ring.node(node, f"cat > {path} <<'END'\n{text}END\nsystemctl daemon-reload")


def power_cycle(ring: Cluster) -> None:
    """Switch all nodes off and on: a kernel log and link counters that know nothing of what was done before."""
    for node in ring.names:
        ring.lab("poweroff", node)
    ring.lab("up")


@pytest.fixture(scope="module", autouse=True)
def _booted(ring: Cluster) -> None:
    """Begin with nodes of which other tests pulled no cable since boot; those of a lab that is new are such nodes."""
    if ring.used:
        power_cycle(ring)
    ring.up_for(SETTLE_SECONDS)


@pytest.fixture
def forgetful(ring: Cluster) -> Iterator[Cluster]:
    """Give nodes that remember no reboot, before and after."""
    ring.nodes(f"rm -f {MEMORY}")
    yield ring
    ring.nodes(f"rm -f {MEMORY}")


def test_late_cable_is_reported_and_not_touched_without_leave(forgetful: Cluster) -> None:
    ring, before = forgetful, boots(forgetful)
    late_cable(ring, "spark2")

    checked = cx7(ring, "--check")
    assert checked.rc == 0, checked.text
    assert checked.said("spark2, cage p0, root A (enp1s0f0np0): needs_reboot.", "Would reboot spark2 into")
    assert all(count == 1 for count in checked.changed.values()), checked.text

    refused = cx7(ring, "-e", "cx7_reboot_ok=false")
    assert refused.rc != 0
    assert refused.said("spark2, cage p0, root A (enp1s0f0np0): needs_reboot.", "Would reboot spark1 into")
    assert refused.said("cx7_reboot_ok is false, so nothing was done")

    alone = cx7(ring, "--limit", "spark2,spark3", "--forks", "3")
    assert alone.rc != 0
    assert alone.said("No node was rebooted", "the play leaves out spark1, spark4", "run it without --limit")
    assert alone.said("forks is 3, so not all 4 nodes would reboot at once")

    assert boots(ring) == before
    assert not any(memory(ring, node) for node in ring.names)


def test_reboot_that_is_not_neutral_is_refused_for_all(forgetful: Cluster) -> None:
    ring, before = forgetful, boots(forgetful)
    late_cable(ring, "spark2")
    install(ring, "spark1", SERVER, SERVER_UNIT)
    ring.node("spark1", "systemctl start vllm@rank0")
    ring.lab("fault", "spark3", "staged-kernel")
    try:
        played = cx7(ring)
        serving = ring.node("spark1", "systemctl is-active vllm@rank0", check=False)
    finally:
        ring.lab("fault", "spark3", "clear", "staged-kernel")
        ring.node("spark1", f"systemctl stop vllm@rank0; rm {SERVER}; systemctl daemon-reload")
    assert played.rc != 0
    assert played.said(
        "No node was rebooted: spark3: a reboot is not neutral: GRUB's entry 'DGX OS GNU/Linux' starts",
        "7.0.0-1019-nvidia, 6.17.0-1032-nvidia runs",
        "expected: the running kernel 6.17.0-1032-nvidia",
    )
    assert serving.strip() == "active", "what was stopped is started again"
    assert boots(ring) == before


def test_late_cable_on_one_node_reboots_all_of_them_once_and_healthy_nodes_are_left_alone(forgetful: Cluster) -> None:
    ring, before = forgetful, boots(forgetful)
    late_cable(ring, "spark2")
    install(ring, "spark4", SERVER, SERVER_UNIT)
    ring.node("spark4", "systemctl start vllm@rank3")
    try:
        played = cx7(ring)
        serving = ring.node("spark4", "systemctl is-active vllm@rank3", check=False)
    finally:
        ring.node("spark4", f"systemctl stop vllm@rank3; rm -f {SERVER}; systemctl daemon-reload")
    assert played.rc == 0, played.text
    after = boots(ring)
    assert all(after[node] != before[node] for node in ring.names)
    assert all(count == 1 for count in played.changed.values()), played.text
    assert serving.strip() == "active", "what served is started again"
    codes = {node: [reboot["codes"] for reboot in memory(ring, node)] for node in ring.names}
    assert codes == {"spark1": [[]], "spark2": [["hotplug", "not_advertised"]], "spark3": [[]], "spark4": [[]]}

    again = cx7(ring)
    assert again.rc == 0, again.text
    assert not any(again.changed.values()), again.text
    assert again.said("Nothing speaks against 16 ports whose full speed was not measured.")
    assert boots(ring) == after


def test_hotplug_is_disarmed_from_the_next_boot_on(forgetful: Cluster) -> None:
    ring = forgetful
    marker = "/etc/nvidia/cx7-hotplug-enabled"
    try:
        checked = cx7(ring, "--check", "-e", "cx7_hotplug=disarm")
        assert checked.rc == 0, checked.text
        assert all(checked.changed.values()), checked.text
        assert all(said.strip() == marker for said in ring.nodes(f"ls {marker}").values())
        played = cx7(ring, "-e", "cx7_hotplug=disarm")
        assert played.rc == 0, played.text
        assert all(count == 1 for count in played.changed.values()), played.text
        assert played.said(
            f"spark1 wants a reboot: hot-plug is on since the boot, and {marker} is not there; expected: hot-plug off. "
            "The next boot brings it."
        )
        again = cx7(ring, "-e", "cx7_hotplug=disarm")
        assert not any(again.changed.values()), again.text
        assert all(said.strip() == f"{marker}.off" for said in ring.nodes(f"ls {marker}*").values())
    finally:
        ring.nodes(f"test ! -e {marker}.off || mv {marker}.off {marker}")
