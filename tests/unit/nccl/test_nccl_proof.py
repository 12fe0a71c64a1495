# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an all-reduce over all ranks proves: one way to fail, one finding."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._nccl.proof import judge, ports
from tests.unit.nccl.nccl_world import of_cables
from tests.unit.nccl.transport_world import DEVICES, MIB, ORDER, PLAN, SIZES, VOLUME, all_said, judged

PASSED_ON = VOLUME // 2**16 // 10
"""Datagrams: a tenth of what a rank sends on, in the largest ones."""
OVER_FABRIC = {**PLAN, "control_plane": "fabric"}
Spoil = Callable[[dict[str, Any]], object]


def test_a_run_that_was_right() -> None:
    verdict = judged(all_said(), busbw_gbps=190.0)
    assert (verdict["ok"], verdict["findings"], verdict["details"], verdict["warnings"]) == (True, [], [], [])
    assert verdict["nccl"] == ["2.30.7"]
    # The slowest rank counts: the last one is 3 % slower than the first.
    assert verdict["rows"] == [
        {
            "mib": mib,
            "wrong": 0,
            "elements": mib * 262144 * 3 * 4,
            "milliseconds": round(mib / 16 * 1.03, 3),
            "busbw_gbps": 195.44,
        }
        for mib in SIZES
    ]


def test_sockets_need_no_nccl_that_knows_subnets() -> None:
    assert judged(all_said("2.28.9"), rdma=False, plan=OVER_FABRIC)["ok"]
    verdict = judged(all_said("2.28.9"))
    assert verdict["findings"] == [
        f"{host}: NCCL 2.28.9 is loaded from /opt/vllm/lib/libnccl.so.2; expected 2.30.7 or newer. Older ones cannot "
        "choose the device by the cable's subnet: install it where the interpreter looks first."
        for host in ORDER
    ]


def test_a_graph_for_another_device_order() -> None:
    """As it was measured: every element right, all bytes on one root."""
    told = all_said("2.28.9")
    for said in told.values():
        for port, counts in said["ports"].items():
            counts |= {way: 2 * count if port.endswith("/A") else 0 for way, count in counts.items()}
    verdict = judged(told, rdma=False)
    assert [row["wrong"] for row in verdict["rows"]] == [0, 0, 0, 0]
    assert [finding["seen"] for finding in verdict["details"]] == [
        f"root A {way} 383 MiB, root B 0 MiB" for _host in ORDER for way in ("sent", "received")
    ]
    assert "`Using [0]`" in verdict["findings"][0]


def test_ranks_that_do_not_follow_the_cables() -> None:
    """As it was measured: every element right, twice the bytes, and datagrams passed on by both nodes in between."""
    told = all_said("2.28.9")
    for said in told.values():
        said["forwarded"] = 12692
        for counts in said["ports"].values():
            counts |= {"sent": 200_800_000, "received": 200_800_000}
    verdict = judged(told, rdma=False, plan=OVER_FABRIC)
    seen = [finding["seen"] for finding in verdict["details"] if finding["host"] == "355d"]
    assert seen == ["it passed on 12692 IP datagrams for other ranks", "765 MiB sent", "765 MiB received"]
    assert [finding["expected"] for finding in verdict["details"][:2]] == [f"at most {PASSED_ON}", "382 MiB"]
    assert "start the ranks in the order of the plan" in verdict["findings"][0]


def set_count(told: dict[str, Any], host: str, port: str, way: str, count: int | None) -> None:
    told[host]["ports"][port][way] = count


def total(told: dict[str, Any], count: int, first: int | None = None) -> None:
    """What the second rank sends: `first` on root A, else half."""
    first = count // 2 if first is None else first
    for port, counts in told["355d"]["ports"].items():
        counts["sent"] = {"p0/A": first, "p0/B": count - first}.get(port, 0)


EDGE = VOLUME * 15 // 100
SAMPLE = {"rank": 2, "phase": "first all-reduce", "error": "no end within 120 s", "sizes": [], "without_link": []}
PULLED = SAMPLE | {"without_link": ["p0/A", "p0/B"]}
ENDED = {"rank": 2, "phase": "counted all-reduces", "error": None, "sizes": [], "without_link": []}


