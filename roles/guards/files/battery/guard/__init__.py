# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guards, in the order in which they run: what costs least and says most comes first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from battery.guard import (
    acceptance,
    concurrent_prefill,
    corruption,
    count,
    margin,
    needles,
    pictures,
    prefix_reuse,
    smoke,
    tools,
)
from battery.model import Result, Server, Task

GUARDS: tuple[tuple[str, Callable[[Server, Task], Awaitable[Result]]], ...] = (
    (count.NAME, count.judge),
    (margin.NAME, margin.judge),
    (concurrent_prefill.NAME, concurrent_prefill.judge),
    (acceptance.NAME, acceptance.judge),
    (prefix_reuse.NAME, prefix_reuse.judge),
    (corruption.NAME, corruption.judge),
    (tools.NAME, tools.judge),
    (smoke.NAME, smoke.judge),
    (pictures.NAME, pictures.judge),
    (needles.NAME, needles.judge),
)
# Cheap enough for every hour: answers that turned soft or wrong with age show in these.
CANARY = (count.NAME, margin.NAME, prefix_reuse.NAME)
