# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One character, tens of times. Rules, bars, dumps, hashes and base64 have long runs too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from string import ascii_letters, digits

from .asked import DRAWN, REPEATED
from .layout import lines
from .shown import shown

LOUD, LETTERS, DIGITS, LINES, OTHERS, RULE, BLANKS = 10, 15, 40, 60, 20, 400, 2000
RUN = re.compile(r"(.)\1{9,}", re.DOTALL)
SPACED = re.compile(r"([!\uff01?#/])(?:\s{1,2}\1){11,}")
# What lines are drawn with, and what stands for any letter.
RULES = frozenset("-=_*.~`|+xX·•─━═│┃║█▓▒░▁▂▄\u2013\u2014…<>^")
# Of zeros, that are a whole field: a MAC, a word in binary, a hash.
ZEROS = re.compile(r"(?<![\w.,:-])0{12,}(?![\w:-])|0{129,}")
WIDTHS = frozenset((12, 16, 24, 32, 40, 48, 56, 64, 96, 128))
ZEROS_ASKED = re.compile(r"000|\b(?:binary|bits?|hex\w*|zeros?|zeroes|dump)\b", re.IGNORECASE)
ENCODED = frozenset(ascii_letters + digits + "+/=_-")
NEAR = 64
REST, REST_KINDS = 8, 4
LONGEST_RULE = 120
BAR = re.compile(r"[-.=_> ]*[])|]")


def burst(text: str, prompt: str) -> str:
    code = frozenset(place for place, _line, prose in lines(text) if not prose)
    for start, end in sorted(_runs(text, prompt, code)):
        run = text[start:end]
        if run[:LOUD] not in prompt and not _wanted(run[0], prompt):
            return f"{run[0]!r} {run.count(run[0])} times {shown(text, start, end)}"
    return ""


def _wanted(mark: str, prompt: str) -> bool:
    """The prompt asks for a drawing, or for this character many times."""
    if mark not in "!\uff01" and DRAWN.search(prompt):
        return True
    return re.search(rf"(?<!\w){re.escape(mark)}(?!\w)", prompt) is not None and REPEATED.search(prompt) is not None


def _runs(text: str, prompt: str, code: frozenset[int]) -> Iterator[tuple[int, int]]:
    for found in RUN.finditer(text):
        if found.end() - found.start() >= _least(found[1]) and not _at_home(text, *found.span(), code):
            yield found.span()
    for found in SPACED.finditer(text):
        if not _framed(text, *found.span(), code):
            yield found.span()
    for found in () if ZEROS_ASKED.search(prompt) else ZEROS.finditer(text):
        if len(found[0]) not in WIDTHS:
            yield found.span()


def _least(mark: str) -> int:
    """How many of a character are a burst. Zeros are judged by themselves."""
    if mark in "!\uff01?\uff1f#/@$&":
        return LOUD
    if mark in RULES:
        return RULE
    if mark.isspace():
        return LINES if mark in "\r\n" else BLANKS
    if mark.isdigit():
        return RULE if mark == "0" else DIGITS
    return LETTERS if mark.isalpha() else OTHERS


def _at_home(text: str, start: int, end: int, code: frozenset[int]) -> bool:
    mark = text[start]
    if mark.isalnum() or mark in "+/":
        around = text[max(0, start - NEAR) : start][::-1], text[end : end + NEAR]
        rest = "".join("".join(takewhile(ENCODED.__contains__, side)) for side in around)
        if len(rest) >= REST and len(set(rest)) >= REST_KINDS:
            return True
    framed = start > 0 and text[start - 1] in "[(|" and BAR.match(text, end) is not None
    return framed or (mark in "#/@" and _framed(text, start, end, code))


def _framed(text: str, start: int, end: int, code: frozenset[int]) -> bool:
    """A rule of comments or below a title, a banner, or the edge of a drawing.

    `code` has the places of the lines that are no prose.
    """
    mark = text[start]
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    last = len(text) if last < 0 else last
    line = text[first:last].strip()
    if len(line) > LONGEST_RULE:
        return False
    if set(line) - {mark, " "}:
        return line.startswith(mark * 3) and line.endswith(mark * 3)
    beside = (text[:first].rstrip().rpartition("\n")[2].strip(), text[last:].lstrip().partition("\n")[0].strip())
    titled = bool(beside[0]) and abs(len(beside[0]) - len(line)) <= 1
    return first in code or titled or any(other.startswith(mark) and set(other) != {mark} for other in beside)
