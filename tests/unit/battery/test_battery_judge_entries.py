# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every entry of the list of quality cases has its place: a judge that decides it, or why none can."""

from __future__ import annotations

from collections import Counter

import pytest
from battery.judge.acceptance import Acceptance, collapse, parsed
from battery.judge.calls import call_faults
from battery.judge.counting import counted
from battery.judge.recall import recall
from battery.judge.sameness import distinct
from battery.judge.scores import frozen, margin
from battery.judge.text import faults

from tests.unit.battery.judge_clean import CLEAN
from tests.unit.battery.judge_figures import (
    ACCEPTED,
    CALLS,
    COUNTS,
    RECALLS,
    SAME,
    SCORES,
    UNDECIDED,
    Accepted,
    Called,
    Counted,
    Recalled,
    Same,
    Scored,
)
from tests.unit.battery.judge_spoilt import SPOILT

# As listed: numbers that are not here were never given.
ENTRIES = """
Q01 Q02 Q04 Q05 Q06 Q08 Q09 Q10 Q12 Q13 Q14 Q16 Q17 Q18 Q20 Q21 Q22 Q24 Q25 Q26 Q28 Q29 Q30 Q32 Q33 Q34 Q36 Q37 Q38 Q40
Q41 Q42 Q44 Q45 Q46 Q48 Q49 Q50 Q52 Q53 Q54 Q56 Q57 Q58 Q60 Q61 Q62 Q64 Q65 Q66 Q68
N01 N02 N04 N05 N06 N08 N09 N10 N12 N13 N14 N16 N17 N18 N20 N21 N22 N24 N25 N26
L01 L02 L04 L05 L06 L08 L09 L10 L12 L13 L14 L16 L17 L18
"""
DECIDED = (*SPOILT, *CLEAN, *RECALLS, *CALLS, *COUNTS, *SCORES, *SAME, *ACCEPTED)
COLLAPSE = 0.10  # as in the recipes of both articles


def test_every_entry_has_one_place() -> None:
    places = Counter([*(case.id for case in DECIDED), *UNDECIDED])
    assert places == Counter(ENTRIES.split())


def test_clean_entries_are_silent_and_corrupt_ones_are_not() -> None:
    for case in (*SPOILT, *CLEAN):
        assert bool(case.kinds) == (case in SPOILT), case.id
        assert (case.fault == "clean") <= (not case.kinds), case.id
    for name, (fault, why) in UNDECIDED.items():
        assert fault not in ("corrupt", "clean"), f"{name}: {why}"


@pytest.mark.parametrize("case", RECALLS, ids=lambda case: case.id)
def test_recall(case: Recalled) -> None:
    assert recall(case.answer, case.expected) == case.verdict
    assert recall(case.expected, case.expected) == "right"


@pytest.mark.parametrize("case", CALLS, ids=lambda case: case.id)
def test_calls(case: Called) -> None:
    found = call_faults(case.answer, "write", case.arguments, "call 3")
    assert [finding.where for finding in found] == ["call 3"] * bool(case.said)
    assert all(case.said in finding.evidence for finding in found)
    for call in case.answer.calls:
        assert faults(call.arguments, "Write a file.") == (), "what a call holds is no corrupt text"


@pytest.mark.parametrize("case", COUNTS, ids=lambda case: case.id)
def test_counts(case: Counted) -> None:
    for text in case.texts:
        assert counted(text, case.to) == ""
        assert faults(text, f"Count from 1 to {case.to}.") == ()


@pytest.mark.parametrize("case", SCORES, ids=lambda case: case.id)
def test_scores(case: Scored) -> None:
    assert margin(case.scores) == case.margin
    assert frozen(case.scores) == case.frozen


@pytest.mark.parametrize("case", SAME, ids=lambda case: case.id)
def test_sameness(case: Same) -> None:
    assert distinct(case.answers) == case.distinct


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case.id)
def test_acceptance(case: Accepted) -> None:
    seen = parsed(case.seen) if isinstance(case.seen, str) else case.seen
    assert isinstance(seen, Acceptance)
    assert bool(collapse(seen, COLLAPSE)) == case.collapsed
    assert collapse(seen, None) == "", "the recipe leaves it out"
    assert seen.mean_length == pytest.approx(1 + sum(seen.positions), abs=0.01)
    if isinstance(case.seen, str):
        assert f"Mean acceptance length: {seen.mean_length:.2f}," in case.seen
        assert f"Avg Draft acceptance rate: {seen.rate:.1%}" in case.seen or "Avg D[" in case.seen
