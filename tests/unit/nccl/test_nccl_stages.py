# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each stage of the transport's proof: passed, failed with words that lead somewhere, or not run with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._nccl import memory, stages
from ansible_collections.switchless.spark.plugins.module_utils._nccl.contradictions import contradictions
from ansible_collections.switchless.spark.plugins.module_utils._nccl.library import Library
from ansible_collections.switchless.spark.plugins.module_utils._nccl.sources import Source
from ansible_collections.switchless.spark.plugins.module_utils._nccl.stages import FAILED, NOT_RUN, PASSED, Stage
from tests.unit.fabric.fabric_world import Data
from tests.unit.nccl.transport_world import LOADED, ORDER, PLAN, SETTINGS, VIEWS, link_rows, nodes

Spoil = Callable[[dict[str, Data]], object]


def function(world: dict[str, Data], host: str, cage: str, root: str) -> Data:
    found: Data = next(f for f in world[host]["functions"] if (f["cage"], f["root"]) == (cage, root))
    return found


def address(host: str, cage: str, root: str) -> str:
    return next(str(p["address"]) for p in VIEWS[host]["ports"] if (p["cage"], p["root"]) == (cage, root))


def test_all_is_well() -> None:
    world = nodes()
    tested, judged = stages.all_reduce(world, PLAN, "", 190.0)
    assert judged is not None
    assert judged["ok"]
    done = [
        stages.settings(world),
        stages.memory(world),
        stages.ports(world),
        stages.graph(world, PLAN),
        stages.neighbours(world),
        stages.loaded(world),
        tested,
        stages.arx_ring(world, ""),
    ]
    assert [(stage.name, stage.result, stage.seen, stage.reasons) for stage in done] == [
        ("settings", PASSED, "0 contradictions", ()),
        ("memory", PASSED, "CmaTotal 131072 kB", ()),
        ("ports", PASSED, "16 of 16 ports", ()),
        ("graph", PASSED, "8 channels on 4 nodes", ()),
        ("neighbour RDMA", PASSED, "16 measured, slowest 98.0 Gb/s", ()),
        ("NCCL", PASSED, "2.30.7", ()),
        ("all-reduce", PASSED, "64 MiB at 195.44 Gb/s bus bandwidth", ()),
        ("arx ring test", PASSED, "4 ranks passed", ()),
    ]


def test_settings() -> None:
    world = nodes()
    source = Source("/etc/nccl.conf", 3, "NCCL_ALGO", "Tree", "nccl_conf")
    found = contradictions([source], SETTINGS["c049"]["environment"])
    world["c049"]["transport"]["contradictions"] = [item.as_dict() for item in found]
    stage = stages.settings(world)
    assert (stage.result, stage.seen) == (FAILED, "1 contradictions")
    assert [reason[:70] for reason in stage.reasons] == [
        "c049: /etc/nccl.conf:3 sets NCCL_ALGO to 'Tree', expected 'Ring': NCCL"
    ]


def test_memory() -> None:
    world = nodes()
    shown = memory.Memory(cma_total_kb=0, cma_free_kb=940604, kernel="7.0.0-1019-nvidia")
    refusal = memory.refusal("3d38", shown)
    assert refusal is not None
    world["3d38"]["transport"] |= {"memory": shown.as_dict(), "refusal": refusal.as_dict()}
    world["c049"]["transport"]["memory"] = memory.Memory().as_dict()
    stage = stages.memory(world)
    assert (stage.result, stage.seen) == (FAILED, "CmaTotal 0 kB, 131072 kB, unknown")
    assert stage.reasons == (refusal.as_dict()["text"],)
    assert stage.reasons[0].startswith("3d38 cannot register memory")


