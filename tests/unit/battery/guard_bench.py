# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of the guards share: the thresholds of the lab's recipe, and a guard run on the fake engine."""

from __future__ import annotations

from typing import Any

from battery.guard import GUARDS
from battery.model import Guards, Result, Task

from tests.unit.battery.fake_engine import FakeEngine, played

CALLS = dict(GUARDS)
LAB: dict[str, Any] = {
    "count_to": 100,
    "count_runs": 3,
    "acceptance_least": 0.30,
    "acceptance_collapse": 0.10,
    "corruption_passes": 1,
    "documents": 8,
    "documents_least": 3,
    "block_tokens": 128,
    "margin_least": -0.05,
    "needle_tokens": (1000, 3000),
    "needles": 3,
    "needle_depths_percent": (10, 50, 90),
    "tool_calls": 8,
    "smoke_cases": 8,
    "images": True,
    "video": True,
    "preemptions_most": 0,
    "stall_seconds": 60,
}


def task(quick: bool = True, budget: float = 600.0, context: int = 4096, **changed: Any) -> Task:
    return Task(Guards(**(LAB | changed)), context, quick, "7f3a9c21", budget)


def judged(name: str, engine: FakeEngine, what: Task | None = None) -> Result:
    async def asked() -> Result:
        return await CALLS[name](engine, what or task())

    return played(asked())


def proved(result: Result) -> dict[str, bool]:
    return {proof.what: proof.met for proof in result.proofs}
