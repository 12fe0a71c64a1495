# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which rank was first: by the journals' time, one start of a unit apart from the other, clocks that differ, ends."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.filter.vllm_diagnosis import FilterModule
from ansible_collections.switchless.spark.plugins.module_utils._serving.diagnose import diagnose
from tests.unit.serving.serving_world import T0, journal, line, recorded, said

KV = (
    "(EngineCore pid=316) ValueError: To serve at least one request with the model's max seq len (100000), (4.26 GiB "
    "KV cache is needed, which is larger than the available KV cache memory (4.25 GiB)."
)
PORT = "zmq.error.ZMQError: Address already in use (addr='tcp://192.168.100.58:40043')"
LOST = "RuntimeError: [/gloo/transport/tcp/pair.cc:547] Connection closed by peer [192.168.100.2]:22963"
DEAD = "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above)"
ODD = "(Worker_TP2 pid=7) ERROR 11-30 10:00:00 [multiproc_executor.py:1018] RuntimeError: the flux capacitor is empty"
SHM = (
    "(EngineCore pid=397) INFO 09-02 11:57:54 [shm_broadcast.py:801] No available shared memory broadcast block found "
    "in 60 seconds."
)
MET = "(Worker pid=1) INFO 11-30 22:35:24 [parallel_state.py:1977] rank {} in world size 2 is assigned as DP rank 0"
REG = "spark-a:5:7 [0] misc/ibvwrap.cc:217 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory"
FREE = (
    "ValueError: Free memory on device cuda:0 (60.1/121.7 GiB) on startup is less than desired GPU memory utilization "
    "(0.88, 107.1 GiB)."
)
CALM = "(APIServer pid=1) INFO 09-14 08:11:40 [model.py:645] Resolved architecture: LlamaForCausalLM"
KEYS = {
    *("verdict", "certain", "summary", "rank", "printed_by", "ranks", "code", "cause", "cure", "check", "choices"),
    *("line", "time", "began", "invocation", "also", "secondary", "last", "missing", "doubts", "clocks"),
}


def systemd(text: str, at: float, **more: Any) -> dict[str, Any]:
    return line(text, at, source="systemd", priority=5, pid=1, **more)


def verdict(journals: dict[Any, Any], **more: Any) -> tuple[Any, ...]:
    answer = diagnose(journals, **more)
    return answer["verdict"], answer["rank"], answer["code"], answer["certain"]


def test_the_filter_gives_all_keys() -> None:
    answer: Any = FilterModule().filters()["vllm_diagnosis"]({"0": said(KV)}, None, 1)
    assert set(answer) == KEYS
    assert (answer["verdict"], answer["rank"], answer["certain"]) == ("found", 0, True)
    assert answer["time"] == answer["began"] == T0


def test_an_environment_that_was_installed_by_half() -> None:
    """Recorded on two nodes of the lab, whose pip was killed."""
    lines = ("    import numpy as np", "ModuleNotFoundError: No module named 'numpy'")
    answer = diagnose({0: said(*lines), 1: said(*lines)}, None, 2)
    assert (answer["verdict"], answer["code"]) == ("found", "package_missing")
    assert "lacks the package numpy" in answer["cause"]


def test_what_the_keeper_ends_did_not_die_by_itself() -> None:
    """Recorded in the lab: the head waited too long for a token, and told the other rank to end."""
    why = "rank keeper: ending: boot_limit: rank 0 (spark1): no token 300 s after the start; not gone yet: rank 1"
    ended = [line(CALM, 0), line(why, 1), systemd("vllm@lab.service: Deactivated successfully.", 2)]
    answer = diagnose({0: journal(ended), 1: journal(ended)}, None, 2)
    assert answer["verdict"] == "nothing"
    found = diagnose({0: journal(ended), 1: journal([line(KV, 0.5), *ended])}, None, 2)
    assert (found["verdict"], found["rank"], found["code"]) == ("found", 1, diagnose({1: said(KV)})["code"])


