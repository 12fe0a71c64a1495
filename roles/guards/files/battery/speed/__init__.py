# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The benchmark: one file for each kind of measurement. Names are those of the recipe's speed, and the KV pool's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from battery.model import Server
from battery.outcome import Measure, SpeedTask

from . import decode, long, pool, prefill, turns

MEASURES: tuple[tuple[str, Callable[[Server, SpeedTask], Awaitable[Measure]]], ...] = (
    *decode.measures(),
    (prefill.NAME, prefill.cold),
    (turns.FIRST, turns.first),
    (turns.SECOND, turns.second),
    (pool.NAME, pool.size),
    (long.NAME, long.answer),
)
