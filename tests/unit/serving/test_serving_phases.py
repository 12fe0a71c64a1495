# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a boot is and how long its parts took, on GPU as in the article and on CPU as recorded."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.filter.vllm_phases import FilterModule
from ansible_collections.switchless.spark.plugins.module_utils._serving.phases import PHASES, phases
from tests.unit.serving.serving_world import INVOCATION, T0, journal, line, recorded, said

HEAD = "(APIServer pid=1) INFO 10-10 12:00:00 [api_server.py:1] vLLM API server version 0.27.1"
MET = "(Worker pid=9) INFO 10-10 12:00:40 [parallel_state.py:1977] rank 0 in world size 4 is assigned as DP rank 0"
LOADING = "(Worker_TP0 pid=9) INFO 10-10 12:00:41 [gpu_model_runner.py:5309] Starting to load model /models/glm..."
WROTE = (
    "(Worker_TP0 pid=9) INFO 10-10 12:08:00 [weight_snapshot.py:1] Weight snapshot: wrote 2291 tensors (+17 views), "
    "{} GiB to /snapshots/v2-{} in {} s"
)
RESTORED = (
    "(Worker_TP0 pid=9) INFO 10-10 12:02:00 [weight_snapshot.py:1] Weight snapshot: restored 2291 tensors (+17 views, "
    "0 copied), 0 recreated caches, 45.3 GiB from /snapshots/v2-target in 30.5 s"
)
LOADED = (
    "(Worker_TP0 pid=9) INFO 10-10 12:08:02 [gpu_model_runner.py:5406] Model loading took 45.31 GiB memory and "
    "{} seconds"
)
BAR = "(Worker_TP0 pid=9) Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):   0%|          | 0/51"
CAPTURED = "(Worker_TP0 pid=9) INFO 10-10 [gpu_model_runner.py:6914] Graph capturing finished in 69 secs, took 1.23 GiB"
ENGINE = (
    "(EngineCore pid=5) INFO 10-10 [core.py:355] init engine (profile, create kv cache, warmup model) took 210.10 s "
    "(compilation: 60.00 s)"
)
SERVER = "(APIServer pid=1) INFO 10-10 [api_server.py:682] Starting vLLM server on http://192.0.2.7:8000"
READY = "(APIServer pid=1) INFO:     Application startup complete."
FIRST_BOOT = [
    line(HEAD, 0.0),
    line(MET, 40.0),
    line(LOADING, 41.0),
    line(WROTE.format("44.0", "target", "97.5"), 478.0),
    line(WROTE.format("1.3", "draft", "2.0"), 481.0),
    line(LOADED.format("441.500000"), 482.5),
    line(BAR, 620.0),
    line(CAPTURED, 689.0),
    line(ENGINE, 692.6),
    line(SERVER, 715.0),
    line(READY, 717.0),
]


def seconds(answer: dict[str, Any]) -> dict[str, float | None]:
    return {one["phase"]: one["seconds"] for one in answer["phases"]}


def test_the_first_boot_of_the_article() -> None:
    """717 s, of which 342 for the load, 99.5 for the snapshot and 69 for the capture."""
    answer: Any = FilterModule().filters()["vllm_phases"](journal(FIRST_BOOT))
    assert (answer["state"], answer["boot"], answer["start"]) == ("serving", "first", T0)
    assert seconds(answer) == {"rendezvous": 40.0, "load": 342.0, "snapshot": 99.5, "capture": 69.0, "api": 2.0}
    assert (answer["total_seconds"], answer["other_seconds"]) == (717.0, 164.5)
    assert answer["current"] == {
        "phase": None,
        "since": None,
        "seconds": None,
        "silent_seconds": 0.0,
        "overdue": False,
    }
    assert tuple(one["phase"] for one in answer["phases"]) == PHASES


def test_a_later_boot() -> None:
    lines = [
        line(HEAD, 0.0),
        line(MET, 30.0),
        line(LOADING, 31.0),
        line(RESTORED, 71.5),
        line(LOADED.format("42.0"), 73.0),
    ]
    answer = phases(journal(lines))
    assert (answer["boot"], seconds(answer)["snapshot"], seconds(answer)["load"]) == ("later", 30.5, 11.5)