@pytest.mark.parametrize("nothing", [None, {}, {"lines": []}, "text", 3])
def test_ranks_without_a_journal(nothing: object) -> None:
    answer = diagnose({0: said(CALM), 3: nothing})
    assert (answer["verdict"], answer["rank"], answer["missing"]) == ("no_journal", 1, [1, 2, 3])
    assert answer["summary"] == "no journal from rank 1, 2, 3"
    assert diagnose({0: nothing}, expected=[0])["summary"] == "no journal from rank 0"


def test_a_real_error_beats_the_aftermath_whatever_came_first() -> None:
    """Aftermath that is older than the error casts a doubt on it; it is never the answer."""
    assert verdict({0: said(LOST, DEAD, start=1.0), 1: said(PORT, start=0.5)}) == ("found", 1, "port_in_use", True)
    assert verdict({0: said(LOST, DEAD), 1: said(PORT, start=30.0)}) == ("found", 1, "port_in_use", False)
    assert verdict({0: said(LOST, DEAD), 1: said(CALM)}) == ("secondary", 1, "peer_gone", False)


def test_the_first_of_two_errors() -> None:
    assert verdict({0: said(KV, start=10.0), 1: said(PORT, start=0.0)})[:3] == ("found", 1, "port_in_use")
    assert verdict({0: said(KV, start=0.0), 1: said(PORT, start=10.0)})[:3] == ("found", 0, "kv_too_small")
    answer = diagnose({0: said(KV, start=10.0), 1: said(PORT, start=0.0)})
    assert [one["code"] for one in answer["also"]] == ["kv_too_small"]


def test_all_ranks_with_one_error() -> None:
    answer = diagnose({rank: said(CALM, KV, start=0.1 * rank) for rank in (2, 0, 3, 1)})
    assert (answer["rank"], answer["ranks"], answer["certain"], answer["also"]) == (0, [0, 1, 2, 3], True, [])


def test_different_errors_at_one_time_are_not_certain() -> None:
    answer = diagnose({0: said(KV, start=0.5), 1: said(PORT, start=0.0)})
    assert (answer["code"], answer["certain"]) == ("port_in_use", False)
    assert answer["doubts"] == ["ranks had different errors at one time"]


def test_an_error_that_nobody_knows() -> None:
    answer = diagnose({0: said(LOST, start=3.0), 1: said(CALM), 2: said(ODD)})
    assert (answer["verdict"], answer["rank"], answer["cause"]) == ("unknown", 2, "")
    assert "flux capacitor" in answer["summary"]
    # Known beats unknown on one rank; hours before the end it is somebody's request.
    assert verdict({0: said(ODD, KV)})[:3] == ("found", 0, "kv_too_small")
    assert verdict({0: said(ODD), 1: said(LOST, start=9000.0)})[0] == "secondary"


@given(st.floats(-7200, 7200))
def test_clocks_that_differ(skew: float) -> None:
    """Both ranks left the rendezvous at one moment, whatever their clocks say."""
    first = journal([line(MET.format(0), 0.0), line(LOST, 61.0), line(DEAD, 61.5)])
    second = journal([line(MET.format(1), skew + 0.002), line(PORT, skew + 60.0)])
    answer = diagnose({0: first, 1: second})
    assert (answer["verdict"], answer["rank"], answer["certain"]) == ("found", 1, True)
    late = diagnose({0: journal([line(MET.format(0), 0.0), line(KV, 50.0)]), 1: second})
    assert (late["rank"], late["code"]) == (0, "kv_too_small")
    assert set(late["clocks"]) == ({"1"} if abs(skew + 0.002) > 2.0 else set())


def test_a_clock_that_was_set_meanwhile() -> None:
    """Within a node the monotonic clock orders, between nodes what the node's clock said last."""
    stepped = journal(
        [line(KV, -3600.0, monotonic=10.0), line(DEAD, 5.0, monotonic=15.0), line(CALM, 6.0, monotonic=16.0)]
    )
    answer = diagnose({0: stepped, 1: said(LOST, start=1.0)})
    assert (answer["rank"], answer["code"], answer["time"]) == (0, "kv_too_small", T0)


def test_lines_that_came_newest_first() -> None:
    lines = [line(text, float(at)) for at, text in enumerate((CALM, KV, DEAD))]
    answers = [diagnose({0: journal(order)}) for order in (lines, lines[::-1])]
    assert answers[0] == answers[1]
    assert answers[0]["code"] == "kv_too_small"


