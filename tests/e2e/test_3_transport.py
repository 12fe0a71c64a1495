# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NCCL on a fabric that works: told once, proved as far as the lab can, refused with the reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.e2e.cluster import CHECKOUT, Cluster, Played

GRAPH = "/etc/switchless/nccl-graph.xml"
RELAY = "/run/switchless/fabric-relay.loaded"


def transport(ring: Cluster, *words: str) -> Played:
    return ring.play("--tags", "transport", *words)


@pytest.fixture(scope="module", autouse=True)
def laid(ring: Cluster) -> None:
    """Alone, this file lays its own fabric; after the others it takes what site.yml left."""
    if all(ring.nodes(f"test -e {RELAY} && test -e {GRAPH} && echo laid || true").values()):
        return
    played = ring.play("--tags", "fabric,transport")
    assert played.rc == 0, played.text


@contextmanager
def file_on(ring: Cluster, node: str, path: str, text: str) -> Iterator[None]:
    """A file of somebody else, for a while."""
    ring.node(node, f"printf '%s\\n' '{text}' > {path}")
    try:
        yield
    finally:
        ring.node(node, f"rm -f {path}")


def test_it_puts_right_a_graph_changed_by_hand_proves_what_needs_no_rdma_and_says_what_was_not_run(
    ring: Cluster,
) -> None:
    ring.node("spark4", f'sed -i \'s/crossnic="1"/crossnic="0"/\' {GRAPH}')
    played = transport(ring)
    assert played.rc == 0, played.text
    assert {node: count for node, count in played.changed.items() if count} == {"spark4": 1}, played.text
    assert 'crossnic="1"' in ring.node("spark4", f"cat {GRAPH}")
    assert 'crossnic="0"' in ring.node("spark4", f"cat {GRAPH}.*")
    found = json.loads((CHECKOUT / ".report" / "transport.json").read_text())
    results = {stage["name"]: stage["result"] for stage in found["stages"]}
    passed = [name for name, result in results.items() if result == "passed"]
    assert passed == ["settings", "memory", "ports", "graph"], played.text
    assert {results[name] for name in results if name not in passed} == {"not run"}
    assert all(stage["reasons"] for stage in found["stages"] if stage["result"] == "not run")
    assert found["verdict"] == "incomplete"


def test_neighbours_follow_each_other_in_the_graphs(ring: Cluster) -> None:
    """Each node has its own, since the cages differ; the article's wiring."""
    graphs = ring.nodes(f"cat {GRAPH}")
    assert len(set(graphs.values())) > 1
    assert {graph.count("<channel>") for graph in graphs.values()} == {8}


def test_limit_to_one_node(ring: Cluster) -> None:
    played = transport(ring, "--limit", "spark2")
    assert played.rc == 0, played.text
    assert not any(played.changed.values()), played.text


def test_check_mode_reads_all_the_same(ring: Cluster) -> None:
    played = transport(ring, "--check")
    assert played.rc == 0, played.text
    assert not any(played.changed.values()), played.text
    played.said("16 of 16 ports")


def test_a_setting_elsewhere_and_a_port_without_its_address_are_named_each_on_its_node(ring: Cluster) -> None:
    """The port's GID is gone with the address. Every stage is judged by itself, so one run shows both."""
    netdev, address = next(
        (name, addresses[0]) for name, addresses in ring.addresses("spark2").items() if name == "enp1s0f1np1"
    )
    ring.node("spark2", f"ip address del {address}/24 dev {netdev}")
    try:
        with file_on(ring, "spark3", "/etc/nccl.conf", "NCCL_IB_GID_INDEX=3"):
            played = transport(ring)
    finally:
        ring.node("spark2", f"ip address add {address}/24 dev {netdev}")
    assert played.rc != 0
    failed = json.loads((CHECKOUT / ".report" / "transport.json").read_text())["stages"]
    assert [stage["name"] for stage in failed if stage["result"] == "failed"] == ["settings", "ports"], played.text
    played.said("spark3: /etc/nccl.conf:1 sets NCCL_IB_GID_INDEX to '3'", "Remove line 1 of /etc/nccl.conf")
    played.said("spark2: cage p1 root A", f"has no GID for {address}")
