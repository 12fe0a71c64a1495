# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Graphs that do not follow the cables, of one node and between neighbours."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.switchless.spark.plugins.filter import nccl_graph_findings
from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError
from ansible_collections.switchless.spark.plugins.module_utils._nccl.model import devices_from
from ansible_collections.switchless.spark.plugins.module_utils._nccl.validate import (
    fabric_findings,
    findings,
    node_findings,
)
from tests.unit.fabric.fabric_world import Data, ring
from tests.unit.nccl.nccl_world import devices_of, graph_of, inventory, of_cables, of_inventory

PLAN, VIEWS = inventory("ring4")
RING = {host: of_inventory("ring4", host, channels=4) for host in VIEWS}
HEAD = RING["329f"]
"""Receives on 0 and 2 (p0), sends on 1 and 3 (p1)."""

FIRST = '<channel><net dev="0"/><gpu dev="0"/><net dev="1"/></channel>'
SECOND = '<channel><net dev="2"/><gpu dev="0"/><net dev="3"/></channel>'


def codes(text: str, **values: Any) -> list[tuple[str, int | None]]:
    """What is found in the head's graph, changed."""
    environment = {**HEAD["environment"], **values.pop("environment", {})}
    return [(one.code, one.channel) for one in findings(text, devices_of(HEAD), environment, **values)]


@pytest.mark.parametrize("host", VIEWS)
def test_the_article_s_graphs(host: str) -> None:
    told = RING[host]
    assert findings(told["graph"], devices_of(told), told["environment"], nccl="2.30.7") == []
    assert findings(graph_of(told), devices_of(told), told["environment"]) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # The wrong port of the right root: the neighbour on the other side.
        (FIRST, FIRST.replace('"1"', '"0"'), [("wrong_port", 0), ("wrong_port", 2)]),
        (SECOND, SECOND.replace('"2"', '"3"'), [("wrong_port", 1), ("wrong_port", 3)]),
        # Receives and sends the wrong way round.
        (
            FIRST,
            '<channel><net dev="1"/><gpu dev="0"/><net dev="0"/></channel>',
            [("wrong_port", 0), ("wrong_port", 0), ("wrong_port", 2), ("wrong_port", 2)],
        ),
        # In on one root, out on the other.
        (FIRST, FIRST.replace('"1"', '"3"'), [("crosses_roots", 0), ("crosses_roots", 2)]),
        (SECOND, FIRST, [("roots_uneven", None)]),
        (FIRST + SECOND + FIRST, FIRST * 3, [("roots_uneven", None)]),
        (FIRST, FIRST.replace('"1"', '"4"'), [("no_device", 0), ("no_device", 2)]),
        (SECOND, SECOND.replace('"2"', '"10"'), [("no_device", 1), ("no_device", 3), ("roots_uneven", None)]),
        ('pattern="4"', 'pattern="1"', [("pattern", None)]),
        ('crossnic="1"', 'crossnic="0"', [("crossnic", None)]),
        ('crossnic="1"', 'crossnic="2"', [("crossnic", None)]),
        ('nchannels="4"', 'nchannels="3"', [("nchannels", None)]),
        ('nchannels="4"', 'nchannels="0"', [("no_channels", None), ("nchannels", None)]),
        ('id="0"', 'id="1"', [("other_graph", None), ("ring_graphs", None)]),
        ('version="1"', 'version="1"\t', [("unreadable", None)]),
    ],
)
def test_a_graph_that_was_changed(old: str, new: str, expected: list[tuple[str, int | None]]) -> None:
    assert old in HEAD["graph"]
    assert codes(HEAD["graph"].replace(old, new)) == expected


def test_no_channel_at_all() -> None:
    text = HEAD["graph"].replace((FIRST + SECOND) * 2, "").replace('nchannels="4"', 'nchannels="0"')
    assert codes(text) == [("no_channels", None)]


def test_one_graph_and_no_other() -> None:
    start, end = HEAD["graph"].index("<graph id"), HEAD["graph"].index("</graphs>")
    graph = HEAD["graph"][start:end]
    tree = graph.replace('id="0"', 'id="1"').replace('pattern="4"', 'pattern="3"')
    assert codes(f'<graphs version="1">{graph}{tree}</graphs>') == [("other_graph", None)]
    assert codes(f'<graphs version="1">{graph}{tree}</graphs>', dumped=True) == []
    assert codes(f'<graphs version="1">{graph}{graph}</graphs>') == [("ring_graphs", None)]
    assert codes(f'<graphs version="1">{tree}</graphs>', dumped=True) == [("ring_graphs", None)]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"NCCL_CROSS_NIC": "0"}, ["skipped"]),
        ({"NCCL_CROSS_NIC": "2"}, []),
        ({"NCCL_MAX_NCHANNELS": "3"}, ["too_many_channels"]),
        ({"NCCL_MAX_NCHANNELS": "32"}, []),
        ({"NCCL_MAX_NCHANNELS": ""}, []),
    ],
)
def test_what_the_environment_makes_of_it(environment: dict[str, str], expected: list[str]) -> None:
    assert [code for code, _channel in codes(HEAD["graph"], environment=environment)] == expected


def test_a_version_that_does_not_know_the_type() -> None:
    assert codes(HEAD["graph"], nccl="2.26.5") == [("unreadable", None)]


def test_the_text_says_what_was_seen_expected_and_to_do() -> None:
    text = HEAD["graph"].replace(FIRST, FIRST.replace('"1"', '"0"'), 1)
    (finding,) = findings(text, devices_of(HEAD), HEAD["environment"])
    for words in (
        "channel 0 sends on device 0 (rocep1s0f0, cage p0, root A, cable 4)",
        "which faces the previous rank: expected one that faces the next",
        "Using [0]",
        "make it anew",
    ):
        assert words in finding.text


