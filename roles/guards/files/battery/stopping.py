# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ending tasks, for sure.

A cancellation can be lost within the HTTP client (seen once with httpx 0.28 over anyio 4.8, while it read /metrics).
Who waits for a task that has no end of its own then waits for ever, so it is cancelled until it is over.
"""

from __future__ import annotations

import asyncio
from typing import Any

AGAIN_SECONDS, SIGNAL_SECONDS = 1.0, 5.0


async def stopped(*tasks: asyncio.Task[Any], again: float = AGAIN_SECONDS) -> None:
    """Cancel them until they are over. What they raise is not raised here."""
    left = {task for task in tasks if not task.done()}
    while left:
        for task in left:
            task.cancel()
        _over, left = await asyncio.wait(left, timeout=again)
    await asyncio.gather(*tasks, return_exceptions=True)


def cancel_until(over: asyncio.Event, task: asyncio.Task[Any], again: float = SIGNAL_SECONDS) -> None:
    """Cancel it now, and again until `over` is set."""
    if not over.is_set():
        task.cancel()
        asyncio.get_running_loop().call_later(again, cancel_until, over, task, again)
