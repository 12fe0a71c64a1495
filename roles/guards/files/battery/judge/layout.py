# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which lines of an answer are prose, and which are code, tables or dumps, where odd characters are at home."""

from __future__ import annotations

import re
from collections.abc import Iterator

FENCE = re.compile(r"\s*(?:```|~~~)")
TABLE = re.compile(r"\s*\|.*\|\s*$|(?:[^|]*\|){3}")
DUMP = re.compile(r"\s*[0-9a-fA-F]{4,}[:\s]\s*(?:[0-9a-fA-F]{2,4}\s+){2}")
SYMBOLS = re.compile(r"[;{}()\[\]=<>\\]")
SENTENCE = re.compile(r"(?:[^\W\d_]{2,40},? ){2}[^\W\d_]{2}")
INLINE = re.compile(r"`[^`\n]+`|\b[a-z][a-z0-9+.-]{0,20}://\S+|\$[^$\n]+\$")


def lines(text: str) -> Iterator[tuple[int, str, bool]]:
    """Each line with its place in the text and whether it is prose."""
    fenced, place = False, 0
    for line in text.splitlines(keepends=True):
        fence = FENCE.match(line) is not None
        yield place, line, not (fenced or fence) and prose(line)
        fenced ^= fence and line.count("```") < 2
        place += len(line)


def prose(line: str) -> bool:
    """Three words in a row are prose, whatever stands around them."""
    if TABLE.match(line) or DUMP.match(line):
        return False
    return SYMBOLS.search(line) is None or SENTENCE.search(line) is not None


def spoken(line: str) -> str:
    """The line without code, addresses and formulas within it: blanks are left, so that places stay."""
    return INLINE.sub(lambda found: " " * len(found[0]), line)