@pytest.mark.parametrize(("channels", "expected"), [(1, []), (2, []), (3, ["warning"]), (31, ["warning"]), (32, [])])
def test_odd_numbers_of_channels(channels: int, expected: list[str]) -> None:
    told = of_inventory("ring4", "329f", channels=channels)
    found = findings(told["graph"], devices_of(told), told["environment"])
    assert [finding.severity for finding in found if finding.code == "roots_uneven"] == expected
    assert len(found) == len(expected)


def test_devices_in_another_order_than_nccl_found_them() -> None:
    """The graph was made for PCI order, NCCL's log says otherwise: every channel is wrong."""
    real = of_inventory("ring4", "329f", device_order=["rocep1s0f0", "roceP2p1s0f0", "rocep1s0f1", "roceP2p1s0f1"])
    found = findings(HEAD["graph"], devices_of(real), HEAD["environment"])
    assert {finding.channel for finding in found if finding.severity == "error"} >= {0, 1, 2, 3}


def fabric(told: dict[str, Any], plan: Data) -> list[str]:
    ranks = {host: rank for rank, host in enumerate(plan["order"]) if host in told}
    found = fabric_findings(
        {ranks[host]: graph_of(one) for host, one in told.items()},
        {ranks[host]: devices_of(one) for host, one in told.items()},
        plan,
    )
    return [finding.text for finding in found]


def test_neighbours_of_the_article() -> None:
    assert fabric(RING, PLAN) == []


def test_neighbours_on_different_roots() -> None:
    """Each node's graph is right by itself: one begins with root B."""
    told = copy.deepcopy(RING)
    told["c049"]["graph"] = told["c049"]["graph"].replace(FIRST + SECOND, SECOND + FIRST)
    assert codes_of(told) == {("not_joined", rank, channel) for rank in (1, 2) for channel in range(4)}
    texts = fabric(told, PLAN)
    assert len(texts) == 8
    assert texts[0].startswith(
        "channel 0: 355d sends on device 0 (rocep1s0f0, cage p0, root A, cable 2), c049 receives on"
    )


def test_neighbours_with_different_numbers_of_channels() -> None:
    told = {**RING, "355d": of_inventory("ring4", "355d", channels=2)}
    (text,) = fabric(told, PLAN)
    assert text.startswith("the nodes have graphs of 329f 4, 355d 2, c049 4, 3d38 4 channels: expected one number")


def test_two_ranks_that_were_swapped() -> None:
    """The settings of ranks 1 and 2 went to each other's node."""
    told = {**RING, "355d": RING["c049"], "c049": RING["355d"]}
    assert fabric(told, PLAN)


def test_a_play_with_a_limit_compares_whom_it_has() -> None:
    assert fabric({host: RING[host] for host in ("329f", "c049")}, PLAN) == []
    wrong = {**RING["3d38"], "graph": RING["3d38"]["graph"].replace(FIRST + SECOND, SECOND + FIRST)}
    assert len(fabric({"329f": RING["329f"], "3d38": wrong}, PLAN)) == 4, "the last rank sends to the first"


def codes_of(told: object, plan: object = PLAN, **values: Any) -> set[tuple[object, object, object]]:
    """(code, rank, channel) of all nodes."""
    return {(one["code"], one["rank"], one["channel"]) for one in node_findings(told, plan, **values)}


def test_all_nodes_at_once() -> None:
    assert node_findings(RING, PLAN) == []
    told = copy.deepcopy(RING)
    told["355d"]["graph"] = "nonsense"
    told["3d38"]["graph"] = told["3d38"]["graph"].replace('<net dev="2"/>', '<net dev="0"/>', 1)
    assert codes_of(told) == {
        ("unreadable", 1, None),
        ("crosses_roots", 3, 1),
        ("roots_uneven", 3, None),
        ("not_joined", 2, 1),
    }
    assert [one["host"] for one in node_findings(told, PLAN)] == ["355d", "3d38", "3d38", None]
    assert node_findings(told, PLAN)[0]["text"].startswith("355d: NCCL cannot read the graph: line 1, column 1: 'n' in")


def test_a_switch_has_no_graphs() -> None:
    assert node_findings({host: {**told, "graph": None} for host, told in RING.items()}, PLAN) == []


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        (None, "nodes is nothing"),
        ({"329f": None}, "329f: has nothing"),
        ({"329f": {"graph": 1}}, "expected what the filter nccl_settings gives"),
        ({"329f": {**HEAD, "devices": []}}, "devices is the list .* expected the list devices"),
        ({"329f": {**HEAD, "devices": [{}]}}, "expected the list devices"),
        ({"329f": {**HEAD, "devices": HEAD["devices"][1:]}}, "expected the list devices"),
        ({"329f": {**HEAD, "devices": "none"}}, "devices is 'none'"),
        ({"spark9": HEAD}, "host 'spark9' is not in the fabric"),
    ],
)
def test_not_nodes(nodes: object, words: str) -> None:
    with pytest.raises(FabricError, match=words):
        node_findings(nodes, PLAN)


def test_the_filter() -> None:
    apply = nccl_graph_findings.FilterModule().filters()["nccl_graph_findings"]
    assert apply(RING, PLAN, nccl="2.30.7") == []
    assert [one["code"] for one in apply({"329f": HEAD}, PLAN, nccl="2.26.0")] == ["unreadable"]  # type: ignore[attr-defined]
    with pytest.raises(AnsibleFilterError, match="nccl_graph_findings: nodes is nothing"):
        apply(None, PLAN)


def test_devices_keep_what_they_are() -> None:
    told = of_cables(*ring(3))
    assert devices_from(told["n1"]["devices"]) == devices_of(told["n1"])
    assert devices_of(told["n1"])[0].faces("next")
