# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder of a recipe's records. A reader sees a file or a run whole, as it was or as it is, and nothing between.

runs/ID/ holds one run; latest.json, accepted.json and suspect.json lie beside runs/. All is readable by everybody.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

LOCK = ".writing"


class RecordError(Exception):
    """A record cannot be used as it was asked: what was seen, and what to do, in one line."""


@contextmanager
def writing(records: Path) -> Iterator[None]:
    """One writer at a time: a canary may end while a run is closed. OSError when the folder cannot be written."""
    (records / "runs").mkdir(parents=True, exist_ok=True)
    lock = os.open(records / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _tidy(records / "runs")
        yield
    finally:
        os.close(lock)


def folder(records: Path, run: str) -> Path:
    return records / "runs" / run


def put(path: Path, text: str) -> None:
    """Replace a file."""
    temporary = path.with_name(f".{path.name}.new")
    try:
        _write(temporary, text)
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink()


def put_json(path: Path, data: Mapping[str, Any]) -> None:
    put(path, as_json(data))


def put_run(records: Path, run: str, files: Mapping[str, str]) -> Path:
    """Replace a run. Only while `writing`."""
    path = folder(records, run)
    new, old = _beside(path, "new"), _beside(path, "old")
    try:
        new.mkdir()
        for name, text in files.items():
            _write(new / name, text)
        if path.exists():
            path.replace(old)
        new.replace(path)
    finally:
        # A half that could not be written, or the run that was replaced: the same as a crash leaves.
        _tidy(path.parent)
    return path


def as_json(data: Mapping[str, Any]) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def get(path: Path) -> dict[str, Any] | None:
    """None where there is no file. RecordError when it is not JSON."""
    try:
        data = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}; put it right, or remove it") from None
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{path} is not JSON ({error}); remove it, and run the battery again") from None
    if not isinstance(data, dict):
        raise RecordError(f"{path} holds no object; remove it, and run the battery again")
    return data


def names(records: Path) -> list[str]:
    """The runs that are kept, in the order of their names."""
    try:
        return sorted(path.name for path in (records / "runs").iterdir() if not path.name.startswith("."))
    except FileNotFoundError:
        return []


def get_run(records: Path, run: str) -> dict[str, Any]:
    """The run's result.json. RecordError when there is none."""
    kept = names(records)
    data = get(folder(records, run) / "result.json") if run in kept else None
    if data is None:
        there = f"the last ones are {', '.join(kept[-3:])}" if kept else "there is none"
        raise RecordError(f"no run {run!r} is kept in {records / 'runs'}: {there}")
    return data


def remove_run(records: Path, run: str) -> None:
    """Gone under its name at once, then as a whole."""
    path = folder(records, run)
    gone = _beside(path, "gone")
    path.replace(gone)
    shutil.rmtree(gone)


def _beside(path: Path, what: str) -> Path:
    return path.with_name(f".{path.name}.{what}")


def _tidy(runs: Path) -> None:
    """What a writer that died has left: the run that it was about to replace comes back, its own half goes."""
    for path in runs.glob(".*"):
        name = path.name[1:].removesuffix(".old")
        if path.name.endswith(".old") and not (runs / name).exists():
            path.replace(runs / name)
        else:
            shutil.rmtree(path, ignore_errors=True)


def _write(path: Path, text: str) -> None:
    # What UTF-8 cannot write becomes an escape, which JSON reads.
    with path.open("w", encoding="utf-8", errors="backslashreplace") as out:
        os.fchmod(out.fileno(), 0o644)
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
