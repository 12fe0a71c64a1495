# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all papers of a run are written from. Record makes it; render reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Literal

from battery.outcome import Measure, Run

# `incomplete`: it did not come to its end, or a guard could not say. None of the last three is a pass.
Conclusion = Literal["passed", "failed", "incomplete", "not exercised"]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The accepted run that a run is compared with. Medians by measure."""

    id: str
    level: str
    accepted_wall: float
    fingerprint: Mapping[str, str]
    medians: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Row:
    """A measure beside the accepted run's median and the recipe's expectation; none where there is none."""

    measure: Measure
    accepted: float | None = None
    expected: float | None = None
    # Whether it is worse than each by more than the tolerance.
    below_accepted: bool = False
    below_expected: bool = False

    @property
    def median(self) -> float | None:
        return median(self.measure.values) if self.measure.values else None

    @property
    def slow(self) -> bool:
        return self.below_accepted or self.below_expected

    @property
    def accepted_ratio(self) -> float | None:
        return _ratio(self.median, self.accepted)

    @property
    def expected_ratio(self) -> float | None:
        return _ratio(self.median, self.expected)


@dataclass(frozen=True, slots=True)
class Past:
    """What a kept run leaves to the history."""

    id: str
    level: str
    verdict: str
    began_wall: float
    medians: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Report:
    """A run, what it comes to, and what it is compared with. `history` has this run too, the oldest first."""

    run: Run
    verdict: Conclusion
    sentence: str
    rows: tuple[Row, ...]
    # What is too slow, with figures; `gate` says whether that fails the run.
    warnings: tuple[str, ...]
    gate: bool
    baseline: Baseline | None
    # In words, what of the fingerprint is another than the accepted run's.
    differs: tuple[str, ...]
    history: tuple[Past, ...]
    # When the journals of the ranks were added.
    closed_wall: float | None = None


def _ratio(seen: float | None, reference: float | None) -> float | None:
    return seen / reference if seen is not None and reference else None
