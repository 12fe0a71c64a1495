# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run of a recipe at a time: two would be each other's traffic."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .status import moment


class Busy(Exception):  # noqa: N818 (it is no error of anybody)
    """Another run of this recipe is not over. The text says which, and since when."""


@contextmanager
def held(folder: Path, run: str, began: float) -> Iterator[str]:
    """Hold the lock; `Busy` when another does. What is given is why there is no lock, or nothing.

    A folder that cannot be written has no lock and no records either: that is said, and the run goes on.
    """
    path = folder / "lock"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        yield f"{path} cannot be opened: {error.strerror}"
        return
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(f"{_holder(lock)} is not over: follow it in {folder / 'status.json'}, or wait") from None
        with contextlib.suppress(OSError):  # a full disk: only the words are missing
            os.ftruncate(lock, 0)
            os.write(lock, json.dumps({"run": run, "since": moment(began)}).encode())
        yield ""
    finally:
        os.close(lock)


def _holder(lock: int) -> str:
    try:
        data = json.loads(os.pread(lock, 4096, 0))
        return f"run {data['run']}, which began at {data['since']},"
    except (ValueError, KeyError, TypeError):
        return "another run"
