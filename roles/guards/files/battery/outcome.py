# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run comes to: what was measured beside what the guards say, and all of it together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from .model import Counters, Result

Level = Literal["quick", "full", "canary", "soak"]
# `failed`: a guard failed, or a speed that is a gate. `incomplete`: the server went away, or a guard that was asked
# could not say. `aborted`: it was told to stop. `passed` is left: each guard passed, or the recipe leaves it out.
State = Literal["running", "passed", "failed", "incomplete", "aborted"]


@dataclass(frozen=True, slots=True)
class SpeedTask:
    """What a measurement is told. `expected` is the recipe's speed by field name, none where it is not known."""

    quick: bool
    salt: str
    context_tokens: int
    expected: Mapping[str, float | None]
    budget_seconds: float


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure, measured again and again. Without values it could not be measured, and the note says why.

    `name` is the field of the recipe's speed that it is held against (`count_tokens_per_second`), where there is one.
    """

    name: str
    unit: str
    values: tuple[float, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """A run of the battery, whole or as far as it came. Times are wall clock, in seconds since 1970."""

    id: str
    level: str
    recipe: str
    salt: str
    began_wall: float
    ended_wall: float
    state: str
    results: tuple[Result, ...]
    measures: tuple[Measure, ...]
    fingerprint: Mapping[str, str]
    tolerance: float
    # By the field names of the recipe's speed.
    expected: Mapping[str, float | None]
    # None when /metrics could not be read.
    counters_before: Counters | None
    counters_after: Counters | None
    # What was judged: url, model, unit.
    server: Mapping[str, str]


def slow(measures: Iterable[Measure], expected: Mapping[str, float | None], tolerance: float) -> tuple[str, ...]:
    """The measures whose median is worse than the recipe's by more than the tolerance, in words."""
    words = []
    for measure in measures:
        wanted = expected.get(measure.name)
        if wanted is None or not measure.values:
            continue
        seen, less_is_better = median(measure.values), measure.name.endswith("_seconds")
        bound = wanted * (1 + tolerance if less_is_better else 1 - tolerance)
        if seen > bound if less_is_better else seen < bound:
            side = "at most" if less_is_better else "at least"
            words.append(f"{measure.name}: seen {seen:.4g} {measure.unit}, expected {side} {bound:.4g}")
    return tuple(words)


def conclusion(
    results: Sequence[Result], measures: Sequence[Measure], expected: Mapping[str, float | None], too_slow: bool
) -> tuple[State, int]:
    """The state of a run that came to its end, and the exit code of the program.

    `expected` is empty and `too_slow` false where speed is no gate; where it is one, what has an expectation and could
    not be measured is not passed.
    """
    verdicts = {result.verdict for result in results}
    if "failed" in verdicts or too_slow:
        return "failed", 1
    if "unknown" in verdicts or any(not each.values and expected.get(each.name) is not None for each in measures):
        return "incomplete", 3
    if "not exercised" in verdicts or "passed" not in verdicts:
        return "incomplete", 4
    return "passed", 0
