# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From what both ends say to verdicts, and on to what cx7_health makes of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.filter.link_results import FilterModule
from ansible_collections.switchless.spark.plugins.module_utils._cx7 import load
from ansible_collections.switchless.spark.plugins.module_utils._link.results import verdict
from ansible_collections.switchless.spark.plugins.module_utils._link.schedule import schedule
from tests.unit.fabric.fabric_world import Data, plan_of
from tests.unit.link.test_link_schedule import HOSTS, PAIR, change, node


@pytest.mark.parametrize(
    ("gbps", "method", "minimum", "expected"),
    [
        (None, "rdma", None, "unknown"),
        (None, "tcp", 1.0, "unknown"),
        (111.86, "rdma", None, "ok"),
        (90.0, "rdma", None, "ok"),
        (89.99, "rdma", None, "degraded"),
        (50.0, "rdma", None, "degraded"),
        (49.9, "rdma", None, "slow"),
        (25.1, "rdma", None, "slow"),
        (25.0, "rdma", None, "throttled"),
        (13.23, "rdma", None, "throttled"),
        (8.0, "rdma", None, "throttled"),
        (7.9, "rdma", None, "slow"),
        (95.0, "rdma", 100.0, "degraded"),
        (80.0, "rdma", 75.0, "ok"),
        (13.23, "tcp", None, "measured"),
        (98.0, "tcp", None, "ok"),
        (13.23, "tcp", 20.0, "slow"),
        (20.0, "tcp", 20.0, "ok"),
    ],
)
def test_verdicts(gbps: float | None, method: str, minimum: float | None, expected: str) -> None:
    assert verdict(gbps, method, minimum) == expected


@given(st.none() | st.floats(0.001, 400), st.none() | st.floats(0.1, 400))
def test_tcp_is_never_said_to_be_capped(gbps: float | None, minimum: float | None) -> None:
    assert verdict(gbps, "tcp", minimum) in ("ok", "measured", "slow", "unknown")


def both_ends(made: Data, gbps: dict[tuple[str, str], float | None], words: str = "") -> dict[str, list[Data]]:
    """What the module returns on both nodes, the figures by (root, sender)."""
    measured: dict[str, list[Data]] = {host: [] for host in HOSTS}
    for lists in made["rounds"]:
        for host, items in lists.items():
            for item in items:
                sender = host if item["side"] == "client" else next(h for h in HOSTS if h != host)
                figure = gbps[item["root"], sender]
                measured[host].append(
                    item
                    | {
                        "gbps": figure,
                        "detail": "" if figure else words,
                        "lost": False,
                        "raw": f"{host} {item['side']}",
                    }
                )
    return measured


FAST = dict.fromkeys([(root, host) for root in "AB" for host in HOSTS], 98.03)


def judged(made: Data, measured: dict[str, list[Data]], **more: Any) -> Data:
    found: Data = FilterModule().filters()["link_results"](made, measured, **more)
    return found


@pytest.fixture
def made() -> Data:
    return schedule(plan_of(PAIR, HOSTS), {host: node() for host in HOSTS})


def test_all_is_well(made: Data) -> None:
    found = judged(made, both_ends(made, FAST))
    assert found["failures"] == []
    assert found["lines"][0] == "cable 1 root A  one:p0 to two:p1  98.03 Gb/s RDMA ok"
    rows = found["hosts"]["two"]
    assert [(row["cage"], row["root"], row["direction"], row["peer"]) for row in rows] == [
        ("p1", "A", "in", "one:p0"),
        ("p1", "A", "out", "one:p0"),
        ("p1", "B", "in", "one:p0"),
        ("p1", "B", "out", "one:p0"),
    ]
    assert rows[0] == {
        "cable": 1,
        "cage": "p1",
        "root": "A",
        "direction": "in",
        "peer": "one:p0",
        "gbps": 98.03,
        "method": "rdma",
        "verdict": "ok",
        "detail": "",
        "raw": "two server",
    }


def test_one_direction_is_capped(made: Data) -> None:
    found = judged(made, both_ends(made, FAST | {("B", "two"): 13.23}))
    assert found["failures"] == [
        (
            "two, cage p1, root B, out, to one:p0 (cable 1): throttled, 13.23 Gb/s by RDMA, expected at least 90 Gb/s: "
            "the cap after a hot-plug: this node sends no faster until it is rebooted with the cable in"
        )
    ]
    by_way = {(row["root"], row["direction"]): row["verdict"] for row in found["hosts"]["one"]}
    assert by_way == {("A", "in"): "ok", ("A", "out"): "ok", ("B", "in"): "throttled", ("B", "out"): "ok"}