GIDS_OF_V1 = [{"type": "IB/RoCE v1", "ipv4": address("355d", "p0", "B")}]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (None, "no RDMA device; load mlx5_ib, and see --tags cx7"),
        ({"rdma": None}, "no RDMA device; load mlx5_ib, and see --tags cx7"),
        ({"ib_state": "DOWN"}, "roceP2p1s0f0 is DOWN, expected ACTIVE; see --tags cx7"),
        ({"ib_state": None}, "roceP2p1s0f0 is in no known state, expected ACTIVE; see --tags cx7"),
        (
            {"gids": [{"type": "RoCE v2", "ipv4": "192.168.1.1"}, {"type": "RoCE v2", "ipv4": None}]},
            f"roceP2p1s0f0 has no GID for {address('355d', 'p0', 'B')}: lay the fabric again (--tags fabric)",
        ),
        (
            {"gids": GIDS_OF_V1},
            f"roceP2p1s0f0 has {address('355d', 'p0', 'B')} as IB/RoCE v1 only, expected RoCE v2",
        ),
    ],
)
def test_ports(change: Data | None, words: str) -> None:
    world = nodes()
    if change is None:
        world["355d"]["functions"].remove(function(world, "355d", "p0", "B"))
    else:
        function(world, "355d", "p0", "B").update(change)
    stage = stages.ports(world)
    assert (stage.result, stage.seen) == (FAILED, "15 of 16 ports")
    assert stage.reasons == (f"355d: cage p0 root B (cable 2): {words}",)


def test_before_the_fabric_is_laid_check_mode_cannot_see_its_addresses() -> None:
    """Only of the nodes that this run would change; what another one lacks is a failure all the same."""
    world = nodes()
    for host in ("355d", "c049"):
        world[host]["unlaid"] = True
        for item in world[host]["functions"]:
            item["gids"] = []
    stage = stages.ports(world)
    assert (stage.result, stage.seen, stage.reasons) == (NOT_RUN, "8 of 16 ports", (stages.UNLAID,))
    function(world, "3d38", "p0", "A")["ib_state"] = "DOWN"
    stage = stages.ports(world)
    assert (stage.result, stage.seen) == (FAILED, "7 of 16 ports")
    assert [reason.partition(":")[0] for reason in stage.reasons] == ["3d38"]


def test_graph() -> None:
    world = nodes()
    # Receives on what sends, in channel 0.
    text = world["355d"]["settings"]["graph"]
    one, two = '<net dev="1"/><gpu dev="0"/><net dev="0"/>', '<net dev="0"/><gpu dev="0"/><net dev="1"/>'
    world["355d"]["settings"]["graph"] = text.replace(one, two, 1)
    stage = stages.graph(world, PLAN)
    assert (stage.result, stage.seen) == (FAILED, "8 channels on 4 nodes")
    assert stage.reasons[0].startswith("355d: channel 0 receives on device 0 (rocep1s0f0, cage p0, root A, cable 2)")
    assert any(reason.startswith("channel 0: 329f sends on device 1") for reason in stage.reasons)


def test_a_switch_has_no_graph() -> None:
    world = nodes()
    for shown in world.values():
        shown["settings"]["graph"] = None
    stage = stages.graph(world, {**PLAN, "layout": "switch"})
    assert (stage.result, stage.seen) == (PASSED, "none")


def test_a_warning_about_the_graph_is_no_failure() -> None:
    world = nodes("329f")
    channel = '<channel><net dev="2"/><gpu dev="0"/><net dev="3"/></channel></graph>'
    text = world["329f"]["settings"]["graph"].replace('nchannels="8"', 'nchannels="7"')
    assert channel in text
    world["329f"]["settings"]["graph"] = text.replace(channel, "</graph>")
    assert stages.graph(world, PLAN) == Stage("graph", PASSED, "7 channels on 1 nodes", "each along the cables")


def links(rows: dict[str, list[Data]]) -> Stage:
    world = nodes(*rows)
    for host, found in rows.items():
        world[host]["link"] = found
    return stages.neighbours(world)


def test_a_cable_that_is_capped() -> None:
    rows = link_rows()
    index = next(i for i, r in enumerate(rows["c049"]) if (r["cage"], r["root"], r["direction"]) == ("p1", "B", "out"))
    rows["c049"][index] |= {"gbps": 13.2, "verdict": "throttled", "detail": "the cap after a hot-plug"}
    stage = links(rows)
    assert (stage.result, stage.seen) == (FAILED, "16 measured, slowest 13.2 Gb/s")
    assert stage.reasons == ("c049: cage p1 root B to 3d38:p0: throttled the cap after a hot-plug",)


