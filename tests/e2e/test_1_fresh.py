# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fresh nodes: runs that must stop before they change a thing, and runs that must undo what they changed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.cluster import CHECKOUT, PLAY_SECONDS, Cluster, Played

STATE = "find /etc -xdev -newer /run/e2e.mark -type f | sort; ip -br -4 address show scope global; nft list ruleset"
PENDING = "test -e /var/lib/switchless/fabric/pending/manifest.json && echo armed || true"
FABRIC_FILES = "ls /etc/netplan/90-switchless-fabric.yaml /etc/sysctl.d/90-switchless-fabric.conf 2>/dev/null || true"


def no_fabric(ring: Cluster) -> bool:
    """Say whether no node has a file or an address of the fabric."""
    for node in ring.names:
        assert ring.node(node, FABRIC_FILES) == ""
        held = [a for addresses in ring.addresses(node).values() for a in addresses if a.startswith("198.18.")]
        assert not held, f"{node} has {held}"
    return True


def descendants(pid: int) -> list[int]:
    """Give a process and all that it started; Ansible's workers have sessions of their own."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [pid, *(found for task in tasks for child in task.read_text().split() for found in descendants(int(child)))]


@contextmanager
def nothing_touched(cluster: Cluster) -> Iterator[None]:
    """Require that no file in /etc, no address and no rule is changed on any node."""
    cluster.nodes("touch /run/e2e.mark")
    before = cluster.nodes(STATE)
    yield
    assert cluster.nodes(STATE) == before


@pytest.fixture(scope="class")
def untouched(ring: Cluster) -> Iterator[None]:
    """Require that the tests touch nothing on the ring."""
    with nothing_touched(ring):
        yield


def says_what_it_would_do(checked: Played) -> bool:
    """Say whether check mode went through on fresh nodes and foresees the fabric."""
    assert checked.rc == 0, checked.text
    assert all(count > 0 for count in checked.changed.values()), checked.text
    return checked.said("/etc/netplan/90-switchless-fabric.yaml", "is held by NetworkManager")


def test_check_mode_of_the_whole_site_on_fresh_nodes_changes_nothing_and_says_what_it_would_do(pair: Cluster) -> None:
    with nothing_touched(pair):
        assert says_what_it_would_do(pair.play("--check", "--diff"))


@pytest.mark.usefixtures("untouched")
class TestNothingIsTouched:
    """Each node is compared with itself once, before and after all of these."""

    def test_check_mode_of_fabric_and_transport_on_a_fresh_ring(self, ring: Cluster) -> None:
        assert says_what_it_would_do(ring.play("--check", "--diff", "--tags", "fabric,transport"))

    def test_pool_that_overlaps_the_management_network(self, ring: Cluster) -> None:
        played = ring.fabric("-e", "fabric_subnet_pool=10.77.0.0/16")
        assert played.rc != 0
        assert played.said("10.77.0.1", "fabric_subnet_pool")

    def test_user_without_sudo_right(self, ring: Cluster) -> None:
        ring.node("spark2", "mv /etc/sudoers.d/spark /run/spark.sudoers")
        try:
            played = ring.fabric()
        finally:
            ring.node("spark2", "mv /run/spark.sudoers /etc/sudoers.d/spark")
        assert played.rc != 0
        assert played.said("spark2: root is needed and was not given", "--ask-become-pass", "Nothing was changed.")


def test_unreachable_node(ring: Cluster) -> None:
    ring.lab("powercut", "spark4")
    try:
        played = ring.fabric()
    finally:
        ring.lab("poweron", "spark4")
    assert played.rc != 0
    assert played.said("spark4 cannot be reached at 10.77.0.14", "Nothing was changed.")
    assert no_fabric(ring)


def test_two_cables_swapped_stop_the_run_before_an_address(ring: Cluster) -> None:
    ring.lab("swap", "1", "3")
    try:
        played = ring.fabric()
    finally:
        ring.lab("swap", "1", "3")
    assert played.rc != 0
    assert played.said("cable 1", "cable 3", "really leads from spark1:p1 to", "No address was changed.")
    assert no_fabric(ring)


def test_neighbour_that_does_not_answer_rolls_every_node_back(ring: Cluster) -> None:
    chain = "nft add chain inet e2e in '{ type filter hook input priority -200; }'"
    rule = "nft add rule inet e2e in icmp type echo-request drop"
    ring.node("spark3", f"nft add table inet e2e && {chain} && {rule}")
    try:
        played = ring.fabric()
    finally:
        ring.node("spark3", "nft delete table inet e2e")
    assert played.rc != 0
    assert played.said("The fabric was put back as it was before", "to spark3:p0", "no answer")
    assert no_fabric(ring)
    for node in ring.names:
        states = ring.node(node, "nmcli -t -f DEVICE,STATE device | grep ^enp1s0f0np0")
        assert "unmanaged" not in states, "NetworkManager has its ports back"


def test_management_path_lost_by_the_change_rolls_every_node_back(ring: Cluster) -> None:
    # Stands in for a change that cuts the path it is made by: ssh is dropped as soon as the new netplan file is there.
    cut = "until test -e /etc/netplan/90-switchless-fabric.yaml; do sleep 0.1; done; nft add table inet e2e"
    chain = "nft add chain inet e2e in { type filter hook input priority -200 \\; }"
    drop = "nft add rule inet e2e in tcp dport 22 drop"
    ring.node("spark4", f"systemd-run --unit=e2e-cut sh -c '{cut}; {chain}; {drop}'")
    try:
        played = ring.fabric()
        assert played.rc != 0
        deadline = time.monotonic() + 60
        while "armed" in ring.node("spark4", PENDING):
            assert time.monotonic() < deadline, "spark4 did not undo the change by itself"
            time.sleep(1)
        assert no_fabric(ring)
        assert "not confirmed in time" in ring.node("spark4", "cat /var/lib/switchless/fabric/last-rollback.json")
    finally:
        ring.node("spark4", "systemctl stop e2e-cut; nft delete table inet e2e", check=False)


def test_run_that_is_killed_half_way_is_undone_by_the_nodes_themselves(ring: Cluster) -> None:
    argv = [
        "ansible-playbook",
        "-i",
        str(ring.inventory),
        "site.yml",
        "--tags",
        "fabric",
        "-e",
        "fabric_rollback_seconds=25",
    ]
    with subprocess.Popen(
        argv, cwd=CHECKOUT, env=ring.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
    ) as play:
        deadline = time.monotonic() + PLAY_SECONDS
        while "armed" not in ring.node("spark1", PENDING):
            assert time.monotonic() < deadline, "the run never armed the roll-back"
            time.sleep(0.2)
        for pid in descendants(play.pid):
            os.kill(pid, signal.SIGKILL)
    armed = time.monotonic()
    while any("armed" in ring.node(node, PENDING) for node in ring.names):
        assert time.monotonic() - armed < 60, "the old state is not back within 60 s"
        time.sleep(1)
    assert no_fabric(ring)
    assert "not confirmed in time" in ring.node("spark1", "cat /var/lib/switchless/fabric/last-rollback.json")
