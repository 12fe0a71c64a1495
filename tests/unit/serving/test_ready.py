# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a wait ends: on a clock, a head and a server that follow a script."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._serving.group_look import Kept, Look
from ansible_collections.switchless.spark.plugins.module_utils._serving.ready import Outcome, Waiter, Wanted
from ansible_collections.switchless.spark.plugins.module_utils._serving.ready_answer import Answer
from tests.unit.serving.group_world import BOOT, INVOCATIONS, LIFE, OLD_LIFE, end, keeper, listed

WANTED = Wanted("http://h:8000", "copy", "What?", 4, 20.0)
TOKEN = Answer(200, json.dumps({"model": "copy", "choices": [{"text": " Four"}], "usage": {"completion_tokens": 1}}))


def head(state: str | None = None, life: str | None = LIFE, active: str = "active", **more: Any) -> Look:
    """The head at one look."""
    last = more.pop("end", None)
    data = None if state is None else keeper(0, state, life=life, **more.pop("keeper", {}))
    unit = {"load": "loaded", "active": active, "result": "exit-code", "exit_status": 1, "invocation": INVOCATIONS[0]}
    return Look(
        unit=unit | more,
        boot=BOOT,
        state=Kept("/s", data is not None, "" if data else "/s is not there", data),
        end=Kept("/e", last is not None, "", last),
    )


class World:
    """A look each second; the last of them stays. Answers of the server, and the last stays as well."""

    def __init__(self, looks: list[Look], answers: list[Answer] | None = None) -> None:
        self.looks = looks
        self.answers = answers or []
        self.second = 0.0
        self.asked: list[tuple[str, float, Mapping[str, Any] | None]] = []

    def look(self) -> Look:
        return self.looks[min(int(self.second), len(self.looks) - 1)]

    def pause(self, seconds: float) -> None:
        self.second += seconds

    def ask(self, url: str, seconds: float, data: Mapping[str, Any] | None = None) -> Answer:
        self.asked.append((url, seconds, data))
        if data is None:
            return Answer(error="refused")
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def wait(world: World, **more: Any) -> Outcome:
    return Waiter(world.look, world, replace(WANTED, **more), lambda: world.second, world.pause).wait()


def test_a_start_that_goes_well() -> None:
    steps = [head("gathering", None), head("starting"), head("starting"), head("serving")]
    world = World(steps, [TOKEN])
    said = wait(world)
    assert (said.ready, said.failed, said.now.state, said.now.life, said.said.text) == (
        *(True, False, "serving", LIFE, " Four"),
    )
    assert world.second == 3.0
    assert world.asked[0] == (
        "http://h:8000/v1/completions",
        17.0,
        {"model": "copy", "prompt": "What?", "max_tokens": 4, "temperature": 0},
    )
    assert [url for url, _seconds, _data in world.asked[1:]] == [
        f"http://h:8000/{path}" for path in ("metrics", "v1/models", "version")
    ]


def test_a_server_that_answers_at_last() -> None:
    world = World([head("serving")], [Answer(500, "no"), Answer(error="refused"), TOKEN])
    said = wait(world)
    assert (said.ready, world.second) == (True, 2.0)


def test_a_request_gets_its_time() -> None:
    world = World([head("starting")] * 18 + [head("serving")], [TOKEN])
    assert wait(world).ready
    assert world.asked[0][1] == 5.0


