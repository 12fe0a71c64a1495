# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""status.json: how far a run is, for whoever follows it. Replaced as a whole, readable by everybody."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .model import Result
from .outcome import Measure

SCHEMA = 1


def moment(wall: float) -> str:
    """RFC 3339, in UTC."""
    return datetime.fromtimestamp(wall, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def line(text: str) -> str:
    """For the journal: one line, whatever characters a broken answer put into it."""
    return " ".join(text.encode("utf-8", "backslashreplace").decode().split())


def say(text: str) -> None:
    """Progress."""
    print(line(text), flush=True)


def warn(text: str) -> None:
    print(line(text), file=sys.stderr, flush=True)


@dataclass
class Status:
    """A run as far as it is. `began` is wall clock, `step` what runs now, `trouble` why the file is not up to date."""

    folder: Path
    run: str
    level: str
    recipe: str
    began: float
    total: int = 0
    state: str = "running"
    step: str | None = None
    results: list[Result] = field(default_factory=list)
    measures: list[Measure] = field(default_factory=list)
    trouble: str = ""

    def record(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "run": self.run,
            "level": self.level,
            "recipe": self.recipe,
            "state": self.state,
            "began": moment(self.began),
            "updated": moment(time.time()),
            "step": self.step,
            # A step may give several figures, and what was watched all along is no step.
            "steps_done": min(len(self.results) + len(self.measures), self.total),
            "steps_total": self.total,
            "results": [
                {
                    "guard": result.guard,
                    "verdict": result.verdict,
                    "summary": result.summary,
                    "seconds": round(result.seconds, 1),
                }
                for result in self.results
            ],
            "measures": [
                {"name": measure.name, "unit": measure.unit, "values": measure.values, "note": measure.note}
                for measure in self.measures
            ],
        }

    def show(self) -> None:
        """Write the file. A full disk does not end a run: it is said once."""
        trouble = write(self.folder / "status.json", self.record())
        if trouble and not self.trouble:
            warn(f"{trouble}; the run goes on, and fails at its end: make room, or put the folder right")
        self.trouble = self.trouble or trouble


def write(path: Path, data: Mapping[str, Any]) -> str:
    """Replace a file. The answer is what went wrong, or nothing."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # What UTF-8 cannot write becomes an escape that JSON reads.
        with temporary.open("w", encoding="utf-8", errors="backslashreplace") as out:
            os.fchmod(out.fileno(), 0o644)
            out.write(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        return f"{path} cannot be written: {error.strerror}"
    return ""