@pytest.mark.parametrize("nothing", [None, []])
def test_link_test_that_did_not_run(nothing: list[Data] | None) -> None:
    world = nodes()
    for shown in world.values():
        shown["link"] = nothing
    stage = stages.neighbours(world)
    assert (stage.result, stage.seen) == (NOT_RUN, "")
    assert stage.reasons == ("the role link_test did not run: --tags link_test,transport",)


@pytest.mark.parametrize(
    ("rows", "seen", "reasons"),
    [
        (link_rows(unmade="a GPU is in use"), "", ("a GPU is in use",)),
        (link_rows(38.4, verbs=False), "", (stages.BY_TCP,)),
        (
            link_rows(hosts=("329f", "355d")),
            "4 measured, slowest 98.0 Gb/s",
            ("3d38 took no part in this run", "c049 took no part in this run"),
        ),
        (link_rows() | {"3d38": []}, "12 measured, slowest 98.0 Gb/s", ("3d38: not measured",)),
    ],
)
def test_what_was_not_measured_by_rdma_is_not_proved(
    rows: dict[str, list[Data]], seen: str, reasons: tuple[str, ...]
) -> None:
    stage = links(rows)
    assert (stage.result, stage.seen, stage.reasons) == (NOT_RUN, seen, reasons)


def test_one_port_by_tcp_among_others_by_rdma() -> None:
    rows = link_rows()
    rows["329f"][1] |= {"method": "tcp", "verdict": "measured", "gbps": 30.0}
    assert rows["329f"][1]["direction"] == "out"
    stage = links(rows)
    assert (stage.result, stage.seen, stage.reasons) == (NOT_RUN, "15 measured, slowest 98.0 Gb/s", (stages.BY_TCP,))


def test_a_fault_counts_whatever_measures() -> None:
    rows = link_rows(38.4, verbs=False)
    rows["329f"][1] |= {"verdict": "fault", "gbps": None, "detail": "enp1s0f0np0 of 329f has no link"}
    stage = links(rows)
    assert (stage.result, stage.reasons) == (
        FAILED,
        ("329f: cage p0 root A to 3d38:p1: fault enp1s0f0np0 of 329f has no link",),
    )


OLD = LOADED.as_dict() | {"version": "2.28.9"}
BARE = Library(LOADED.python, detail="ModuleNotFoundError: No module named 'torch'").as_dict()
MUTE = Library(LOADED.python).as_dict()
DIFFERENT = "the library is not the same file on all nodes"


@pytest.mark.parametrize(
    ("host", "said", "seen", "reasons"),
    [
        ("c049", None, "2.30.7", ("c049: no such interpreter, or transport_python is not set there",)),
        ("c049", BARE, "2.30.7", (f"c049: {BARE['detail']}", DIFFERENT)),
        ("c049", MUTE, "2.30.7", ("c049: NCCL is not loaded", DIFFERENT)),
        ("c049", OLD, "2.28.9, 2.30.7", ("c049: 2.28.9 from /opt/vllm/lib/libnccl.so.2",)),
        ("c049", LOADED.as_dict() | {"sha256": "cd" * 32}, "2.30.7", (DIFFERENT,)),
    ],
)
def test_nccl(host: str, said: Data | None, seen: str, reasons: tuple[str, ...]) -> None:
    world = nodes()
    world[host]["transport"]["nccl"] = said
    stage = stages.loaded(world)
    assert (stage.result, stage.seen, stage.reasons) == (FAILED, seen, reasons)
    assert stage.expected == "2.30.7 or newer, the same everywhere"


def test_no_serving_environment() -> None:
    world = nodes()
    for shown in world.values():
        shown["transport"]["nccl"] = None
    assert stages.loaded(world).reasons == ("no serving environment: transport_python names no interpreter",)
    assert stages.loaded(world).result == NOT_RUN


UNREGISTERED = (
    "spark:1:1 [0] transport/net_ib/reg.cc:81 NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory\n"
)