@pytest.mark.parametrize(
    ("count", "phase", "since"),
    [
        (1, "rendezvous", 0.0),
        (2, "load", 40.0),
        (3, "load", 41.0),
        (5, "load", 41.0),
        (6, "capture", 482.5),
        (7, "capture", 620.0),
        (8, "api", 689.0),
        (9, "api", 692.6),
        (10, "api", 715.0),
        (11, None, None),
    ],
)
def test_what_lasts(count: int, phase: str | None, since: float | None) -> None:
    lines = FIRST_BOOT[:count]
    answer = phases(journal(lines, read_at=lines[-1]["time"] + 100.0), {"capture": 500, "api": "50"})
    current = answer["current"]
    assert (answer["state"], current["phase"]) == ("serving" if phase is None else "starting", phase)
    assert current["since"] == (None if since is None else T0 + since)
    assert current["silent_seconds"] == 100.0
    if since is not None:
        assert current["seconds"] == pytest.approx(lines[-1]["time"] + 100.0 - T0 - since)
    assert current["overdue"] is (phase == "api")
    assert answer["total_seconds"] == (None if phase else 717.0)


def test_a_worker_says_less() -> None:
    """No line of where the load begins, none of the API: it serves when its graphs are captured."""
    lines = [
        line("INFO 10-10 [serve.py:216] Launching vLLM (v0.27.1) headless multiproc executor", 0.0),
        line(MET, 40.0),
    ]
    lines += [line(LOADED.format("442.0"), 482.5), line(CAPTURED, 689.0)]
    answer = phases(journal(lines))
    assert (answer["state"], answer["total_seconds"]) == ("serving", None)
    assert seconds(answer) == {"rendezvous": 40.0, "load": 442.0, "capture": 69.0}
    assert phases(journal(lines[:3]))["current"]["phase"] == "capture"


def test_systemd_knows_the_start() -> None:
    unit = {"started": T0 - 5.0, "invocation": INVOCATION, "active": "active"}
    assert seconds(phases(journal(FIRST_BOOT, unit=unit)))["rendezvous"] == 45.0
    other = unit | {"invocation": "f" * 32}
    assert seconds(phases(journal(FIRST_BOOT, unit=other)))["rendezvous"] == 40.0


@pytest.mark.parametrize(
    ("more", "unit"),
    [
        ([line("vllm@x.service: Main process exited, code=killed", 100.0, source="systemd")], {}),
        ([line("Stopping vllm@x.service...", 100.0, source="systemd")], {}),
        ([], {"active": "failed", "invocation": INVOCATION}),
    ],
)
def test_a_boot_that_ended(more: list[dict[str, Any]], unit: dict[str, Any]) -> None:
    answer = phases(journal([*FIRST_BOOT[:3], *more], unit=unit, read_at=T0 + 5000.0), {"load": 1})
    assert (answer["state"], answer["current"]["phase"], answer["current"]["overdue"]) == ("ended", "load", False)
    assert answer["current"]["seconds"] == (59.0 if more and "exited" in more[0]["message"] else 0.0)


@pytest.mark.parametrize("nothing", [None, {}, {"lines": []}, "text"])
def test_no_journal(nothing: object) -> None:
    answer = phases(nothing)
    assert (answer["state"], answer["phases"], answer["current"]["phase"]) == (None, [], None)


def test_of_several_starts_the_last_counts() -> None:
    again = [line(HEAD, 1000.0, invocation="e" * 32)]
    answer = phases(journal([*FIRST_BOOT, *again]))
    assert (answer["state"], answer["current"]["phase"], answer["start"]) == ("starting", "rendezvous", T0 + 1000.0)


def test_a_real_server_on_cpu() -> None:
    """vLLM 0.27.1 on CPU, two ranks, without compilation: the head was up, then rank 1's worker was killed."""
    head, worker = (phases(recorded(f"worker_killed.rank{rank}.tsv")) for rank in (0, 1))
    assert list(seconds(head)) == ["rendezvous", "load", "api"]
    assert list(seconds(worker)) == ["rendezvous", "load"]
    assert head["total_seconds"] == pytest.approx(217.6)
    assert seconds(head)["rendezvous"] == pytest.approx(200.3)
    assert (head["state"], worker["state"]) == ("serving", "serving")
    middle = recorded("worker_killed.rank0.tsv")
    middle["lines"] = [one for one in middle["lines"] if one["time"] < T0 + 205.0]
    assert phases(middle)["current"]["phase"] in {"load", "capture", "api"}


@given(st.lists(st.floats(0, 900), min_size=len(FIRST_BOOT), max_size=len(FIRST_BOOT)))
def test_any_pace_adds_up(steps: list[float]) -> None:
    """However long the steps take, no part is negative, nor is the rest."""
    lines = [one | {"time": T0 + sum(steps[:at]), "monotonic": sum(steps[:at])} for at, one in enumerate(FIRST_BOOT)]
    answer = phases(journal(lines))
    assert answer["state"] == "serving"
    assert all(value is not None and value >= 0.0 for value in seconds(answer).values())
    assert answer["other_seconds"] >= 0.0


def test_said_helper_is_no_boot() -> None:
    assert phases(said("hello"))["current"]["phase"] == "rendezvous"
