# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each fault is found by the guard that is meant for it, and by no other that has no reason to."""

from __future__ import annotations

from typing import Any

import pytest
from battery.guard import CANARY
from battery.guard.smoke import CASES

from tests.unit.battery.fake_engine import FakeEngine
from tests.unit.battery.guard_bench import CALLS, judged, task

KNOWS = {words: right for words, right, _wrong in CASES}
ALL = tuple(CALLS)
# What reads a text back, and finds whatever is wrong with it.
READERS = {"margin", "concurrent_prefill", "prefix_reuse", "needles"}


def verdicts(faults: set[str], names: tuple[str, ...] = ALL, **engine: Any) -> dict[str, str]:
    """Each guard with an engine of its own, as after a restart."""
    return {name: judged(name, FakeEngine(set(faults), KNOWS, context=4096, **engine)).verdict for name in names}


def test_a_sound_engine_passes_every_guard() -> None:
    assert set(verdicts(set()).values()) == {"passed"}


def test_a_sound_engine_passes_all_guards_one_after_the_other_and_again() -> None:
    engine = FakeEngine(knows=KNOWS, context=4096)
    for quick in (True, False):
        found = {name: judged(name, engine, task(quick=quick)).verdict for name in ALL}
        assert set(found.values()) == {"passed"}, found


@pytest.mark.parametrize(
    ("fault", "meant", "may"),
    [
        ("zeroer", "concurrent_prefill", set()),
        ("solo", "margin", set()),
        ("stale", "prefix_reuse", READERS),
        ("collapse", "acceptance", set()),
        ("disagree", "acceptance", set()),
        ("markup", "corruption", set(ALL)),
        ("cut prose", "corruption", {"count"}),
        ("miscount", "count", set()),
        ("no call", "tools", set()),
        ("digit", "needles", READERS),
        ("every fourth", "needles", READERS),
    ],
)
def test_a_fault_is_found_by_the_guard_that_is_meant_for_it(fault: str, meant: str, may: set[str]) -> None:
    found = verdicts({fault})
    assert found[meant] == "failed"
    assert {name for name, verdict in found.items() if verdict != "passed"} - {meant} <= may, found


def test_low_acceptance_alone_is_no_fault() -> None:
    assert set(verdicts({"unforeseen"}).values()) == {"passed"}


@pytest.mark.parametrize(
    ("engine", "cannot"),
    [
        ({"most_running": 1}, {"concurrent_prefill", "margin"}),
        ({"most_running": 2}, {"concurrent_prefill", "margin"}),
        # One prompt a step: they run together, but none was prefilled beside another.
        ({"prompts_a_step": 1}, {"concurrent_prefill"}),
        # Without it every question is computed anew, and what the cache has of a text is not seen.
        ({"caches": False}, {"concurrent_prefill", "prefix_reuse"}),
        ({"drafts": False}, {"acceptance"}),
        ({"scores": False}, {"margin"}),
    ],
)
def test_what_a_server_cannot_exercise_is_said(engine: dict[str, Any], cannot: set[str]) -> None:
    found = verdicts(set(), **engine)
    assert {name for name, verdict in found.items() if verdict == "not exercised"} == cannot
    assert set(found.values()) <= {"passed", "not exercised"}


@pytest.mark.parametrize(
    ("changed", "left_out"),
    [
        ({"count_to": 0}, {"count"}),
        ({"count_runs": 0}, {"count"}),
        ({"corruption_passes": 0}, {"corruption"}),
        ({"documents": 0}, {"concurrent_prefill"}),
        ({"acceptance_least": None, "acceptance_collapse": None}, {"acceptance"}),
        ({"tool_calls": 0}, {"tools"}),
        ({"smoke_cases": None}, {"smoke"}),
        ({"images": False, "video": False}, {"pictures"}),
        ({"needle_tokens": (), "needles": 0}, {"needles"}),
    ],
)
def test_what_the_recipe_leaves_out_is_not_asked(changed: dict[str, Any], left_out: set[str]) -> None:
    for name in left_out:
        engine = FakeEngine(knows=KNOWS)
        assert (judged(name, engine, task(**changed)).verdict, engine.asked) == ("not asked", [])


# The conversation has six short questions, and no step to stop at.
@pytest.mark.parametrize("name", [name for name in ALL if name != "prefix_reuse"])
def test_without_time_nothing_passes_that_was_not_come_to(name: str) -> None:
    result = judged(name, FakeEngine(knows=KNOWS), task(budget=0.0))
    assert result.verdict == "not exercised"
    assert "in 0 s" in result.summary


def test_the_canary_is_made_of_guards() -> None:
    assert {"margin"} < set(CANARY) <= set(ALL)
