# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Log-probabilities of what was generated."""

from __future__ import annotations

import math
from collections.abc import Sequence

from battery.model import Score

# What servers write for minus infinity, or for what they did not compute (Q56).
SENTINEL = -9000.0
ENOUGH = 16


def margin(scores: Sequence[Score], first: int = 4) -> float | None:
    """The lowest log-probability of the first tokens; minus infinity when one is not a number.

    None where nothing was measured: no scores, no alternatives beside them, or values that stand for none.
    """
    judged = scores[:first]
    if not judged or any(not score.others for score in judged):
        return None
    if any(math.isnan(score.logprob) for score in judged):
        return -math.inf
    lowest = min(score.logprob for score in judged)
    return None if lowest <= SENTINEL else lowest


def frozen(scores: Sequence[Score]) -> bool:
    """Whether each of 16 tokens or more has the same log-probability (Q52). 0 is that of forced tokens (N25)."""
    values = {"nan" if math.isnan(score.logprob) else score.logprob for score in scores}
    return len(scores) >= ENOUGH and len(values) == 1 and not values & {0.0, *(v for v in values if _sentinel(v))}


def _sentinel(value: str | float) -> bool:
    return isinstance(value, float) and value <= SENTINEL
