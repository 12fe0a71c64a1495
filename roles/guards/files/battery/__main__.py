# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges the server of a recipe: python3 -I FOLDER LEVEL --settings FILE

Exit codes: 0 passed, 1 a guard failed, 2 the settings cannot be used, 3 a guard could not say, or the run could not be
kept, 4 a guard was not exercised, 5 another run is not over, 143 ended by SIGTERM. A canary that meets another run is
skipped: 0.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

if not __package__:  # run as a folder: Python put the folder itself on the path, the package is one above
    sys.path[0:1] = []
    sys.path.append(str(Path(__file__).resolve().parent.parent))

from battery.lock import Busy, held
from battery.run import execute
from battery.settings import Settings, SettingsError, read
from battery.status import Status, say, warn

BAD_SETTINGS, BUSY = 2, 5


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="battery", description="Judges the answers and the speed of a recipe's server.")
    levels = top.add_subparsers(dest="level", required=True, metavar="LEVEL")
    for name, words in {
        "quick": "all guards, bounded in time, and the speed",
        "full": "all guards at full length, and the speed",
        "canary": "the few guards that cost little; skipped while another run is not over",
        "soak": "mixed traffic for hours, with guards in between",
        "accept": "take a run as what others are compared with",
        "close": "add what the journals of all ranks said during a run",
    }.items():
        level = levels.add_parser(name, help=words, description=words)
        level.add_argument("--settings", type=Path, required=True, metavar="FILE")
        if name in ("accept", "close"):
            level.add_argument("run", nargs="?", metavar="RUN", help="the last one without")
            if name == "close":
                level.add_argument("--journals", required=True, metavar="FILE", help="by host; - is standard input")
        elif name == "soak":
            level.add_argument("--hours", type=float, required=True)
        else:
            level.add_argument("--salt", metavar="TEXT", help="the same salt makes the same texts; a new one without")
    return top


def main(arguments: list[str]) -> int:
    asked = parser().parse_args(arguments)
    try:
        settings = read(asked.settings)
        if asked.level in ("accept", "close"):
            from battery.record import cli  # noqa: PLC0415

            return cli.main_accept(settings, asked) if asked.level == "accept" else cli.main_close(settings, asked)
        return _judge(settings, asked)
    except SettingsError as error:
        warn(str(error))
        return BAD_SETTINGS
    except Busy as busy:
        canary = asked.level == "canary"
        (say if canary else warn)(f"{'skipped: ' if canary else ''}{busy}")
        return 0 if canary else BUSY


def _judge(settings: Settings, asked: argparse.Namespace) -> int:
    api, began = settings.api(), time.time()
    run = f"{datetime.fromtimestamp(began, UTC):%Y%m%dT%H%M%SZ}-{asked.level}"
    with held(settings.records, run, began) as trouble:
        if trouble:
            warn(f"{trouble}; the run goes on, and fails at its end: make room, or put the folder right")
        if asked.level == "soak":
            from battery import soak  # noqa: PLC0415

            return soak.main(settings, asked.hours)
        status = Status(settings.records, run, asked.level, settings.recipe, began, trouble=trouble)
        return asyncio.run(execute(settings, api, status, asked.salt or secrets.token_hex(4)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
