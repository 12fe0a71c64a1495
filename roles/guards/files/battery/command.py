# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A program, run with a limit. Whatever becomes of it, nothing of it is left behind."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

MOST_LETTERS = 300


@dataclass(frozen=True, slots=True)
class Done:
    """`code` is none when it could not be started, or was ended at the limit: `why` says which. Else it is empty."""

    code: int | None
    out: bytes = b""
    error: bytes = b""
    why: str = ""

    @property
    def words(self) -> str:
        """Why it did not go well, in one line; nothing when it did."""
        if self.code == 0:
            return ""
        last = " ".join((self.error.strip() or self.out.strip()).decode("utf-8", "replace").split())[-MOST_LETTERS:]
        return (self.why or f"it ended with exit code {self.code}") + (f": {last}" if last else "")


async def run(argv: Sequence[str], seconds: float, environment: Mapping[str, str] | None = None) -> Done:
    """In the C locale, with no input. Its whole process group goes with it."""
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C", **(environment or {})},
            start_new_session=True,
        )
    except OSError as error:
        return Done(None, why=f"{argv[0]} could not be started: {error.strerror}")
    try:
        async with asyncio.timeout(seconds):
            out, errors = await process.communicate()
    except TimeoutError:
        return Done(None, why=f"it was ended after {seconds:g} s")
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return Done(process.returncode, out, errors)