COUNTED = end(life=LIFE)
FAILURES: dict[str, tuple[list[Look], frozenset[str] | None, str, Any, float]] = {
    # The looks, life_before, a piece of the detail, the life of the end, the second.
    "the life ends while we wait": (
        [head("starting"), head("ending"), head(None, active="activating", end=COUNTED)],
        None,
        "the life ended, rank_ended by rank 2 on spark3: its vLLM ended with exit status 0",
        LIFE,
        2.0,
    ),
    "the life ended between two calls": (
        [head("gathering", None, end=COUNTED)],
        frozenset({OLD_LIFE}),
        "rank_ended",
        LIFE,
        0.0,
    ),
    "the first life ever ended between two calls": (
        [head("gathering", None, end=COUNTED)],
        frozenset(),
        "rank_ended",
        LIFE,
        0.0,
    ),
    "the unit failed": (
        [head("starting"), head("failed", active="failed", end=end())],
        frozenset({OLD_LIFE}),
        "the unit failed (exit-code, exit status 1)",
        None,
        1.0,
    ),
    "the unit failed before we came, and nobody said what was before": (
        [head("failed", active="failed", end=COUNTED | {"ranks": listed("gone", "gone", "gone")})],
        None,
        "the unit failed (exit-code, exit status 1). the life ended, rank_ended",
        LIFE,
        0.0,
    ),
    "the unit is stopped": (
        [head("stopped", None, active="inactive")],
        None,
        "the unit is inactive: nothing",
        None,
        5.0,
    ),
    "there is no unit": ([head(active="inactive", load="not-found")], None, "inactive (not-found): nothing", None, 5.0),
    "the keeper was killed": (
        [head("starting"), head(None), head("gathering", None)],
        None,
        f"life {LIFE} ended, and the head left no word of it",
        None,
        3.0,
    ),
    "the keeper was killed, and the next one says so": (
        [head("starting"), head(None), head("gathering", None), head("gathering", None, end=COUNTED)],
        None,
        "the life ended, rank_ended",
        LIFE,
        3.0,
    ),
    "the keeper was killed at the end of the wait": (
        [*[head("starting")] * 20, head("gathering", None)],
        None,
        f"life {LIFE} ended, and the head left no word of it",
        None,
        20.0,
    ),
    "another life came": (
        [head("starting"), head("starting", "f" * 32)],
        None,
        f"life {LIFE} ended, and the head left no word of it",
        None,
        2.0,
    ),
    "it takes long to end": (
        [
            head(
                "ending",
                keeper={"ended": {"reason": "boot_limit", "rank": 0, "host": "spark1", "detail": "300 s"}},
            )
        ],
        None,
        "the life ended, boot_limit by rank 0 on spark1: 300 s",
        LIFE,
        20.0,
    ),
}


@pytest.mark.parametrize("case", FAILURES)
def test_lives_that_are_over(case: str) -> None:
    looks, before, detail, life, second = FAILURES[case]
    world = World(looks, [Answer(error="refused")])
    said = wait(world, not_these=before)
    assert (said.ready, said.failed) == (False, True)
    assert detail in said.detail
    assert (said.end or {}).get("life") == life
    assert world.second == second


WAITS: dict[str, tuple[list[Look], frozenset[str] | None, str]] = {
    "gathering": (
        [head("gathering", None, keeper={"detail": "waits for rank 2 on spark3"})],
        None,
        "waits for rank 2 on spark3",
    ),
    "starting": ([head("starting")], None, "the group is starting"),
    "the life before still serves": (
        [head("serving", OLD_LIFE)],
        frozenset({OLD_LIFE}),
        f"life {OLD_LIFE} is serving, and it is not the one that is waited for",
    ),
    "the life before ended": ([head("gathering", None, end=end())], frozenset({OLD_LIFE}), "the group is gathering"),
    "a life had ended when we came": ([head("gathering", None, end=end())], None, "the group is gathering"),
    "the unit was down for a moment": (
        [head(active="inactive")] * 3
        + [head(active="activating")]
        + [head(active="inactive")] * 3
        + [head("starting")],
        None,
        "the group is starting",
    ),
    "a state of the past": ([head("serving", invocation="9" * 32)], None, "/s: it is of an earlier start of the unit"),
    "no state yet": ([head()], None, "/s is not there"),
}


@pytest.mark.parametrize("case", WAITS)
def test_what_is_waited_for(case: str) -> None:
    looks, before, detail = WAITS[case]
    world = World(looks, [TOKEN])
    said = wait(world, not_these=before)
    assert (said.ready, said.failed, said.detail, said.end) == (False, False, detail, None)
    assert (world.second, world.asked) == (20.0, [])


def test_a_token_of_a_life_that_is_gone() -> None:
    """The request was answered, and by then another life was there."""
    world = World([head("serving"), head("gathering", None)], [TOKEN])

    class Slow(World):
        def ask(self, url: str, seconds: float, data: Mapping[str, Any] | None = None) -> Answer:
            self.second += 1
            return super().ask(url, seconds, data)

    slow = Slow(world.looks, [TOKEN])
    said = wait(slow)
    assert (said.ready, said.failed, said.said.text) == (False, True, "")
    assert f"life {LIFE} ended" in said.detail


def test_one_look() -> None:
    world = World([head("starting")])
    assert (wait(world, seconds=0.0).detail, world.second) == ("the group is starting", 0.0)
    assert wait(World([head(active="inactive")]), seconds=0.0).failed
