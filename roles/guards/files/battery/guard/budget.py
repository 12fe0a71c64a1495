# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The time that a guard has. It is looked at between steps, so that what was found is kept."""

from __future__ import annotations

import time
from dataclasses import dataclass

from battery.model import Task


@dataclass(frozen=True, slots=True)
class Budget:
    """`seconds` as the task gave them; `ends_at` on the monotonic clock."""

    seconds: float
    ends_at: float

    @classmethod
    def of(cls, task: Task) -> Budget:
        return cls(task.budget_seconds, time.monotonic() + task.budget_seconds)

    @property
    def left(self) -> float:
        return self.ends_at - time.monotonic()

    @property
    def spent(self) -> bool:
        return self.left <= 0

    def missed(self, made: int, wanted: int, what: str) -> str:
        """What was not come to, for the end of a summary; nothing when it was."""
        return f"; {wanted - made} of {wanted} {what} not come to in {self.seconds:.0f} s" if made < wanted else ""
