# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Acceptance of drafts. It falls in healthy runs and holds in broken ones: only a dead draft head is a sign."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import zip_longest

from battery.model import Counters

ENOUGH = 100  # drafts, before an exact 0 says something
MANY, ALMOST_NOTHING = 200, 0.05  # drafts of one token, and a rate that no text explains

LINE = re.compile(
    r"SpecDecoding metrics:.*?\bAccepted: (?P<accepted>\d+) tokens, Drafted: (?P<drafted>\d+) tokens, "
    r"Per-position acceptance rate: (?P<positions>\d\.\d+(?:, \d\.\d+)*)"
)


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Drafts, their tokens, the accepted ones, and the share of drafts that was accepted at each position."""

    drafts: float
    drafted: float
    accepted: float
    positions: tuple[float, ...]

    @property
    def rate(self) -> float:
        """Not a number without drafts."""
        return self.accepted / self.drafted if self.drafted else math.nan

    @property
    def mean_length(self) -> float:
        """Tokens of a step, with the one that is not drafted. Not a number without drafts."""
        return 1 + self.accepted / self.drafts if self.drafts else math.nan


def between(before: Counters, after: Counters) -> Acceptance | None:
    """None without speculative decoding, or when the server restarted in between."""
    deltas = []
    for first, last in (
        (before.drafts, after.drafts),
        (before.draft_tokens, after.draft_tokens),
        (before.accepted_tokens, after.accepted_tokens),
        *zip_longest(before.accepted_at, after.accepted_at, fillvalue=0.0),
        (before.generated_tokens, after.generated_tokens),
    ):
        if first is None or last is None or last < first:
            return None
        deltas.append(last - first)
    drafts, drafted, accepted, *at, _rest = deltas
    return Acceptance(drafts, drafted, accepted, tuple(count / drafts for count in at) if drafts else ())


def parsed(line: str) -> Acceptance | None:
    """The counts of a line that vLLM logs; None for any other. Its rates per second are averages with idle time."""
    found = LINE.search(line)
    if found is None:
        return None
    positions = tuple(map(float, found["positions"].split(", ")))
    drafted = float(found["drafted"])
    return Acceptance(drafted / len(positions), drafted, float(found["accepted"]), positions)


def collapse(acceptance: Acceptance, collapse: float | None) -> str:
    """The draft head's death in words, else empty; `collapse` is the recipe's rate, none leaves it out."""
    drafts, positions = acceptance.drafts, acceptance.positions
    if collapse is None or drafts < ENOUGH:
        return ""
    seen = f"{acceptance.accepted:.0f} of {acceptance.drafted:.0f} drafted tokens accepted in {drafts:.0f} drafts"
    if not acceptance.accepted:
        return f"{seen}, expected some: the draft head and the model have nothing in common"
    if len(positions) > 1 and not any(positions[1:]):
        rates = ", ".join(f"{rate:.3f}" for rate in positions)
        return f"by position {rates}, expected some after the first: {seen}"
    if len(positions) == 1 and drafts >= MANY and acceptance.rate < min(collapse, ALMOST_NOTHING):
        return f"{seen} ({acceptance.rate:.1%}), expected {ALMOST_NOTHING:.0%} or more of a single position"
    return ""
