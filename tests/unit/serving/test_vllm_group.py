# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter vllm_group: what nodes say, and what the group is."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.filter.vllm_group import FilterModule
from ansible_collections.switchless.spark.plugins.module_utils._serving.group import STATES
from tests.unit.serving.group_world import HOSTS, INVOCATIONS, LIFE, NOW, OLD_LIFE, end, keeper, listed, node

vllm_group = FilterModule().filters()["vllm_group"]

ABSENT = node(active="inactive", sub="dead", load="not-found", config=False, found=False)
BARE = node(active="inactive", sub="dead", config=False, found=False)
STOPPED = node(keeper(0, "stopped", life=None), "inactive", "dead")
SERVING = node(keeper(0, "serving", ranks=listed("running", "running", "running")))
GATHERING = node(keeper(0, "gathering", life=None, ranks=listed("ready", "absent", "ready")))
STARTING = node(keeper(0, "starting", age=20.0, ranks=listed("running", "running", "running")))
JUST_SERVING = node(keeper(0, "serving", age=3.0, ranks=listed("running", "running", "running")), age=40.0)


def runs(place: int, **more: Any) -> dict[str, Any]:
    return node(keeper(place, "running", **more), place=place)


def waits(place: int, **more: Any) -> dict[str, Any]:
    return node(keeper(place, "waiting", life=None, **more), place=place)


def failed(**more: Any) -> dict[str, Any]:
    return node(keeper(0, "failed"), "failed", "failed", result="exit-code", exit_status=1, **more)


