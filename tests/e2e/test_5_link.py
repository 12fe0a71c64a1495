# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every cable measured in both directions: all is told apart, nothing is made up, nothing is left running.

The lab has no RDMA, and its speed is that of the machine's CPU: figures are compared with each other only.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from tests.e2e.cluster import Cluster, Played

LINE = re.compile(
    r"cable (?P<cable>\d) root (?P<root>[AB])\s+(?P<source>\w+):p[01] to (?P<target>\w+):p[01]\s+"
    r"(?:(?P<gbps>[0-9.]+) Gb/s|-) (?:TCP )?(?P<verdict>\w+)(?:: (?P<detail>.*?))?'?$",
    re.MULTILINE,
)
PLAYBOOK = "playbooks/link_test.yml"
SECOND = ("-e", "link_test_seconds=1")
ESTABLISHED = "ss -Htn state established '( dport = :18517 )'"  # to p1 A of the neighbour
GPU_IN_USE = "/usr/local/bin/nvidia-smi"


@dataclass(frozen=True, slots=True)
class Leg:
    """One measurement as the play shows it."""

    gbps: float | None
    verdict: str
    detail: str


def legs(played: Played) -> dict[tuple[int, str, str], Leg]:
    """All measurements by (cable, root, sender). A line that was folded is made whole first."""
    text = re.sub(r"\n {6,}(?=\S)", " ", played.text)
    return {
        (int(found["cable"]), found["root"], found["source"]): Leg(
            float(found["gbps"]) if found["gbps"] else None, found["verdict"], found["detail"] or ""
        )
        for found in LINE.finditer(text)
    }


def figures(played: Played) -> dict[tuple[int, str, str], float]:
    """The figures of a run in which everything was measured."""
    found = {key: leg.gbps for key, leg in legs(played).items()}
    assert len(found) == 16, played.text
    assert None not in found.values(), played.text
    return {key: gbps for key, gbps in found.items() if gbps is not None}


def nothing_runs(ring: Cluster) -> None:
    """Require that no tool was left behind."""
    assert ring.nodes("pgrep -a iperf3 || true") == dict.fromkeys(ring.names, "")


@pytest.fixture(scope="module")
def fabric(ring: Cluster) -> Cluster:
    """The ring with its network laid."""
    played = ring.play("--tags", "fabric")
    assert played.rc == 0, played.text
    return ring


@contextmanager
def gpu_in_use(ring: Cluster, node: str) -> Iterator[None]:
    """A program computes on the GPU of a node."""
    script = "#!/bin/sh\\necho 4711, /usr/bin/python3, 96000 MiB\\n"
    ring.node(node, f"printf '{script}' > {GPU_IN_USE}; chmod 755 {GPU_IN_USE}")
    try:
        yield
    finally:
        ring.node(node, f"rm {GPU_IN_USE}")


def test_every_cable_and_root_in_both_directions(fabric: Cluster) -> None:
    played = fabric.play(*SECOND, playbook=PLAYBOOK)
    assert played.rc == 0, played.text
    assert not any(played.changed.values()), played.text
    assert set(figures(played)) == {
        (cable, root, node)
        for cable, nodes in {1: "12", 2: "23", 3: "34", 4: "41"}.items()
        for root in "AB"
        for node in (f"spark{number}" for number in nodes)
    }
    assert {leg.verdict for leg in legs(played).values()} <= {"measured", "ok"}, "TCP shows no cap"
    assert played.said("TCP, not RDMA: spark1: programs cannot open an RDMA device here: no /dev/infiniband/uverbs*")
    nothing_runs(fabric)


def test_the_slow_cable_is_told_from_the_others(fabric: Cluster) -> None:
    fabric.lab("limit", "2", "500mbit")
    try:
        played = fabric.play(*SECOND, "-e", "link_test_minimum_gbps=0.55", playbook=PLAYBOOK)
    finally:
        fabric.lab("unlimit", "2")
    found = figures(played)
    slow = [gbps for (cable, _root, _node), gbps in found.items() if cable == 2]
    others = [gbps for (cable, _root, _node), gbps in found.items() if cable != 2]
    assert max(slow) < 0.5 * statistics.median(others), found
    assert max(slow) < min(others), found
    assert played.rc != 0
    assert played.said(
        "spark2, cage p0, root A, out, to spark3:p0 (cable 2): slow,", "by TCP, expected at least 0.55 Gb/s"
    )


