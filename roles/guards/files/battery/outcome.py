# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run comes to: what was measured beside what the guards say, and all of it together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