BUDGET = failed(restarts=4, end=end())
CASES: dict[str, tuple[tuple[Any, Any, Any], str, list[tuple[int, str]]]] = {
    # The nodes, the state, and by rank a piece of each reason in their order.
    "nothing anywhere": ((ABSENT, ABSENT, ABSENT), "absent", []),
    "a template of another recipe": ((BARE, BARE, BARE), "absent", []),
    "stopped": ((STOPPED, waits(1), waits(2)), "stopped", [(0, "is stopped, and so is the group")]),
    "workers stopped as well": (
        (STOPPED, node(None, "inactive", "dead", place=1), waits(2)),
        "stopped",
        [(0, "is stopped")],
    ),
    "gathering": (
        (GATHERING, waits(1), waits(2)),
        "gathering",
        [(1, "waits for the head, which has not heard of it")],
    ),
    "gathering for a moment": (
        (GATHERING, waits(1, age=3.0), waits(2)),
        "gathering",
        [(1, "the head waits for rank 1 on spark2")],
    ),
    "a node without power": ((GATHERING, None, waits(2)), "gathering", [(1, "spark2 gave no answer")]),
    "a worker that was stopped": (
        (GATHERING, node(None, "inactive", "dead", place=1), waits(2)),
        "gathering",
        [(1, "is stopped, and the group needs it")],
    ),
    "a worker whose user is not there": (
        (
            GATHERING,
            node(None, "failed", "failed", place=1, result="exit-code", exit_status=217),
            waits(2),
        ),
        "gathering",
        [(1, "exit-code, exit status 217: the user does not exist")],
    ),
    "a worker without files": ((GATHERING, ABSENT, waits(2)), "gathering", [(1, "has nothing to run as rank 1")]),
    "a worker of the life before": (
        (GATHERING, runs(1, life=OLD_LIFE), waits(2)),
        "inconsistent",
        [(1, f"still runs life {OLD_LIFE}")],
    ),
    "starting": ((STARTING, runs(1), runs(2)), "starting", []),
    "serving": ((SERVING, runs(1), runs(2)), "serving", []),
    "a worker of another life": (
        (SERVING, runs(1), runs(2, life=OLD_LIFE)),
        "inconsistent",
        [(2, f"runs life {OLD_LIFE}, expected {LIFE}")],
    ),
    "a worker of another start": (
        (SERVING, runs(1), node(keeper(2, "running", invocation="9" * 32), place=2, invocation="9" * 32)),
        "inconsistent",
        [(2, f"is start {'9' * 32} of its unit, expected {INVOCATIONS[2]}")],
    ),
    "a worker that waits while the head serves": (
        (SERVING, runs(1), waits(2)),
        "inconsistent",
        [(2, "says waiting, and the head says serving")],
    ),
    "a worker that has just said hello": ((JUST_SERVING, runs(1), waits(2)), "serving", []),
    "a worker that was stopped long ago while the head serves": (
        (SERVING, runs(1), node(None, "inactive", "dead", place=2)),
        "inconsistent",
        [(2, "is stopped, and the group needs it")],
    ),
    "a worker that was stopped just now": (
        (SERVING, runs(1), node(None, "inactive", "dead", place=2, age=2.0)),
        "serving",
        [(2, "is stopped, and the group needs it")],
    ),
    "a serving group of which a node gives no answer": (
        (SERVING, runs(1), None),
        "inconsistent",
        [(2, "spark3 gave no answer")],
    ),
    "a node that Ansible could not reach": (
        (SERVING, runs(1), {"unreachable": True, "msg": "No route to host"}),
        "inconsistent",
        [(2, "spark3 gave no answer (No route to host)")],
    ),
    "a node without systemd": (
        (SERVING, runs(1), {"rank": {"unit": {"active": ""}, "unit_detail": "systemctl exited 1"}}),
        "inconsistent",
        [(2, "spark3 gave no answer (systemctl exited 1)")],
    ),
    "the head gives no answer": (
        (None, waits(1), waits(2)),
        "inconsistent",
        [(0, "spark1, which has the head, gave no answer")],
    ),
    "the head has nothing": ((ABSENT, waits(1), waits(2)), "inconsistent", [(0, "has nothing to run as rank 0")]),
    "a worker runs, and the head is stopped": (
        (STOPPED, runs(1), waits(2)),
        "inconsistent",
        [(1, "runs, and the head on spark1 is down for 200 s"), (0, "is stopped")],
    ),
    "the head was stopped just now": (
        (node(keeper(0, "stopped", life=None), "inactive", "dead", age=4.0), runs(1), waits(2)),
        "ending",
        [(0, "is stopped"), (1, "is down for 4 s")],
    ),
    "the head is being stopped": (
        (node(keeper(0, "ending"), "deactivating", "stop-sigterm"), runs(1), runs(2)),
        "ending",
        [(0, "is being stopped")],
    ),
    "the head ends a life": (
        (
            node(keeper(0, "ending", ended={"reason": "rank_silent", "rank": 2, "host": "spark3", "detail": "10 s"})),
            runs(1),
            runs(2),
        ),
        "ending",
        [(0, "the life ends, rank_silent by rank 2 on spark3: 10 s")],
    ),
    "between two lives": (
        (
            node(keeper(0, "failed"), "activating", "auto-restart", result="exit-code", exit_status=1),
            waits(1),
            waits(2),
        ),
        "ending",
        [(0, "ended (exit-code, exit status 1), and systemd starts it again")],
    ),
    "the budget is used up": (
        (BUDGET, waits(1), waits(2)),
        "failed",
        [(0, "its budget, 5 starts in 1h, is used up. The last life ended, rank_ended by rank 2 on spark3: its vLLM")],
    ),
    "it failed for good, and a node is away": (
        (BUDGET, waits(1), None),
        "failed",
        [(0, "used up"), (2, "spark3 gave no answer")],
    ),
    "a stop that was not clean": (
        (failed(restarts=1, end=end("stopped", 0)), waits(1), waits(2)),
        "failed",
        [(0, "failed (exit-code, exit status 1). The last life ended, stopped")],
    ),
    "the head cannot be started": (
        (node(None, "inactive", "dead", load="bad-setting", load_error="no ExecStart"), waits(1), waits(2)),
        "failed",
        [(0, "cannot be started: bad-setting, no ExecStart")],
    ),
    "the head is masked": (
        (node(None, "inactive", "dead", load="masked"), waits(1), waits(2)),
        "failed",
        [(0, "cannot be started: masked")],
    ),
    "the head says nothing": (
        (node(None), waits(1), waits(2)),
        "inconsistent",
        [(0, "what the group does is not known: /s is not there")],
    ),
    "the head was started just now": (
        (node(None, age=3.0), waits(1), waits(2)),
        "gathering",
        [(0, "has just been started")],
    ),
    "the head says what its last start was": (
        (node(keeper(0, "serving"), invocation="9" * 32), waits(1), waits(2)),
        "inconsistent",
        [(0, "not known: it is of an earlier start of the unit")],
    ),
    "the head says what was before the boot": (
        (node(keeper(0, "serving", boot_id="e" * 32)), waits(1), waits(2)),
        "inconsistent",
        [(0, "not known: it is of an earlier boot")],
    ),
    "a worker's file cannot be read": (
        (SERVING, node(None, place=1, found=None, detail="/s cannot be read: Permission denied"), runs(2)),
        "serving",
        [(1, "what it does is not known: /s cannot be read")],
    ),
    "a worker runs as another rank": (
        (SERVING, node(keeper(2, "running", invocation=INVOCATIONS[1]), place=1), runs(2)),
        "inconsistent",
        [(1, "runs as rank 2 of spark3, expected rank 1 of spark2")],
    ),
    "the head runs as another rank": (
        (node(keeper(1, "running", invocation=INVOCATIONS[0])), runs(1), runs(2)),
        "inconsistent",
        [(0, "runs as rank 1 of spark2, expected rank 0 of spark1")],
    ),
    "the head says what it never says": (
        (node(keeper(0, "running")), runs(1), runs(2)),
        "inconsistent",
        [(0, "what the group does is not known: it says 'running'")],
    ),
    "the head has other ranks": (
        (node(keeper(0, "serving", ranks=listed("running", "running", "running")[1:])), runs(1), runs(2)),
        "inconsistent",
        [(0, "has the ranks spark2, spark3, expected spark1, spark2, spark3")],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_states(case: str) -> None:
    nodes, state, reasons = CASES[case]
    said = vllm_group(dict(zip(HOSTS, nodes, strict=True)), list(HOSTS))
    assert (said["state"], [one["rank"] for one in said["reasons"]]) == (state, [rank for rank, _text in reasons])
    for one, (_rank, text) in zip(said["reasons"], reasons, strict=True):
        assert text in one["text"]
        assert one["remedy"]
        assert one["host"] == HOSTS[one["rank"]]
    if reasons:
        assert said["reasons"][0]["text"] in said["summary"]


def test_a_group_that_serves() -> None:
    state = keeper(0, "serving", ranks=listed("running", "running", "running"), group="a" * 64)
    serving = node(state, restarts=2, end=end())
    said = vllm_group({"spark1": serving, "spark2": runs(1)["rank"], "spark3": runs(2)}, list(HOSTS))
    assert (said["recipe"], said["state"], said["life"], said["restarts"], said["since"]) == (
        *("lab", "serving", LIFE, 2, NOW - 100.0),
    )
    assert [(one["host"], one["state"], one["invocation"]) for one in said["ranks"]] == [
        ("spark1", "serving", INVOCATIONS[0]),
        ("spark2", "running", INVOCATIONS[1]),
        ("spark3", "running", INVOCATIONS[2]),
    ]
    assert said["group"] == "a" * 64
    assert said["summary"] == "vllm@lab over spark1, spark2, spark3: serving."


def test_the_last_end_has_every_rank() -> None:
    short = end(ranks=[{"rank": 0, "host": "spark1", "invocation": "7" * 32}])
    said = vllm_group(dict(zip(HOSTS, (failed(end=short), waits(1), waits(2)), strict=True)), list(HOSTS))
    assert said["last_end"]["reason"] == "rank_ended"
    assert [(one["rank"], one["host"], one["invocation"]) for one in said["last_end"]["ranks"]] == [
        (0, "spark1", "7" * 32),
        (1, "spark2", None),
        (2, "spark3", None),
    ]
    assert (said["life"], said["group"], said["since"]) == (None, None, NOW - 200.0)


def test_a_host_that_is_no_rank() -> None:
    pair = node(keeper(0, "serving", ranks=listed("running", "running")))
    looks = dict(zip(HOSTS, (pair, runs(1), runs(2)), strict=True))
    assert vllm_group(looks, list(HOSTS[:2]))["state"] == "inconsistent"
    assert vllm_group(looks, list(HOSTS[:2]))["reasons"][0]["text"].startswith("vllm@lab.service on spark3 runs, and")
    assert vllm_group(looks | {"spark3": ABSENT}, list(HOSTS[:2]))["state"] == "serving"


def test_the_limit_is_the_group_s() -> None:
    looks = dict(zip(HOSTS, (STOPPED, runs(1), waits(2)), strict=True))
    assert vllm_group(looks, list(HOSTS), silence_seconds="300")["state"] == "ending"


@pytest.mark.parametrize(
    ("looks", "ranks", "silence", "words"),
    [
        ({}, [], 10, "ranks is the list []: expected the hosts"),
        ({}, "spark1", 10, "ranks is 'spark1': expected the hosts"),
        ([], ["a"], 10, "the input is the list []: expected a mapping"),
        ({}, ["a"], "soon", "silence_seconds is 'soon': expected 0 or more"),
    ],
)
def test_what_is_no_group(looks: Any, ranks: Any, silence: Any, words: str) -> None:
    with pytest.raises(AnsibleFilterError) as caught:
        vllm_group(looks, ranks, silence)
    assert words in str(caught.value)


_ODD = st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3) | st.lists(st.integers(), max_size=2)
_STATE = st.dictionaries(
    st.sampled_from(["state", "since", "life", "rank", "host", "ranks", "ended", "invocation", "boot_id", "detail"]),
    _ODD | st.sampled_from(["serving", "running", "waiting", "spark1"]),
)
_NODE = st.builds(
    node,
    st.none() | _STATE,
    st.sampled_from(["active", "inactive", "failed", "activating", "deactivating", ""]),
    place=st.integers(0, 2),
    end=st.none() | st.dictionaries(st.sampled_from(["ranks", "reason", "rank", "detail"]), _ODD),
)


@given(st.lists(_NODE | _ODD, min_size=3, max_size=3))
def test_whatever_the_nodes_say_there_is_one_answer(nodes: list[Any]) -> None:
    said = vllm_group(dict(zip(HOSTS, nodes, strict=True)), list(HOSTS))
    assert said["state"] in STATES
    assert said["reasons"] or said["state"] in ("absent", "starting", "serving", "gathering", "ending")
    silent = [one["host"] for one in said["ranks"] if not one["answered"]]
    assert not silent or said["state"] not in ("absent", "stopped", "starting", "serving")
