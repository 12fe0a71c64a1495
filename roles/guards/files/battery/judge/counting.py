# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counting from 1, exactly."""

from __future__ import annotations

import re

# A list mark that is the number itself: `1. 1`.
DOUBLED = re.compile(r"^[ \t]*(\d+)[.)][ \t]+(?=\1\b)", re.MULTILINE)
NUMBER = re.compile(r"\d+")
LETTER = re.compile(r"[^\W\d_]")
SEPARATORS = re.compile(r"[ \t,;]+")


def counted(text: str, to: int) -> str:
    """Empty when the text has one full run 1..to, whatever stands between and before; else what is wrong first."""
    text = DOUBLED.sub("", text)
    found = list(NUMBER.finditer(text))
    # A number of thousands of digits is no number to count to, and Python refuses to read it.
    seen = [int(each[0]) if len(each[0]) < 20 else -1 for each in found]
    starts = [place for place, number in enumerate(seen) if number == 1]
    if not starts:
        return f"no 1 in it: seen {', '.join(each[0][:20] for each in found[:5]) or 'no number'}, expected 1 to {to}"
    start = max(starts, key=lambda place: _length(seen, place))
    length = min(_length(seen, start), to)
    after = seen[start + length :]
    if length < to:
        if not after:
            return f"it ends after {length}, expected {to}"
        return f"after {length} comes {found[start + length][0][:20]}, expected {length + 1}"
    if after and (
        after[0] == to + 1 or not LETTER.search(text, found[start + to - 1].end(), found[start + to].start())
    ):
        return f"after {to} comes {found[start + to][0][:20]}, expected the end"
    if any(after[place : place + 3] == [1, 2, 3] for place in range(len(after))):
        return f"after {to} it counts again, expected the end"
    if start and seen[start - 1] == 1 and SEPARATORS.fullmatch(text, found[start - 1].end(), found[start].start()):
        return "after 1 comes 1, expected 2"
    return ""


def _length(seen: list[int], start: int) -> int:
    length = 0
    while start + length < len(seen) and seen[start + length] == length + 1:
        length += 1
    return length
