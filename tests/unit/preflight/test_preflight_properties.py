# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds of every set of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._preflight.judge import judge
from ansible_collections.switchless.spark.plugins.module_utils._preflight.model import Finding, Wanted
from tests.unit.preflight.preflight_world import FIT, JUDGED, NOW, room

WANTED = Wanted(judged_at=JUDGED)
GROUP = {"same_machine", "machine_id_duplicate", "hostname_duplicate", "clock_skew"}
GROUP |= {"ota_differs", "kernel_differs", "driver_differs", "memory_differs"}
LISTENS = {"port": 8000, "address": "::", "pid": None, "process": None}

# For each place some values, fit and unfit.
VALUES: dict[tuple[str, ...], list[Any]] = {
    ("machine_id",): ["a", "b", "c"],
    ("boot_id",): ["1", "2"],
    ("hostname",): ["spark-1", "spark-2", "Spark-2.lan"],
    ("kernel",): ["6.17.0-1032-nvidia", "7.0.0-1019-nvidia"],
    ("gpu", "gb10"): [["000f:01:00.0"], []],
    ("dgx", "version"): ["7.5.0", "7.6.0"],
    ("dgx", "torn_score"): [0, 3],
    ("driver", "loaded"): ["580.173.02", "580.178.04"],
    ("driver", "open"): [True, False],
    ("driver", "installed"): [FIT["driver"]["installed"], [FIT["driver"]["installed"][0] | {"held": False}], []],
    ("memory", "total_kb"): [127600748, 127600752, 125513944],
    ("memory", "swap_total_kb"): [0, 16777212],
    ("memory", "swap_free_kb"): [0, 16777212],
    ("memory", "cma_total_kb"): [0, 32768, 131072],
    ("memory", "cma_free_kb"): [0, 9814671],
    ("memory", "kho_off"): [True, False],
    ("disk",): [[], [room()], [room(free_gib=1.0)], [room(), room()]],
    ("desktop", "active"): [True, False],
    ("desktop", "sessions"): [[], [{"user": "x", "class": "user"}], [{"user": "gdm", "class": "greeter"}]],
    ("clock", "epoch"): [NOW, NOW + 1, NOW + 200],
    ("clock", "asked"): [NOW, NOW + 2],
    ("clock", "ntp_synchronized"): [True, False],
    ("ports", "taken"): [[], [LISTENS]],
    ("secure_boot",): [True, False],
    ("dkms",): [[], ["nvidia/580.173.02: installed"]],
}
EVIDENCE = [way for way in VALUES if way not in (("disk",), ("boot_id",))]


def put(node: dict[str, Any], way: tuple[str, ...], value: Any) -> dict[str, Any]:
    made = deepcopy(node)
    place = made
    for step in way[:-1]:
        place = place[step]
    place[way[-1]] = value
    return made


def build(choices: tuple[Any, ...]) -> dict[str, Any]:
    made = deepcopy(dict(FIT))
    made["dgx"]["torn_asked"], made["ports"]["wanted"] = True, [8000]
    for way, value in zip(VALUES, choices, strict=True):
        place = made
        for step in way[:-1]:
            place = place[step]
        place[way[-1]] = value
    return made


NODE = st.tuples(
    *(st.sampled_from([*values, None] if way in EVIDENCE else values) for way, values in VALUES.items())
).map(build)
NODES = st.lists(NODE, min_size=1, max_size=3).map(
    lambda made: {f"spark{index}": one for index, one in enumerate(made)}
)
QUICK = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def of_group(found: tuple[Finding, ...]) -> Iterator[tuple[str, frozenset[str]]]:
    return ((finding.code, frozenset(finding.hosts)) for finding in found if finding.code in GROUP)


@QUICK
@given(NODES, st.data())
def test_a_node_less_never_adds_a_difference(seen: dict[str, dict[str, Any]], data: st.DataObject) -> None:
    """Each that is left is about hosts that had it before; a duplicate of three may become one of two."""
    gone = data.draw(st.sampled_from(sorted(seen)))
    before = set(of_group(judge(seen, WANTED)))
    rest = {host: node for host, node in seen.items() if host != gone}
    for code, hosts in of_group(judge(rest, WANTED)):
        if code == "clock_skew":
            assert any(had == code for had, _hosts in before)
        elif code in ("machine_id_duplicate", "same_machine"):
            assert any(had.endswith(("same_machine", "machine_id_duplicate")) and hosts <= all_ for had, all_ in before)
        else:
            assert any(had == code and hosts <= all_ for had, all_ in before)


@QUICK
@given(NODES, st.data())
def test_evidence_less_never_makes_a_node_fit(seen: dict[str, dict[str, Any]], data: st.DataObject) -> None:
    """A question that a node had a finding for stays open when what was seen is taken away, or becomes unknown."""
    host = data.draw(st.sampled_from(sorted(seen)))
    way = data.draw(st.sampled_from(EVIDENCE))

    def questions(nodes: dict[str, dict[str, Any]]) -> set[str]:
        return {finding.check for finding in judge(nodes, WANTED) if host in finding.hosts}

    assert questions(seen) - questions(seen | {host: put(seen[host], way, None)}) == set()


@QUICK
@given(NODES)
def test_the_worst_comes_first_and_nothing_twice(seen: dict[str, dict[str, Any]]) -> None:
    found = judge(seen, WANTED)
    order = [("stop", "warn", "note").index(finding.verdict) for finding in found]
    assert order == sorted(order)
    assert len({(finding.verdict, finding.code, finding.seen) for finding in found}) == len(found)
    assert all(len(set(finding.hosts)) == len(finding.hosts) > 0 for finding in found)


@QUICK
@given(NODES, st.permutations(range(3)))
def test_the_order_of_nodes_does_not_matter(seen: dict[str, dict[str, Any]], order: list[int]) -> None:
    hosts = sorted(seen)
    turned = {hosts[index]: seen[hosts[index]] for index in order if index < len(hosts)}
    plain = {(finding.code, finding.verdict, frozenset(finding.hosts)) for finding in judge(seen, WANTED)}
    others = {(finding.code, finding.verdict, frozenset(finding.hosts)) for finding in judge(turned, WANTED)}
    assert {row for row in plain if row[0] != "clock_skew"} == {row for row in others if row[0] != "clock_skew"}
    assert {row[:2] for row in plain} == {row[:2] for row in others}
