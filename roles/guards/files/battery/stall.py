# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests that run while nothing comes out: seen in the counters, and what the ranks' processes do meanwhile."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path

from . import head
from .model import Counters, Server, ServerError

DUMP_SECONDS = 60.0
ABSENT = "py-spy is not on this machine: install it and its dump shows in which function a rank is stuck"


def stalled(history: Sequence[Counters], seconds: float) -> str:
    """What is wrong, or nothing. `history` is in order of time, and should reach back for as long as `seconds`.

    A stall is requests that run or wait at each look while no token is generated and no prompt computed. Slow is no
    stall, and counters that went down are a new start of the server. vLLM counts a prompt when all of it is computed:
    `seconds` has to be more than the longest prefill takes.
    """
    since: float | None = None
    before: Counters | None = None
    for look in history:
        moved = before is not None and (
            look.generated_tokens != before.generated_tokens or look.prompt_tokens != before.prompt_tokens
        )
        if look.running + look.waiting <= 0:
            since = None
        elif moved or since is None:
            since = look.at
        before = look
    if before is None or since is None or before.at - since < seconds:
        return ""
    return (
        f"{before.running:.0f} requests run and {before.waiting:.0f} wait, and for {before.at - since:.0f} s no token "
        f"was generated and no prompt computed, expected some within {seconds:g} s"
    )


async def watch(server: Server, seconds: float, every: float, on_stall: Callable[[str], Awaitable[object]]) -> None:
    """Until it is cancelled. `on_stall` is called once for each stall.

    A server whose counters cannot be read shows no stall: who asks it something learns what is wrong with it.
    """
    history: list[Counters] = []
    told = False
    while True:
        with suppress(ServerError, TimeoutError):
            async with asyncio.timeout(max(every, seconds)):
                history.append(await server.counters())
            # One look from before the span is enough to know that it is a whole one.
            while len(history) > 2 and history[1].at <= history[-1].at - seconds:
                del history[0]
            words = stalled(history, seconds)
            if words and not told:
                await on_stall(words)
            told = bool(words)
        await asyncio.sleep(every)


def dumps(pids: Sequence[int], folder: Path, seconds: float = DUMP_SECONDS) -> list[Path]:
    """The files with what py-spy says of each process. Blocks; OSError when the folder cannot be written."""
    folder.mkdir(parents=True, exist_ok=True)
    program = shutil.which("py-spy")
    if program is None:
        return [_put(folder / "py-spy.txt", ABSENT)]
    ends_at = time.monotonic() + seconds
    found = []
    for pid in pids:
        argv = [program, "dump", "--pid", str(pid)]
        limit = max(1.0, ends_at - time.monotonic())
        try:
            done = subprocess.run(argv, capture_output=True, check=False, timeout=limit, stdin=subprocess.DEVNULL)
            said = (done.stdout + done.stderr).decode("utf-8", "replace")
            text = said or f"py-spy said nothing and ended with exit code {done.returncode}"
        except subprocess.TimeoutExpired as late:
            said = ((late.stdout or b"") + (late.stderr or b"")).decode("utf-8", "replace")
            text = f"{said}py-spy was ended after {limit:.0f} s"
        except OSError as error:
            text = f"{program} could not be started: {error.strerror}"
        found.append(_put(folder / f"py-spy-{pid}.txt", text))
    return found


async def dumped(state_file: Path, folder: Path) -> list[Path]:
    """The same files, of all processes of this machine's rank. OSError as there."""
    now = head.life(state_file)
    pids = head.family(now.child) if now and now.child else []
    return await asyncio.to_thread(dumps, pids, folder)


def _put(path: Path, text: str) -> Path:
    path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    return path
