# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the controller adds once a run is over: what the journals of all ranks say of the time that it took."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from battery.model import Finding, Proof, Result
from battery.render.words import counted
from battery.settings import Settings

from . import document, keeping, store

GUARD = "journals"
FIELDS: Mapping[str, type] = {"errors": list, "restarts": int, "read": bool, "why": str}


def close(settings: Settings, run_id: str, journals: Mapping[str, Mapping[str, Any]]) -> Path:
    """Write the run anew with the guard of the journals, and all that hangs on its verdict.

    By host: `errors` (lines), `restarts` (of its unit), `read` and, where it was not, `why`. RecordError when there is
    no such run, OSError when it cannot be written.
    """
    with store.writing(settings.records):
        data = store.get_run(settings.records, run_id)
        run = document.run(data)
        others = tuple(result for result in run.results if result.guard != GUARD)
        return keeping.keep(
            settings,
            replace(run, results=(*others, judged(journals))),
            document.baseline(data),
            data["speed_is_gate"],
            time.time(),
        )


def judged(journals: Mapping[str, Mapping[str, Any]]) -> Result:
    """A line or a restart fails, whatever was not read; a rank that was not read leaves the rest unknown."""
    findings: list[Finding] = []
    for host, journal in sorted(journals.items()):
        findings += [Finding("an error line", host, line) for line in journal["errors"]]
        if journal["restarts"]:
            findings.append(
                Finding("its unit started again", host, f"{counted(journal['restarts'], 'time')} during the run")
            )
    unread = [f"{host} ({journal['why']})" for host, journal in sorted(journals.items()) if not journal["read"]]
    read = len(journals) - len(unread)
    lines = sum(len(journal["errors"]) for journal in journals.values())
    restarts = sum(journal["restarts"] for journal in journals.values())
    said = f"{counted(lines, 'error line')}, {counted(restarts, 'restart')}"
    summary = f"{read} of {counted(len(journals), 'rank')} read: {said}"
    if unread:
        summary += f"; not read: {', '.join(unread)}"
    complete = bool(journals) and not unread
    return Result(
        GUARD,
        "failed" if findings else "passed" if complete else "unknown",
        summary,
        tuple(findings),
        (Proof("journals of ranks read", read, max(len(journals), 1)),),
        {"error_lines": lines, "restarts": restarts},
    )


def parse(text: str, place: str) -> dict[str, dict[str, Any]]:
    """The file that the controller wrote. RecordError with what is wrong with it."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise store.RecordError(f"{place} is not JSON: {error}; run playbooks/battery.yml, which writes it") from None
    if not isinstance(data, dict) or not all(_fits(each) for each in data.values()):
        fields = ", ".join(f"{name} ({kind.__name__})" for name, kind in FIELDS.items())
        raise store.RecordError(
            f"{place}: expected an object by host, each with {fields} and lines of text; run playbooks/battery.yml"
        )
    return data


def _fits(journal: object) -> bool:
    if not isinstance(journal, dict) or journal.keys() != FIELDS.keys():
        return False
    right = all(isinstance(journal[name], kind) for name, kind in FIELDS.items())
    right = right and not isinstance(journal["restarts"], bool)
    return right and all(isinstance(line, str) for line in journal["errors"])
