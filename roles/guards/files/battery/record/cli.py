# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""battery accept [RUN] and battery close [RUN] --journals FILE."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from battery.head import error_lines
from battery.settings import Settings
from battery.status import say, warn

from . import acceptance, closing, history, store

REFUSED = 2
# As the exit codes of a run.
CODES = {"passed": 0, "failed": 1, "incomplete": 3, "not exercised": 4}


def main_accept(settings: Settings, args: argparse.Namespace) -> int:
    """`args.run`, or the last quick or full run. Exit code 0, or 2 when it cannot be accepted."""
    try:
        data = acceptance.accept(settings, args.run or _last(settings, acceptance.PROVING))
    except (store.RecordError, OSError) as error:
        warn(str(error))
        return REFUSED
    say(f"run {data['id']} ({data['level']}) is accepted: others are compared with it")
    return 0


def main_close(settings: Settings, args: argparse.Namespace) -> int:
    """`args.run`, or the last one; `args.journals` is a file, - standard input. Exit code as that of the run."""
    try:
        place = str(args.journals)
        text = sys.stdin.read() if place == "-" else Path(place).read_text(encoding="utf-8", errors="replace")
        run = args.run or _last(settings)
        said = {host: _errors(journal) for host, journal in closing.parse(text, place).items()}
        path = closing.close(settings, run, said)
        verdict, sentence = (store.get_run(settings.records, run)[name] for name in ("verdict", "sentence"))
    except (store.RecordError, OSError) as error:
        warn(str(error))
        return REFUSED
    say(f"run {run}: {verdict}: {sentence} Its record is {path}")
    return CODES[verdict]


def _errors(journal: Mapping[str, Any]) -> dict[str, Any]:
    """Of all lines that a rank said, those that are errors."""
    lines: list[Mapping[str, Any]] = [{"MESSAGE": line} for line in journal["errors"]]
    return {**journal, "errors": error_lines(lines)}


def _last(settings: Settings, levels: tuple[str, ...] = ()) -> str:
    runs = [run.id for run in history.read(settings.records) if not levels or run.level in levels]
    if not runs:
        raise store.RecordError(f"no {' or '.join(levels)} run is kept in {settings.records}: run battery quick")
    return runs[-1]