@pytest.mark.parametrize(
    ("spoil", "host", "seen", "expected"),
    [
        (lambda told: told.pop("c049"), "c049", "its rank gave no result", "a result"),
        (lambda told: told.update(c049=None), "c049", "its rank gave no result", "a result"),
        (
            lambda told: told.update(c049=SAMPLE),
            "c049",
            "phase 'first all-reduce': no end within 120 s",
            "a result",
        ),
        (
            lambda told: told.update(c049=PULLED),
            "c049",
            "phase 'first all-reduce': no end within 120 s; no link on p0/A, p0/B (cable 2, 355d:p0 - c049:p0)",
            "a result",
        ),
        (lambda told: told.update(c049=ENDED), "c049", "phase 'counted all-reduces': it ended there", "a result"),
        (
            lambda told: told["3d38"]["sizes"][2].update(wrong=7),
            "3d38",
            "7 of 12582912 elements wrong at 16 MiB",
            "none",
        ),
        (
            lambda told: set_count(told, "355d", "p1/B", "sent", None),
            "355d",
            "no count of bytes sent on root B",
            "a count",
        ),
        (lambda told: told["355d"]["ports"].pop("p1/A") and told["355d"]["ports"].pop("p0/B"), "355d", None, "a count"),
        (
            lambda told: told["329f"].update(nccl="2.31.2"),
            "",
            "NCCL 2.31.2 on 329f; 2.30.7 on 355d; 2.30.7 on c049; 2.30.7 on 3d38",
            "the same on every rank",
        ),
        (
            lambda told: [said.update(nccl=None, library=None) for said in told.values()],
            None,
            "NCCL of an unknown version is loaded from an unknown place",
            "2.30.7 or newer",
        ),
        (
            lambda told: told["c049"]["sizes"].pop(0),
            "",
            "sizes in MiB: 1, 4, 16, 64 on 329f; 1, 4, 16, 64 on 355d; 4, 16, 64 on c049; 1, 4, 16, 64 on 3d38",
            "the same on every rank",
        ),
        (
            lambda told: told["355d"].update(forwarded=PASSED_ON + 1),
            "355d",
            f"it passed on {PASSED_ON + 1} IP datagrams for other ranks",
            f"at most {PASSED_ON}",
        ),
        (lambda told: total(told, VOLUME + EDGE + 2), "355d", "439 MiB sent", "382 MiB"),
        (lambda told: total(told, VOLUME - EDGE - 2), "355d", "325 MiB sent", "382 MiB"),
        (
            lambda told: total(told, 400_000_000, 210_000_001),
            "355d",
            "root A sent 200 MiB, root B 181 MiB",
            "half on each, within 5 %",
        ),
        (
            lambda told: total(told, 400_000_000, 189_999_999),
            "355d",
            "root A sent 181 MiB, root B 200 MiB",
            "half on each, within 5 %",
        ),
    ],
)
def test_each_way_to_fail(spoil: Spoil, host: str | None, seen: str | None, expected: str) -> None:
    """Exactly its finding, at exactly its host; at all hosts where that is None, both ways where nothing was seen."""
    told = all_said()
    spoil(told)
    verdict = judged(told)
    assert not verdict["ok"]
    found = [(finding["host"], finding["seen"], finding["expected"]) for finding in verdict["details"]]
    seens = [seen] if seen is not None else [f"no count of bytes {way} on root A, B" for way in ("sent", "received")]
    assert found == [(one, what, expected) for one in (ORDER if host is None else [host]) for what in seens]
    for text, finding in zip(verdict["findings"], verdict["details"], strict=True):
        assert text.startswith(f"{finding['host']}: " if finding["host"] else finding["seen"])
        assert text.endswith(f"{finding['seen']}; expected {finding['expected']}. {finding['remedy']}")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda told: total(told, VOLUME + EDGE - 2),
        lambda told: total(told, VOLUME - EDGE + 2),
        lambda told: total(told, 400_000_000, 209_999_999),
        lambda told: total(told, 400_000_000, 190_000_001),
        lambda told: [said.update(nccl="2.30.7+cuda13.0") for said in told.values()],
        lambda told: told["355d"].update(forwarded=PASSED_ON),
    ],
)
def test_just_inside(spoil: Spoil) -> None:
    told = all_said()
    spoil(told)
    assert judged(told)["findings"] == []