def test_the_log_says_why_the_all_reduce_failed() -> None:
    world = nodes()
    world["c049"]["rank"] |= {"told": None, "exit_status": 137, "log": UNREGISTERED}
    stage, judged = stages.all_reduce(world, PLAN, "", None)
    assert judged is not None
    assert not judged["ok"]
    assert stage.result == FAILED
    assert stage.reasons[0].startswith("c049: the kernel refuses to register memory with the NIC")
    assert "kho=off" in stage.reasons[0]
    assert stage.reasons[1].startswith("c049: its rank gave no result; expected a result.")
    assert stage.reasons[2] == "c049: its program ended with 137 and said: nothing"


def test_a_rank_that_died_without_a_result_is_quoted() -> None:
    world = nodes()
    world["c049"]["rank"] |= {"told": None, "exit_status": 139, "stderr": "warming up\nSegmentation fault\n"}
    stage, _judged = stages.all_reduce(world, PLAN, "", None)
    assert stage.reasons[-1] == "c049: its program ended with 139 and said: warming up; Segmentation fault"


@pytest.mark.parametrize("dump", ['<graphs version="1"><graph id="0"', "<!-- -->"])
def test_half_a_dump_is_not_held_against_a_rank(dump: str) -> None:
    world = nodes()
    world["c049"]["rank"] |= {"graph": dump}
    stage, _judged = stages.all_reduce(world, PLAN, "", None)
    assert stage.result == PASSED


def test_nccl_that_did_otherwise_than_told_fails_though_all_elements_are_right() -> None:
    world = nodes()
    world["c049"]["rank"] |= {"log": "vm:1:1 [0] NCCL INFO NET/IB : Using [0]rocep1s0f1:1/RoCE [1]rocep1s0f0:1/RoCE\n"}
    stage, judged = stages.all_reduce(world, PLAN, "", None)
    assert judged is not None
    assert judged["ok"]
    assert stage.result == FAILED
    assert stage.reasons[-1].startswith("c049: NCCL uses [0]rocep1s0f1 [1]rocep1s0f0, expected [0]rocep1s0f0")


def test_no_rank_spoke() -> None:
    world = nodes()
    for shown in world.values():
        shown["rank"] = None
    stage, judged = stages.all_reduce(world, PLAN, "", None)
    assert judged is not None
    assert (stage.result, stage.seen, len(stage.reasons)) == (FAILED, "no figure", 4)
    assert judged["rows"] == []


@pytest.mark.parametrize("reason", ["nothing is run in check mode", "the GPU is in use on 329f (vllm)"])
def test_what_was_not_run_has_its_reason(reason: str) -> None:
    world = nodes()
    for shown in world.values():
        shown["rank"] = shown["arx"] = None
    stage, judged = stages.all_reduce(world, PLAN, reason, 190.0)
    assert (stage.result, stage.seen, stage.reasons, judged) == (NOT_RUN, "", (reason,), None)
    stage = stages.arx_ring(world, reason)
    assert (stage.result, stage.seen, stage.reasons) == (NOT_RUN, "", (reason,))


def test_arx() -> None:
    world = nodes()
    world["355d"]["arx"] = None
    world["3d38"]["arx"] = {"rc": 1, "stdout": "RESULT ring: FAIL 3 of 480\n"}
    stage = stages.arx_ring(world, "")
    assert (stage.result, stage.seen) == (FAILED, "2 ranks passed")
    assert stage.reasons == ("355d: gave no result", "3d38: RESULT ring: FAIL 3 of 480 (exit status 1)")


@pytest.mark.parametrize("hosts", [ORDER[:1], ORDER[1:3]])
def test_with_a_limit_what_needs_one_node_is_proved(hosts: list[str]) -> None:
    world: dict[str, Any] = nodes(*hosts)
    done = [stages.settings(world), stages.memory(world), stages.ports(world), stages.graph(world, PLAN)]
    assert [stage.result for stage in (*done, stages.loaded(world))] == [PASSED] * 5
    assert done[2].seen == f"{4 * len(hosts)} of {4 * len(hosts)} ports"
