# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tasks that lose a cancellation: a run in the lab hung on one for twelve minutes."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from battery.model import Counters, Question
from battery.speed.rate import watched
from battery.stopping import cancel_until, stopped

from tests.unit.battery.fake_engine import FakeEngine


async def loses(count: int, seen: list[int]) -> None:
    """Goes on for ever but for the cancellation after so many."""
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append(1)
            if len(seen) > count:
                raise


@pytest.mark.parametrize("lost", [0, 1, 3])
def test_a_task_is_cancelled_until_it_is_over(lost: int) -> None:
    async def go() -> list[int]:
        seen: list[int] = []
        task = asyncio.create_task(loses(lost, seen))
        await asyncio.sleep(0)
        async with asyncio.timeout(10):
            await stopped(task, again=0.01)
        assert task.cancelled()
        return seen

    assert len(asyncio.run(go())) == lost + 1


def test_what_they_raise_is_not_raised() -> None:
    async def breaks() -> None:
        raise ValueError

    async def go() -> None:
        task = asyncio.create_task(breaks())
        await asyncio.sleep(0)
        await stopped(task, asyncio.create_task(breaks()))

    asyncio.run(go())


def test_a_signal_is_heard_until_the_run_is_over() -> None:
    async def go() -> int:
        seen: list[int] = []
        over, task = asyncio.Event(), asyncio.create_task(loses(2, seen))
        await asyncio.sleep(0)
        cancel_until(over, task, again=0.01)
        async with asyncio.timeout(10):
            with suppress(asyncio.CancelledError):
                await task
        over.set()
        await asyncio.sleep(0.05)
        return len(seen)

    assert asyncio.run(go()) == 3


def test_a_look_that_loses_its_end_does_not_hold_up_the_rate() -> None:
    class Loses(FakeEngine):
        """Its counters swallow the first cancellation."""

        lost = False

        async def counters(self) -> Counters:
            try:
                await asyncio.sleep(0.2)
            except asyncio.CancelledError:
                if self.lost:
                    raise
                self.lost = True
            return await super().counters()

    async def go() -> bool:
        server = Loses()
        async with asyncio.timeout(20):
            await watched(server, [Question.plain("Count from 1 to 20.", 50)], every=0.001)
        return server.lost

    assert asyncio.run(go())