@pytest.mark.parametrize(("mib", "allowed"), [(1, 100), (64, 153), (256, 614)])
def test_what_containers_and_control_traffic_pass_on_is_not_other_ranks_data(mib: int, allowed: int) -> None:
    """A rank's data would be ten times as many datagrams at least; a hundred are held against nobody."""
    for forwarded, found in ((allowed, []), (allowed + 1, ["c049"])):
        told = all_said()
        for said in told.values():
            said["sizes"] = [said["sizes"][0] | {"mib": mib, "elements": mib * MIB // 4}]
        told["c049"]["forwarded"] = forwarded
        assert [item["host"] for item in judged(told)["details"] if "passed on" in item["seen"]] == found


def test_on_a_switch_the_volume_is_nccl_s_choice() -> None:
    """The tree's root sends less than its children; both roots are to be used all the same."""
    switch = {**PLAN, "layout": "switch"}
    told = all_said()
    total(told, VOLUME // 2)
    assert judged(told, plan=switch)["ok"]
    assert not judged(told)["ok"]
    total(told, VOLUME // 2, VOLUME // 2)
    assert [finding["expected"] for finding in judged(told, plan=switch)["details"]] == ["half on each, within 5 %"]


def test_nothing_reduced_is_nothing_proved() -> None:
    told = all_said()
    for said in told.values():
        said["sizes"] = []
        said["ports"] = {port: {"sent": 0, "received": 0} for port in said["ports"]}
    verdict = judged(told)
    assert [finding["seen"] for finding in verdict["details"]] == [
        "sizes in MiB: none on 329f; none on 355d; none on c049; none on 3d38"
    ]


@pytest.mark.parametrize(
    ("lowest", "expected", "warns"),
    [(152.0, 190.0, False), (151.99, 190.0, True), (1.0, None, False), (159.99, 200.0, True)],
)
def test_the_bus_bandwidth_of_the_largest_size(lowest: float, expected: float | None, warns: bool) -> None:
    told = all_said()
    told["3d38"]["sizes"][-1]["busbw_gbps"] = lowest
    told["3d38"]["sizes"][0]["busbw_gbps"] = 0.5
    verdict = judged(told, busbw_gbps=expected)
    assert verdict["ok"]
    assert len(verdict["warnings"]) == warns
    if warns:
        assert f"bus bandwidth {lowest} Gb/s at 64 MiB, expected about {expected:g}" in verdict["warnings"][0]


PAIR = of_cables([{"ends": ["a:p1", "b:p0"]}], ["a", "b"])


def test_a_pair_with_one_cable() -> None:
    """Each port sends and receives, half of the volume on either root."""
    plan = {"order": ["a", "b"], "size": 2, "layout": "pair", "control_plane": "management"}
    devices = {host: PAIR[host]["devices"] for host in PAIR}
    assert {device["towards"] for device in devices["a"]} == {"both"}
    told = {
        host: {
            **all_said()["329f"],
            "ports": {f"{cage}/{root}": {"sent": VOLUME // 3, "received": VOLUME // 3} for root in "AB"},
        }
        for host, cage in (("a", "p1"), ("b", "p0"))
    }
    assert judge(told, devices, plan)["findings"] == []
    told["b"]["ports"]["p0/B"]["received"] = 0
    assert [finding["seen"] for finding in judge(told, devices, plan)["details"]] == [
        f"{VOLUME // 3 // MIB} MiB received",
        f"root A received {VOLUME // 3 // MIB} MiB, root B 0 MiB",
    ]


def test_where_bytes_are_counted() -> None:
    assert ports(DEVICES["329f"])[1] == {"name": "p1/A", "netdev": "enp1s0f1np1", "rdma": "rocep1s0f1"}
    (told, _other) = of_cables([{"ends": ["a:p1", "b:p0"]}], ["a", "b"], net="socket").values()
    assert ports(told["devices"]) == [
        {"name": "p1/A", "netdev": "enp1s0f1np1", "rdma": None},
        {"name": "p1/B", "netdev": "enP2p1s0f1np1", "rdma": None},
    ]


FAULTS: dict[str, Spoil] = {
    "silent": lambda told: told.update(c049=None),
    "error": lambda told: told["c049"].update(error="RuntimeError", phase="rendezvous"),
    "wrong": lambda told: told["329f"]["sizes"][0].update(wrong=1),
    "idle root": lambda told: set_count(told, "355d", "p0/B", "sent", 0),
    "too much": lambda told: set_count(told, "3d38", "p0/A", "sent", VOLUME),
    "relayed": lambda told: told["355d"].update(forwarded=PASSED_ON + 1),
    "old": lambda told: [said.update(nccl="2.30.6") for said in told.values()],
    "two versions": lambda told: told["3d38"].update(nccl="2.31.0"),
    "uncounted": lambda told: set_count(told, "329f", "p1/A", "received", None),
}
LOSSES: list[tuple[str, str]] = [
    *product(("rank", "line", "version", "row", "error"), ORDER),
    *product(
        ("port", "sent", "received"), (f"{host} {port}" for host, told in all_said().items() for port in told["ports"])
    ),
]


def lose(told: dict[str, Any], what: str, where: str) -> None:
    """Take something away, if it is still there."""
    host, _blank, port = where.partition(" ")
    said = told.get(host)
    if said is None:
        return
    if what == "rank":
        del told[host]
    elif what == "line":
        told[host] = None
    elif what == "version":
        said["nccl"] = None
    elif what == "row":
        said["sizes"] = said["sizes"][1:]
    elif what == "error":
        said["error"] = None
    elif what == "port":
        said["ports"].pop(port, None)
    elif port in said["ports"]:
        said["ports"][port][what] = None


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(FAULTS)), st.lists(st.sampled_from(LOSSES), max_size=3))
def test_what_is_not_known_never_helps(fault: str, losses: list[tuple[str, str]]) -> None:
    told = all_said()
    FAULTS[fault](told)
    assert not judged(deepcopy(told))["ok"]
    for loss in losses:
        lose(told, *loss)
    assert not judged(told)["ok"]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(LOSSES))
def test_a_good_run_of_which_something_is_lost_is_not_good(loss: tuple[str, str]) -> None:
    told = all_said()
    lose(told, *loss)
    assert judged(told)["ok"] is (loss[0] == "error")
