# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""What the diagnosis says, and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .causes import Choice
from .journal import Line

FOUND, UNDECIDED, UNKNOWN, DIED, HANG = "found", "undecided", "unknown", "died", "hang"
SECONDARY, NO_JOURNAL, NOTHING = "secondary", "no_journal", "nothing"
LONGEST = 600


@dataclass(frozen=True, slots=True)
class Quote:
    """A line of a rank."""

    rank: int | str
    line: Line
    code: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {"rank": self.rank, "time": self.line.time, "code": self.code, "line": self.line.text[:LONGEST]}


@dataclass(frozen=True, slots=True)
class Answer:
    """C(rank) is the one to look at, C(printed_by) the one whose journal has the line, as a rule the same."""

    verdict: str
    certain: bool = False
    rank: int | str | None = None
    printed_by: int | str | None = None
    code: str | None = None
    cause: str = ""
    cure: str = ""
    check: str = ""
    choices: tuple[Choice, ...] = ()
    line: Line | None = None
    began: float | None = None
    invocation: str = ""
    ranks: tuple[int | str, ...] = ()
    also: tuple[Quote, ...] = ()
    secondary: tuple[Quote, ...] = ()
    last: tuple[Quote, ...] = ()
    missing: tuple[int | str, ...] = ()
    doubts: tuple[str, ...] = ()
    clocks: dict[int | str, float] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "certain": self.certain,
            "summary": self.summary(),
            "rank": self.rank,
            "printed_by": self.printed_by,
            "ranks": list(self.ranks),
            "code": self.code,
            "cause": self.cause,
            "cure": self.cure,
            "check": self.check,
            "choices": [choice.as_dict() for choice in self.choices],
            "line": self.line.text[:LONGEST] if self.line else None,
            "time": self.line.time if self.line else None,
            "began": self.began,
            "invocation": self.invocation,
            "also": [quote.as_dict() for quote in self.also],
            "secondary": [quote.as_dict() for quote in self.secondary],
            "last": [quote.as_dict() for quote in self.last],
            "missing": list(self.missing),
            "doubts": list(self.doubts),
            "clocks": {str(rank): round(seconds, 3) for rank, seconds in self.clocks.items()},
        }

    def summary(self) -> str:
        """One sentence, or a few."""
        said = {
            FOUND: f"rank {self.rank}: {self.cause}",
            DIED: f"rank {self.rank}: {self.cause}",
            UNKNOWN: f"unknown: rank {self.rank} has the first error, and nothing here knows it",
            UNDECIDED: f"rank {self.rank}: {self.cause or self.code}, which has several causes: "
            + "; or ".join(choice.cause for choice in self.choices),
            HANG: f"a hang without an error: {self.cause}",
            SECONDARY: f"only secondary lines: {self.cause or 'something failed before'}",
            NO_JOURNAL: self.cause,
            NOTHING: "no error in the journals",
        }[self.verdict]
        parts = [said]
        if self.missing:
            absent = "no journal from rank " + ", ".join(map(str, self.missing))
            parts = [part for part in parts if part] + [absent]
        quoted = f'. It said: "{self.line.text.strip()[:LONGEST]}"' if self.line and self.verdict != NOTHING else ""
        decide = f". What decides: {self.check}" if self.verdict in (UNDECIDED, SECONDARY, HANG) and self.check else ""
        return "; ".join(parts) + quoted + decide
