# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run's speed beside that of the accepted run and the recipe's."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from battery.outcome import Measure, Run, slow
from battery.render.report import Baseline, Row
from battery.render.words import figure, measure, part


def medians(measures: tuple[Measure, ...]) -> dict[str, float]:
    """By name; what has no values is not there."""
    return {each.name: median(each.values) for each in measures if each.values}


def compare(run: Run, baseline: Baseline | None) -> tuple[Row, ...]:
    accepted = baseline.medians if baseline else {}
    return tuple(
        Row(
            each,
            accepted.get(each.name),
            run.expected.get(each.name),
            _below(each, accepted, run.tolerance),
            _below(each, run.expected, run.tolerance),
        )
        for each in run.measures
    )


def warnings(rows: tuple[Row, ...], baseline: Baseline | None, tolerance: float) -> tuple[str, ...]:
    """What is too slow, with figures."""
    words = []
    for row in rows:
        seen = f"{measure(row.measure.name)}: {figure(row.median)} {row.measure.unit} is"
        bound = f"the tolerance is {100 * tolerance:g} %"
        if row.below_accepted and baseline:
            whose = f"of the accepted run {baseline.id}"
            words.append(f"{seen} {part(row.accepted_ratio)} of the {figure(row.accepted)} {whose}; {bound}")
        if row.below_expected:
            words.append(
                f"{seen} {part(row.expected_ratio)} of the {figure(row.expected)} that the recipe expects; {bound}"
            )
    return tuple(words)


def _below(one: Measure, references: Mapping[str, float | None] | Mapping[str, float], tolerance: float) -> bool:
    return bool(slow((one,), {one.name: references.get(one.name)}, tolerance))