def test_no_figure_names_what_each_end_says(made: Data) -> None:
    measured = both_ends(made, FAST | {("A", "one"): None}, "a header but no row of figures")
    measured["two"][0]["detail"] = "two: it says something else"
    found = judged(made, measured)
    assert found["failures"] == [
        (
            "one, cage p0, root A, out, to two:p1 (cable 1): unknown by RDMA, expected at least 90 Gb/s: "
            "one: a header but no row of figures; two: two: it says something else"
        )
    ]
    measured["two"][0]["detail"] = "nothing came of it until the time limit"
    assert judged(made, measured)["failures"][0].endswith(": one: a header but no row of figures")


def test_a_figure_of_a_link_that_the_other_end_lost_is_none(made: Data) -> None:
    measured = both_ends(made, FAST)
    measured["two"][0] |= {"gbps": None, "lost": True, "detail": "enp1s0f1 lost its link during the measurement"}
    row = next(r for r in judged(made, measured)["hosts"]["one"] if (r["root"], r["direction"]) == ("A", "out"))
    assert (row["gbps"], row["verdict"]) == (None, "unknown")
    assert row["detail"] == "two: enp1s0f1 lost its link during the measurement"


def test_a_node_that_gave_nothing(made: Data) -> None:
    found = judged(made, both_ends(made, FAST) | {"one": []})
    lines = {row["root"] + row["direction"]: row["detail"] for row in found["hosts"]["two"] if row["gbps"] is None}
    assert lines == {"Ain": "one: gave no result", "Bin": "one: gave no result"}


def test_tcp_is_a_report_until_there_is_a_minimum() -> None:
    made = schedule(plan_of(PAIR, HOSTS), {host: node(verbs=False) for host in HOSTS})
    measured = both_ends(made, FAST | {("A", "one"): 3.5})
    found = judged(made, measured)
    assert found["failures"] == []
    assert found["lines"][0] == "cable 1 root A  one:p0 to two:p1  3.50 Gb/s TCP measured"
    assert judged(made, measured, minimum="20")["failures"] == [
        (
            "one, cage p0, root A, out, to two:p1 (cable 1): slow, 3.50 Gb/s by TCP, expected at least 20 Gb/s: "
            "less than is wanted"
        )
    ]


def test_nothing_was_measured(made: Data) -> None:
    found = judged(made, {"one": [], "two": []}, unmade="nothing is measured in check mode")
    assert found["failures"] == []
    assert {row["verdict"] for row in found["hosts"]["one"]} == {"skipped"}
    assert found["lines"][0] == ("cable 1 root A  one:p0 to two:p1  - RDMA skipped: nothing is measured in check mode")


def test_a_port_without_a_link() -> None:
    dark = change(node(), "p0", "A", carrier=False)
    made = schedule(plan_of(PAIR, HOSTS), {"one": dark, "two": node()})
    found = judged(made, both_ends(made, FAST))
    assert found["failures"][0] == (
        "one, cage p0, root A, out, to two:p1 (cable 1): fault by RDMA, expected at least 90 Gb/s: "
        "enp1s0f0 of one has no link"
    )
    assert len(found["failures"]) == 2


def test_a_node_out_of_the_run_is_no_failure() -> None:
    made = schedule(plan_of(PAIR, HOSTS), {"one": node()})
    found = judged(made, {"one": []})
    assert found["failures"] == []
    assert list(found["hosts"]) == ["one"]
    assert found["lines"][0] == "cable 1 root A  one:p0 to two:p1  - skipped: two took no part in this run"
    assert {(row["verdict"], row["method"]) for row in found["hosts"]["one"]} == {("skipped", None)}


def test_cx7_health_takes_the_rows(made: Data) -> None:
    rows = judged(made, both_ends(made, FAST | {("A", "one"): None}, "no row"))["hosts"]["one"]
    taken = load.bandwidth(rows)
    assert {key: row.gbps for key, row in taken.items()} == {
        ("p0", "A", "in"): 98.03,
        ("p0", "A", "out"): None,
        ("p0", "B", "in"): 98.03,
        ("p0", "B", "out"): 98.03,
    }
