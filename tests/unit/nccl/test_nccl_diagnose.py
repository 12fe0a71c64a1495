# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From logs to the first real error, its cause and its cure. Lines of runs that were well say nothing."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.filter.nccl_diagnosis import FilterModule
from ansible_collections.switchless.spark.plugins.module_utils._nccl.diagnose import diagnose
from ansible_collections.switchless.spark.plugins.module_utils._nccl.places import Places
from tests.unit.fabric.fabric_world import plan_of
from tests.unit.nccl.nccl_case import HEALTHY, QP, WARN, Case
from tests.unit.nccl.nccl_cases import CASES

WRITTEN = Path(__file__).parent / "written"
ARTICLE = [
    {"ends": ["329f:p1", "355d:p1"]},
    {"ends": ["355d:p0", "c049:p0"]},
    {"ends": ["c049:p1", "3d38:p0"]},
    {"ends": ["3d38:p1", "329f:p0"]},
]
SWITCH = {"host": "switch", "cage": ""}
KEYS = {"code", "cause", "cure", "check", "rank", "host", "line", "number", "cable", "root"}


@pytest.fixture(scope="module")
def plan() -> Any:
    return plan_of(ARTICLE, ["329f", "355d", "c049", "3d38"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases(case: Case) -> None:
    found = diagnose(case.logs)
    if case.code is None:
        assert found == []
        return
    first = found[0]
    assert (first["code"], first["rank"]) == (case.code, case.rank)
    assert set(first) == KEYS
    assert case.line in (first["line"] or "")
    said = " ".join((first["cause"], first["cure"], first["check"]))
    assert [words for words in case.says if words not in said] == []
    assert "{" not in said


GOES_ON = ("    ", "on dev", "local", "remote")


@pytest.mark.parametrize("case", [case for case in CASES if "NV_ERR" not in str(case.logs)], ids=lambda case: case.name)
@pytest.mark.parametrize("seed", range(3))
def test_lines_of_a_healthy_run_change_nothing(case: Case, seed: int) -> None:
    """The same verdict, and the same line, with the lines of a run that was well in between."""
    shuffle = random.Random(seed)  # noqa: S311
    noisy = {}
    for rank, text in case.logs.items():
        lines = text.splitlines()
        for noise in HEALTHY:
            places = [at for at in range(len(lines) + 1) if not "".join(lines[at : at + 1]).startswith(GOES_ON)]
            lines.insert(shuffle.choice(places), noise)
        noisy[rank] = "\n".join(lines)
    before, after = diagnose(case.logs), diagnose(noisy)
    assert [(one["code"], one["rank"], one["line"]) for one in after] == [
        (one["code"], one["rank"], one["line"]) for one in before
    ]


@given(st.randoms(use_true_random=False), st.sampled_from(["sockets", "rdma"]))
@settings(max_examples=40)
def test_a_healthy_run_has_no_finding_in_any_order(shuffle: random.Random, name: str) -> None:
    lines = [*(WRITTEN / f"{name}.log").read_text().splitlines(), *HEALTHY]
    shuffle.shuffle(lines)
    assert diagnose({0: "\n".join(lines)}) == []


FRAGMENTS = st.sampled_from([line for case in CASES for text in case.logs.values() for line in text.splitlines()])


@given(
    st.dictionaries(
        st.one_of(st.integers(-1, 5), st.text(max_size=4)),
        st.one_of(
            st.text(max_size=200), st.lists(st.one_of(FRAGMENTS, st.text(max_size=40)), max_size=8).map("\n".join)
        ),
        max_size=4,
    )
)
def test_any_text_can_be_judged(logs: dict[int | str, str]) -> None:
    for found in diagnose(logs):
        assert set(found) == KEYS
        assert found["cause"]
        assert found["line"] is None or len(found["line"]) <= 400


@pytest.mark.parametrize("logs", [None, [], "", {0: None}, {0: 5}, {}])
def test_nothing_to_judge(logs: object) -> None:
    assert diagnose(logs) == []


def modify(local: str, remote: str, device: str = "rocep1s0f0") -> str:
    return (
        f"{WARN} {QP} 110 Connection timed out, on dev {device}:1, curr state INIT, next state RTR, local GID index 3, "
        f"local GID ::ffff:{local}, remote GID ::ffff:{remote}"
    )


def test_an_address_is_a_cable_of_the_plan(plan: Any) -> None:
    subnets = plan["cables"][1]["subnets"]
    net = subnets["B"].removesuffix("0/24")
    (found,) = diagnose({2: modify(f"{net}2", f"{net}1")}, plan)
    assert (found["code"], found["rank"], found["host"]) == ("cable", 2, "c049")
    assert (found["cable"], found["root"]) == ("355d:p0 - c049:p0", "B")
    assert f"{net}2 (c049:p0 on cable 355d:p0 - c049:p0, root B)" in found["cause"]


def test_two_ports_that_no_cable_joins(plan: Any) -> None:
    one, other = (plan["cables"][n]["subnets"]["A"].removesuffix("0/24") for n in (0, 2))
    (found,) = diagnose({0: modify(f"{one}1", f"{other}1")}, plan)
    assert (found["code"], found["cable"], found["root"]) == ("no_cable", "329f:p1 - 355d:p1", "A")
    assert "329f:p1 on cable" in found["cause"]
    assert "c049:p1 on cable" in found["cause"]


def test_the_prefix_is_the_plans(plan: Any) -> None:
    """Two addresses of one /24 are on two cables where the plan has longer prefixes, and the other way round."""
    wide = {"prefix_length": 16, "cables": [{"name": "a:p0 - b:p0", "ends": [], "subnets": {"A": "10.0.0.0/16"}}]}
    assert diagnose({0: modify("192.168.1.1", "192.168.2.1")}, wide)[0]["code"] == "cable"
    assert diagnose({0: modify("192.168.1.1", "192.168.2.1")})[0]["code"] == "no_cable"
    assert diagnose({0: modify("192.168.1.1", "192.168.1.2")}, plan | {"prefix_length": 30})[0]["code"] == "cable"


def test_tcp_over_the_fabric_names_its_cable(plan: Any) -> None:
    address = plan["cables"][3]["subnets"]["A"].replace(".0/24", ".1")
    (found,) = diagnose({"329f": f"{WARN} x: connect to {address}<4> failed : No route to host"}, plan)
    assert (found["code"], found["rank"], found["host"]) == ("fabric_unreachable", 0, "329f")
    assert (found["cable"], found["root"]) == ("3d38:p1 - 329f:p0", "A")
    assert "3d38:p1 on cable" in found["cause"]


def test_a_port_that_nccl_leaves_out_is_a_cable(plan: Any) -> None:
    """Cable 2 is out: at both ends NCCL has two devices of four, and hangs or fails somehow."""
    logs = {}
    for host, cages in (("355d", ("p1", "p0")), ("c049", ("p1", "p0"))):
        mine = {f"{host}:p1": 0 if host == "355d" else 2}
        subnets = plan["cables"][mine[f"{host}:p1"]]["subnets"]
        own = 2 if host == "355d" else 1
        has = [subnets[root].replace(".0/24", f".{own}") for root in ("A", "B")]
        names = ",".join(f"n{cage}{root}" for cage in cages for root in "AB")
        logs[host] = (
            f"a:1:2 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to ={names}\n"
            f"a:1:2 [0] NCCL INFO NET/Socket : Using [0]np1A:{has[0]}<0> [1]np1B:{has[1]}<0>\n"
            "a:1:2 [0] NCCL INFO Using network Socket\n"
        )
    found = diagnose(logs, plan)
    assert [(one["code"], one["host"], one["cable"], one["root"]) for one in found] == [
        ("port_missing", "355d", "355d:p0 - c049:p0", "A"),
        ("port_missing", "c049", "355d:p0 - c049:p0", "A"),
    ]
    assert "np0A, np0B" in found[0]["cause"]
    assert "root B" in found[0]["cause"]


def test_a_connection_that_closes_names_its_cable(plan: Any) -> None:
    address = plan["cables"][0]["subnets"]["B"].replace(".0/24", ".2")
    (found,) = diagnose({0: f"{WARN} socketProgress: Connection closed by remote peer {address}<41109>"}, plan)
    assert (found["code"], found["cable"], found["root"]) == ("peer_gone", "329f:p1 - 355d:p1", "B")


def test_a_rank_that_initialised_and_then_stalls(plan: Any) -> None:
    """With lazy connection the initialisation is complete before anything is connected."""
    address = plan["cables"][0]["subnets"]["A"].replace(".0/24", ".2")
    again = f"a:1:2 [0] NCCL INFO x: connect to {address}<4> returned No route to host, retrying (1/34) after sleep\n"
    done = "a:1:2 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 4 cudaDev 0 - Init COMPLETE\n"
    (found,) = diagnose({0: done + again * 5}, plan)
    assert (found["code"], found["cable"]) == ("fabric_unreachable", "329f:p1 - 355d:p1")
    assert diagnose({0: done + again * 4}, plan) == []
    assert diagnose({0: done + again * 5 + "a:1:2 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR 0"}, plan) == []


def test_ranks_that_failed_by_themselves_come_in_the_order_of_failure() -> None:
    logs = {
        0: f"Nov 30 18:00:09 a x[1]: {WARN} Call to ibv_open_device failed",
        1: f"Nov 30 18:00:05 b x[1]: {WARN} XML Graph has wrong version 2, 1 needed",
        2: "Nov 30 18:00:01 c x[1]: Connection reset by peer",
    }
    assert [found["rank"] for found in diagnose(logs)] == [1, 0]
    undated = {rank: text[16:] for rank, text in logs.items()}
    assert [found["rank"] for found in diagnose(undated)] == [0, 1]
    half = logs | {1: f"2026-11-30T18:00:01Z {WARN} XML Graph has wrong version 2, 1 needed"}
    assert [found["rank"] for found in diagnose(half)] == [0, 1]


def test_places(plan: Any) -> None:
    places = Places(plan)
    net = plan["cables"][0]["subnets"]["A"].removesuffix("0/24")
    assert str(places.find(f"{net}1")) == "329f:p1 on cable 329f:p1 - 355d:p1, root A"
    place = places.find(f"::ffff:{net}9")
    assert place is not None
    assert (place.port, str(place)) == (None, "no end on cable 329f:p1 - 355d:p1, root A")
    assert places.find("10.1.1.1") is None
    assert places.find("fe80::1") is None
    assert Places(None).find(f"{net}1") is None


def test_places_behind_a_switch() -> None:
    """One subnet for all cables of a cage and root; the host number is the rank and 1."""
    subnets = {"A": "10.0.0.0/24", "B": "10.0.1.0/24"}
    plan = {
        "layout": "switch",
        "order": ["b", "a"],
        "cables": [
            {"name": f"{host}:p0 - switch", "ends": [{"host": host, "cage": "p0"}, SWITCH], "subnets": subnets}
            for host in ("a", "b")
        ],
    }
    places = Places(plan)
    assert str(places.find("10.0.0.1")) == "b:p0 on cable b:p0 - switch, root A"
    assert str(places.find("10.0.1.2")) == "a:p0 on cable a:p0 - switch, root B"
    (found,) = diagnose({"a": modify("10.0.0.2", "10.0.0.1")}, plan)
    assert (found["code"], found["rank"], found["cable"]) == ("cable", 1, "a:p0 - switch")
    assert diagnose({"a": modify("10.0.0.2", "10.0.1.1")}, plan)[0]["code"] == "no_cable"


def test_the_filter_is_the_function(plan: Any) -> None:
    judge = FilterModule().filters()["nccl_diagnosis"]
    assert judge({"0": CASES[0].logs[0]}, plan) == diagnose({"0": CASES[0].logs[0]}, plan)
    assert judge({}) == []
