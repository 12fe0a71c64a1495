# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""What the ring test of arx says, a test that comes with the serving image (kindlingai, test_ring.py).

It ends with `RESULT ring: PASS` and exits 0, 1 when a check failed, 3 when its own watchdog ended it. Only this is
relied on: the rest of its output has not been seen by us.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

WATCHDOG = 3
_RESULT = re.compile(r"^RESULT (?:ring|mesh): (?P<verdict>\w+)(?P<rest>.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Result:
    """Whether it passed, and its own words, or what is missing."""

    passed: bool
    words: str


def read(rc: int, stdout: str) -> Result:
    """A pass needs both: the line and the exit status."""
    lines = list(_RESULT.finditer(stdout))
    if rc == WATCHDOG:
        return Result(False, "its watchdog ended it after 120 s: a neighbour did not answer")
    if not lines:
        last = stdout.strip().splitlines()[-1:] or ["nothing"]
        return Result(False, f"it ended with {rc} and without a line RESULT; the last it said: {last[0]}")
    words = lines[-1][0]
    return Result(rc == 0 and lines[-1]["verdict"] == "PASS", words if rc == 0 else f"{words} (exit status {rc})")
