# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every part of the lab uses: its error, how a command is run, how progress is said."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class LabError(Exception):
    """Something the user can act on; shown without a traceback."""


START = time.monotonic()
SBIN = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def say(text: str) -> None:
    """One line of progress, with the seconds since the start."""
    print(f"[{time.monotonic() - START:6.1f} s] {text}", file=sys.stderr, flush=True)


def command_env() -> dict[str, str]:
    """The environment of every command: C locale, and sbin in the path, which sudo or cron may have dropped."""
    return {**os.environ, "LC_ALL": "C", "PATH": f"{os.environ.get('PATH', '')}:{SBIN}"}


def run(
    argv: Sequence[str | Path], *, check: bool = True, text: str | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command; when it fails and `check` is set, say which and what it wrote."""
    args = [str(arg) for arg in argv]
    try:
        done = subprocess.run(
            args, check=False, input=text, capture_output=True, text=True, env=command_env(), cwd=cwd,
            stdin=None if text is not None else subprocess.DEVNULL,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise LabError(f"{args[0]}: no such command") from error
    if check and done.returncode != 0:
        output = (done.stderr.strip() or done.stdout.strip())[-3000:]
        raise LabError(f"`{' '.join(args)}` failed with status {done.returncode}: {output}")
    return done


def wait_for(condition: Callable[[], bool], seconds: float, *, step: float = 0.05) -> bool:
    """Ask until it is so, at most `seconds`."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(step)
    return True


def write_atomic(path: Path, text: str, mode: int = 0o644) -> None:
    """Replace a file so that a reader sees the old or the new one, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.write_text(text)
    new.chmod(mode)
    new.rename(path)


def read_json(path: Path) -> Any:
    """What a JSON file holds; None if there is none or it is not readable as such."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


@contextmanager
def locked(path: Path, *, message: str = "") -> Iterator[None]:
    """Hold a lock file. When somebody else holds it, say so (if there is a message) and wait."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if message:
                say(message)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