def test_starts_of_a_unit_are_not_merged() -> None:
    """The first start had the cause; the restart, an hour later, had another one. Other lines do not mix."""
    a, b = "1" * 32, "2" * 32
    gid = (
        "NCCL WARN Call to ibv_modify_qp failed with 61 No data available, on dev rocep1s0f0:1, curr state INIT, next "
        "state RTR, local GID index 3, local GID ::, remote GID ::"
    )
    both = journal([line(gid, 0.0, invocation=a), line(KV, 3600.0, invocation=b), line(PORT, 3601.0, invocation=b)])
    answer = diagnose({0: both, 1: said(CALM)})
    assert (answer["code"], answer["invocation"]) == ("no_gid", a)
    assert [(one["code"]) for one in answer["also"]] == ["kv_too_small"]


def test_a_journal_that_begins_late() -> None:
    answer = diagnose({0: said(KV, start=100.0) | {"unit": {"started": T0, "invocation": "a" * 32}}})
    assert (answer["code"], answer["certain"]) == ("kv_too_small", False)
    assert answer["doubts"] == ["the journal of rank 0 begins 100 s after its start"]


def test_what_follows_a_stop_is_no_failure() -> None:
    stopped = journal([line(CALM, 0.0), systemd("Stopping vllm@x.service - vLLM...", 5.0), line(KV, 6.0)])
    assert verdict({0: stopped}) == ("nothing", None, None, False)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("vllm@x.service: Main process exited, code=killed, status=9/KILL", "unit_killed"),
        ("vllm@x.service: Main process exited, code=dumped, status=6/ABRT", "unit_killed"),
        ("vllm@x.service: Main process exited, code=exited, status=1/FAILURE", "unit_exited"),
        ("vllm@x.service: Deactivated successfully.", "unit_exited"),
    ],
)
def test_an_end_without_a_word(text: str, code: str) -> None:
    silent = journal([line(CALM, 0.0), systemd(text, 5.0)])
    assert verdict({0: said(LOST, start=6.0), 1: silent}) == ("died", 1, code, False)
    assert verdict({0: said(KV, start=0.0), 1: silent})[:3] == ("found", 0, "kv_too_small")
    assert verdict({1: journal([*silent["lines"], line(PORT, 4.0)]), 0: said(LOST)})[:3] == ("found", 1, "port_in_use")


def test_the_kernel_killed_it() -> None:
    killed = journal(
        [
            line(CALM, 0.0),
            line("Out of memory: Killed process 99 (VLLM::Worker_TP) total", 4.0, source="kernel", invocation=""),
            line("ERROR 11-30 22:35:44 [multiproc_executor.py:295] Worker proc VllmWorker-1 died unexpectedly", 4.1),
        ]
    )
    assert verdict({0: said(LOST, start=5.0), 1: killed}) == ("found", 1, "host_out_of_memory", True)


def test_a_node_that_lost_its_power() -> None:
    """Its journal ends without a stop, and another boot runs there now. While it is down there is none."""
    gone = said(CALM) | {"host": {"boot": "c" * 32}}
    assert verdict({0: said(LOST, start=2.0), 1: gone}) == ("died", 1, "node_restarted", False)
    same = said(CALM) | {"host": {"boot": "b" * 32}}
    assert verdict({0: said(LOST, start=2.0), 1: same})[0] == "secondary"
    assert verdict({0: said(LOST, start=2.0), 1: None}) == ("no_journal", 1, "peer_gone", False)


def test_a_hang_begins_before_it_is_noticed() -> None:
    """Lines a minute apart, then the time-out: the worker was silent since a minute before the first of them."""
    waits = [line(SHM, 60.0 * minute) for minute in range(1, 6)]
    timeout = line("TimeoutError: RPC call to sample_tokens timed out.", 301.0)
    answer = diagnose({0: journal([*waits, timeout, line(DEAD, 302.0)]), 1: said(CALM, start=-5.0)})
    assert (answer["verdict"], answer["rank"], answer["code"]) == ("secondary", 1, "step_timeout")
    assert answer["began"] == T0
    assert "rank 1 alone noticed nothing" in answer["summary"]
    hang = diagnose({0: journal(waits), 1: said(CALM)})
    assert (hang["verdict"], hang["rank"], hang["began"], hang["line"]) == ("hang", 1, T0, None)
    assert diagnose({0: journal(waits[:2]), 1: said(CALM)})["verdict"] == "nothing"