def test_a_cable_that_is_pulled_while_it_is_measured(fabric: Cluster) -> None:
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(fabric.play, "-e", "link_test_seconds=6", playbook=PLAYBOOK)
        try:
            deadline = time.monotonic() + 120
            while not fabric.node("spark1", ESTABLISHED, check=False).strip():
                assert time.monotonic() < deadline, "no measurement began"
                assert not run.done(), run.result().text
                time.sleep(0.2)
            fabric.lab("unplug", "1")
            played = run.result()
        finally:
            fabric.lab("plug", "1")
    found = legs(played)
    assert len(found) == 16, played.text
    assert {leg.verdict for key, leg in found.items() if key[0] == 1} == {"unknown"}
    assert {leg.gbps for key, leg in found.items() if key[0] == 1} == {None}
    assert all(leg.gbps for key, leg in found.items() if key[0] != 1), "the others are measured all the same"
    assert "enp1s0f1np1 lost its link during the measurement; iperf3 says:" in found[1, "A", "spark1"].detail
    assert "enP2p1s0f1np1 has no link" in found[1, "B", "spark2"].detail
    assert played.rc != 0
    assert played.said("spark1, cage p1, root A, out, to spark2:p1 (cable 1): unknown by TCP, expected a figure")
    nothing_runs(fabric)


def test_a_cable_that_is_out_is_a_fault(fabric: Cluster) -> None:
    fabric.lab("unplug", "1")
    try:
        played = fabric.play(*SECOND, "--limit", "spark1,spark2", playbook=PLAYBOOK)
    finally:
        fabric.lab("plug", "1")
    assert played.rc != 0
    assert {leg.verdict for key, leg in legs(played).items() if key[0] == 1} == {"fault"}
    assert played.said("enp1s0f1np1 of spark1 has no link")


def test_a_server_that_cannot_be_reached(fabric: Cluster) -> None:
    rules = "add table inet e2e; add chain inet e2e input { type filter hook input priority -50; };"
    rules += " add rule inet e2e input tcp dport 18515-18518 drop"
    fabric.node("spark2", f"nft '{rules}'")
    try:
        played = fabric.play(*SECOND, "--limit", "spark1,spark2", playbook=PLAYBOOK)
    finally:
        fabric.node("spark2", "nft delete table inet e2e")
    found = legs(played)
    assert found[1, "A", "spark1"].gbps is None
    assert "spark1: unable to connect to server" in found[1, "A", "spark1"].detail
    assert found[1, "A", "spark2"].gbps, "the other direction has another server"
    assert found[1, "B", "spark2"].gbps, "the two ends met again after the failures"
    assert played.rc != 0
    nothing_runs(fabric)


def test_limit_measures_the_cables_between_the_nodes_of_the_run(fabric: Cluster) -> None:
    played = fabric.play(*SECOND, "--limit", "spark1,spark2", playbook=PLAYBOOK)
    assert played.rc == 0, played.text
    found = legs(played)
    assert {key for key, leg in found.items() if leg.gbps} == {(1, r, n) for r in "AB" for n in ("spark1", "spark2")}
    assert {leg.verdict for key, leg in found.items() if key[0] != 1} == {"skipped"}


def test_check_mode_measures_nothing_and_says_so(fabric: Cluster) -> None:
    played = fabric.play("--check", playbook=PLAYBOOK)
    assert played.rc == 0, played.text
    assert not any(played.changed.values())
    assert {(leg.gbps, leg.verdict, leg.detail) for leg in legs(played).values()} == {
        (None, "skipped", "nothing is measured in check mode")
    }


def test_a_gpu_in_use(fabric: Cluster) -> None:
    with gpu_in_use(fabric, "spark3"):
        refused = fabric.play(playbook=PLAYBOOK)
        assert refused.rc != 0
        assert refused.said("spark3: the GPU is in use (4711, /usr/bin/python3, 96000 MiB)", "Nothing was measured.")
        skipped = fabric.play("-e", "link_test_when_busy=skip", playbook=PLAYBOOK)
        assert skipped.rc == 0, skipped.text
        assert {(leg.gbps, leg.verdict) for leg in legs(skipped).values()} == {(None, "skipped")}
        forced = fabric.play(*SECOND, "-e", "link_test_force=true", playbook=PLAYBOOK)
        assert forced.rc == 0, forced.text
        assert len(figures(forced)) == 16


def test_too_few_forks(fabric: Cluster) -> None:
    played = fabric.play("--forks", "3", playbook=PLAYBOOK)
    assert played.rc != 0
    assert played.said("4 nodes have to measure at once, Ansible works on 3: set forks to 4 or more")
