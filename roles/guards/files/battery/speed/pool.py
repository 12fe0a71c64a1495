# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many tokens the KV cache holds, as the server resolved it."""

from __future__ import annotations

from battery.model import Server
from battery.outcome import Measure, SpeedTask

NAME = "kv_tokens"


async def size(server: Server, _task: SpeedTask) -> Measure:
    tokens = (await server.counters()).kv_tokens
    if tokens is None:
        return Measure(NAME, "tokens", (), "vllm:cache_config_info of /metrics says neither tokens nor blocks")
    return Measure(NAME, "tokens", (float(tokens),))
