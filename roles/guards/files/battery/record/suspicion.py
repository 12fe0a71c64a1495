# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""suspect.json: a guard failed while the server was in use, and nothing has cleared it since."""

from __future__ import annotations

import time
from typing import Any

from battery.render.report import Report
from battery.render.words import guard, heading
from battery.settings import Settings
from battery.status import moment

from . import store
from .acceptance import PROVING
from .schema import VERSION
from .verdict import of_guards

FILE = "suspect.json"
MOST_LETTERS = 4000


def mark_suspect(settings: Settings, why: str, evidence: str, run: str = "") -> None:
    """Why in a line, and what shows it. A suspicion that is there keeps its beginning."""
    with store.writing(settings.records):
        _mark(settings, why, evidence, run)


def suspect(settings: Settings) -> dict[str, Any] | None:
    """What suspect.json says; none without. RecordError when it cannot be read: that is no all-clear."""
    return store.get(settings.records / FILE)


def settle(settings: Settings, report: Report) -> None:
    """What a run that has ended, or was closed, makes of suspicion. Only while `writing`.

    A guard that failed is one, whatever the level. A quick or full one that passed clears what was there when it began,
    and what it said itself before it was closed again; not what a canary has found since.
    """
    run = report.run
    if of_guards(run) == "failed":
        failed = [result for result in run.results if result.verdict == "failed"]
        why = "; ".join(f"{guard(result.guard)}: {result.summary}" for result in failed)
        findings = [finding for result in failed for finding in result.findings]
        evidence = "\n".join(f"{heading(finding)}\n{finding.evidence}" for finding in findings)
        _mark(settings, why, evidence, run.id)
    elif report.verdict == "passed" and run.level in PROVING:
        path = settings.records / FILE
        try:
            data = suspect(settings)
        except store.RecordError:
            path.unlink()
            return
        if data is not None and (data["run"] == run.id or data["last_wall"] <= run.began_wall):
            path.unlink()


def _mark(settings: Settings, why: str, evidence: str, run: str) -> None:
    try:
        data = suspect(settings)
    except store.RecordError:
        data = None
    now = time.time()
    since = now if data is None else data["since_wall"]
    store.put_json(
        settings.records / FILE,
        {
            "schema": VERSION,
            "run": run,
            "why": why,
            "evidence": evidence[:MOST_LETTERS],
            "since": moment(since),
            "since_wall": since,
            "last_wall": now,
        },
    )
