# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that tell others how it is: replaced as a whole, readable by everybody, without a secret."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .config import Config


@dataclass(frozen=True)
class Ended:
    """Why a life ended. Times in the loop are those of the monotonic clock, in the files those of the wall."""

    reason: str
    rank: int
    host: str
    detail: str
    at: float

    def record(self) -> dict[str, Any]:
        return asdict(self) | {"at": wall(self.at)}


@dataclass(frozen=True)
class View:
    """What state.json tells beside who tells it."""

    state: str
    since: float
    detail: str
    life: str | None = None
    child: int | None = None
    ranks: tuple[tuple[int, str, str, str | None], ...] = ()
    ended: Ended | None = None

    def record(self, config: Config, invocation: str, boot_id: str) -> dict[str, Any]:
        names = ("rank", "host", "state", "invocation")
        return {
            "schema": 1,
            "recipe": config.recipe,
            "rank": config.rank,
            "host": config.me.host,
            "state": self.state,
            "since": wall(self.since),
            "life": self.life,
            "group": config.group,
            "invocation": invocation,
            "boot_id": boot_id,
            "child": self.child,
            "detail": self.detail,
            "ranks": [dict(zip(names, entry, strict=True)) for entry in self.ranks],
            "ended": self.ended.record() if self.ended else None,
        }


def wall(at: float) -> float:
    return round(time.time() - time.monotonic() + at, 3)


def write(path: Path, record: dict[str, Any]) -> str:
    """Replace a file. A full disk must not end a group that serves: the answer is what went wrong, or nothing."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("w", encoding="utf-8") as out:
            os.fchmod(out.fileno(), 0o644)
            out.write(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        temporary.replace(path)
    except OSError as error:
        return f"{path} cannot be written: {error.strerror}"
    return ""


def read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}