def test_who_cannot_reach_another_is_not_the_one_that_failed() -> None:
    reach = (
        "[E616 02:08:15 socket.cpp:1023] [c10d] The client socket has timed out after 600000ms while trying to "
        "connect to (192.168.100.1, 29501)."
    )
    bad = "vllm: error: unrecognized arguments: --gdn-decode-kernel b12x"
    assert verdict({0: said(bad, start=20.0), 1: said(reach, start=605.0)}) == ("found", 0, "bad_flag", True)
    alone = diagnose({0: said(CALM), 1: said(reach, start=605.0)})
    assert (alone["code"], alone["certain"], alone["began"]) == ("control_unreachable", False, T0 + 5.0)


@pytest.mark.parametrize(
    ("text", "host", "code"),
    [
        (REG, {}, "register_memory"),
        (REG, {"cma_total_kb": 0, "memlock": "infinity"}, "kernel_cma"),
        (REG, {"cma_total_kb": 131072, "memlock": "8388608"}, "memlock"),
        (REG, {"cma_total_kb": 131072, "memlock": "infinity"}, "register_memory"),
        (FREE, {}, "no_free_memory"),
        (FREE, {"mem_free_kb": 9_000_000, "mem_available_kb": 118_000_000}, "page_cache"),
        (FREE, {"mem_free_kb": 60_000_000, "mem_available_kb": 62_000_000}, "other_server"),
        ("RuntimeError: CUDA unknown error", {}, "cuda_init"),
    ],
)
def test_one_text_and_the_facts_that_decide(text: str, host: dict[str, Any], code: str) -> None:
    answer = diagnose({0: said(text) | {"host": host}})
    assert answer["code"] == code
    undecided = code in {"register_memory", "no_free_memory", "cuda_init"}
    assert (answer["verdict"] == "undecided", len(answer["choices"]) > 1, answer["certain"]) == (
        (True, True, False) if undecided else (False, False, True)
    )
    assert answer["check"]


def test_settings_that_cannot_be_right_when_no_line_is_an_error() -> None:
    leftovers = "spark-a:1:1 [0] NCCL INFO NCCL_IB_USE_INLINE set by environment to 1."
    assert verdict({0: said(leftovers)})[:3] == ("found", 0, "leftovers")


def test_a_real_server_that_is_well() -> None:
    """Both ranks up to the first token: not one of the warnings of a healthy boot is taken for an error."""
    journals = {rank: recorded(f"worker_killed.rank{rank}.tsv") for rank in (0, 1)}
    for one in journals.values():
        one["lines"] = [each for each in one["lines"] if each["time"] < T0 + 220.0]
    answer = diagnose(journals)
    assert (answer["verdict"], answer["secondary"], answer["missing"]) == ("nothing", [], [])
    assert answer["clocks"] == {}


@pytest.mark.parametrize(
    ("name", "expected", "quote"),
    [
        # kill -9 of rank 1's worker after a token, a shard of rank 1 cut in half, no model on rank 1.
        ("worker_killed", ("died", 1, "worker_died", False), "Worker proc VllmWorker-1 died unexpectedly"),
        ("truncated", ("found", 1, "shard_truncated", True), "incomplete metadata, file not fully covered"),
        ("no_model", ("found", 1, "no_model", True), "'/srv/nowhere'"),
    ],
)
def test_a_real_server(name: str, expected: tuple[Any, ...], quote: str) -> None:
    """vLLM 0.27.1 on CPU, two ranks. Rank 0 says more of it, and never what it was."""
    journals = {rank: recorded(f"{name}.rank{rank}.tsv") for rank in (0, 1)}
    answer = diagnose(journals)
    assert verdict(journals) == expected
    assert quote in answer["line"]
    assert answer["also"] == []
    assert verdict({0: journals[0], 1: None})[::3] == ("no_journal", False)
    assert verdict({0: journals[0], 1: said(CALM)})[0] in {"secondary", "nothing"}
