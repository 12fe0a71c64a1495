# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests that run beside others, because they go on for as long as they are told to."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from battery.model import Answer, Question, Server

LOOK, MOST_SECONDS = 0.02, 30.0


def going_on(question: Question, tokens: int) -> Question:
    """So many tokens are generated, whatever the model has to say."""
    return replace(question, max_tokens=tokens, extra={**question.extra, "ignore_eos": True})


async def started(server: Server, group: asyncio.TaskGroup, question: Question) -> asyncio.Task[Answer]:
    """A request that is being generated when this returns, unless that took too long: its answer tells."""
    before = await server.counters()
    stream = group.create_task(server.ask(question))
    for _look in range(int(MOST_SECONDS / LOOK)):
        if stream.done() or (await server.counters()).generated_tokens > before.generated_tokens:
            break
        await asyncio.sleep(LOOK)
    return stream
