# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""accepted.json: the run that others are compared with, and that proves the present fingerprint."""

from __future__ import annotations

import time
from typing import Any, Literal

from battery.outcome import Run
from battery.render.report import Baseline, Report
from battery.settings import Settings
from battery.status import moment

from . import document, store
from .comparison import medians
from .fingerprint import differences
from .schema import VERSION
from .verdict import of_guards

PROVING = ("quick", "full")
FILE = "accepted.json"


def accepted(settings: Settings) -> dict[str, Any] | None:
    """None when no run is. RecordError when the file cannot be used."""
    data = store.get(settings.records / FILE)
    if data is not None and data.get("schema") != VERSION:
        seen = f"{settings.records / FILE} has schema {data.get('schema')}"
        raise store.RecordError(f"{seen}, expected {VERSION}; remove it, and run the battery")
    return data


def usable(settings: Settings) -> dict[str, Any] | None:
    """For a run that must be written down whatever lies beside it: a file that cannot be used is none."""
    try:
        return accepted(settings)
    except store.RecordError:
        return None


def baseline(settings: Settings) -> Baseline | None:
    """What a run that ends now is compared with."""
    data = usable(settings)
    if data is None:
        return None
    run_medians = medians(document.measured(data["measures"]))
    return Baseline(data["id"], data["level"], data["accepted_wall"], data["fingerprint"], run_medians)


def proven(settings: Settings) -> tuple[bool, str]:
    """Whether the accepted run has the present fingerprint, and in words which run it is, or what differs."""
    try:
        data = accepted(settings)
    except store.RecordError as error:
        return False, str(error)
    if data is None:
        return False, "no run is accepted: run battery quick"
    differs = differences(data["fingerprint"], settings.fingerprint)
    whose = f"run {data['id']} ({data['level']}), accepted at {data['accepted']}"
    if differs:
        return False, f"{whose}, had another fingerprint: {'; '.join(differs)}; run battery quick"
    return True, whose


def accept(settings: Settings, run_id: str) -> dict[str, Any]:
    """Take a run by hand; what accepted.json then holds. RecordError when the run proves nothing.

    A run whose guards passed can be taken also when its speed failed it: one says by it that this speed is right.
    """
    with store.writing(settings.records):
        run = document.run(store.get_run(settings.records, run_id))
        wrong = _unfit(settings, run)
        if wrong:
            raise store.RecordError(f"run {run_id} cannot be accepted: {wrong}")
        return _put(settings, run, "hand")


def settle(settings: Settings, report: Report) -> None:
    """What a run that has ended, or was closed, makes of acceptance. Only while `writing`.

    A run that passed is taken when none is, when the one that is has another fingerprint, or when it is a full one and
    that a quick one. One that was taken and has been spoiled since gives way to what was there before.
    """
    run, data = report.run, usable(settings)
    if data is not None and data["id"] == run.id:
        if of_guards(run) == "passed":
            _put(settings, run, data["by"])
        else:
            _withdraw(settings, data)
    elif report.verdict == "passed" and not _unfit(settings, run) and _better(run, data):
        _put(settings, run, "run")


def _better(run: Run, than: dict[str, Any] | None) -> bool:
    if than is None or than["fingerprint"] != run.fingerprint:
        return True
    return run.level == "full" and than["level"] == "quick"


def _unfit(settings: Settings, run: Run) -> str:
    if run.level not in PROVING:
        return f"it is a {run.level}, expected a quick or a full one"
    verdict = of_guards(run)
    if verdict != "passed":
        return f"its guards are {verdict}, expected passed; its report says which, run the battery again after the cure"
    differs = differences(run.fingerprint, settings.fingerprint)
    return f"its fingerprint is not the present one: {'; '.join(differs)}; run battery quick" if differs else ""


def _put(settings: Settings, run: Run, by: Literal["run", "hand"]) -> dict[str, Any]:
    data = usable(settings)
    again = data is not None and data["id"] == run.id
    now = data["accepted_wall"] if data is not None and again else time.time()
    before = None if data is None else data["before"] if again else data | {"before": None}
    new = {
        "schema": VERSION,
        "id": run.id,
        "level": run.level,
        "recipe": run.recipe,
        "by": by,
        "accepted": moment(now),
        "accepted_wall": now,
        "began_wall": run.began_wall,
        "fingerprint": dict(run.fingerprint),
        "guards": {result.guard: result.verdict for result in run.results},
        "measures": document.measures(run.measures),
        "before": before,
    }
    store.put_json(settings.records / FILE, new)
    return new


def _withdraw(settings: Settings, data: dict[str, Any]) -> None:
    if data["before"] is None:
        (settings.records / FILE).unlink()
    else:
        store.put_json(settings.records / FILE, data["before"])
