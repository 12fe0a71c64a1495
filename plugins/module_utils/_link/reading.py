# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""What a tool gave back, whichever it was."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

KILLED_AFTER = 2
"""Seconds after which C(timeout) kills a tool that did not end when it was asked to."""

TIMED_OUT = (124, 137)
"""How C(timeout) says that it had to end the tool, by asking and by killing."""

SILENT = "nothing came of it until the time limit"
"""A server that no client came to, or a client whose server stopped to answer."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of one run of a tool.

    ``gbps`` is null when there is no figure, never 0; then ``words`` says why, as the tool does. ``met`` is false when
    the two ends did not meet (nobody listens, or the port cannot be had yet), so that trying again makes sense.
    """

    gbps: float | None
    words: str = ""
    met: bool = True


def bounded(seconds: float, argv: list[str]) -> list[str]:
    """The command under a time limit of its own: it ends even if all that started it is gone."""
    return ["timeout", f"--kill-after={KILLED_AFTER}", f"{seconds:.1f}", *argv]


def positive(value: object) -> float | None:
    """A figure that can be one: a number above 0."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return float(value) if math.isfinite(value) and value > 0 else None


def quoted(lines: Iterable[str], limit: int = 3) -> str:
    """The last lines that say something, in one."""
    said = [" ".join(line.split()) for line in lines]
    return "; ".join([line for line in said if line.strip("-* ")][-limit:])


def ended(rc: int) -> str:
    """The exit status in words."""
    return "it was stopped at its time limit" if rc in TIMED_OUT else f"it ended with {rc}"
