# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes a run down: its folder, what lies beside it, and which older ones go."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from battery.outcome import Measure, Run
from battery.render import html, junit, markdown
from battery.render.report import Baseline, Past, Report
from battery.settings import Settings

from . import acceptance, document, history, store, suspicion
from .comparison import compare, medians, warnings
from .fingerprint import differences
from .schema import VERSION
from .verdict import conclude


def finish(settings: Settings, run: Run) -> Path:
    """The folder of the run, which is there whole or not at all. OSError when it cannot be written."""
    with store.writing(settings.records):
        return keep(settings, run, acceptance.baseline(settings), settings.speed_is_gate, None)


def keep(settings: Settings, run: Run, baseline: Baseline | None, gate: bool, closed_wall: float | None) -> Path:
    """Only while `writing`."""
    others = [past for past in history.read(settings.records) if past.id != run.id]
    report = reported(run, baseline, gate, others, closed_wall)
    path = store.put_run(
        settings.records,
        run.id,
        {
            "result.json": store.as_json(document.written(report)),
            "junit.xml": junit.render(report),
            "report.md": markdown.render(report),
            "report.html": html.render(report),
        },
    )
    if report.history[-1].id == run.id:
        store.put_json(settings.records / "latest.json", _latest(report))
    acceptance.settle(settings, report)
    suspicion.settle(settings, report)
    _prune(settings, report)
    return path


def reported(
    run: Run, baseline: Baseline | None, gate: bool, others: list[Past], closed_wall: float | None = None
) -> Report:
    """What the papers say of a run. `others` are the runs that are kept beside it."""
    run = replace(run, measures=tuple(_finite(each) for each in run.measures))
    rows = compare(run, baseline)
    verdict, sentence = conclude(run, rows, gate)
    this = Past(run.id, run.level, verdict, run.began_wall, medians(run.measures))
    return Report(
        run,
        verdict,
        sentence,
        rows,
        warnings(rows, baseline, run.tolerance),
        gate,
        baseline,
        differences(baseline.fingerprint, run.fingerprint) if baseline else (),
        history.ordered([*others, this]),
        closed_wall,
    )


def _finite(measure: Measure) -> Measure:
    """A value without an end or that is no number was not measured."""
    return replace(measure, values=tuple(value for value in measure.values if math.isfinite(value)))


def _latest(report: Report) -> dict[str, object]:
    data = document.written(report)
    names = ("id", "level", "recipe", "state", "verdict", "sentence", "warnings", "began", "ended", "fingerprint")
    return {"schema": VERSION, **{name: data[name] for name in names}}


def _prune(settings: Settings, report: Report) -> None:
    accepted = acceptance.usable(settings)
    spared = {report.run.id} | ({accepted["id"]} if accepted else set())
    for run in history.superfluous(report.history, settings.keep_runs, spared):
        store.remove_run(settings.records, run)
