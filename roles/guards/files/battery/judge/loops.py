# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Phrases that come again and again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from .asked import REPEATED, SUNG
from .layout import lines
from .shown import shown

# Scripts without blanks between words are judged by character.
UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff"
WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+(?:['\u2019][^\W_{UNSPACED}]+)*")
ADDRESS = re.compile(r"https?\\?:\S+")
GRAM = 3

# A phrase in prose: 3 times, and 15 words in all; one word 8 times. Code and tables repeat themselves.
TIMES, LEAST, LEAST_OF_ONE = 3, 15, 8
TIMES_OF_CODE, LEAST_OF_CODE = 20, 200
# Numbers and single letters: rows of a matrix, marks.
LEAST_OF_TRIVIAL = 200
TIMES_SUNG = 8
# A drift: in 60 words of prose, less than a third of the groups of three words are different. Lists of equal sentences
# with a number in each are above 40 %.
WINDOW, DIFFERENT, PROSE = 60, 0.33, 0.7


class Word(NamedTuple):
    text: str
    start: int
    end: int
    prose: bool
    trivial: bool  # a number or a single letter


def loop(text: str, prompt: str) -> str:
    words = list(_words(text))
    for first, last, period in _periods(words):
        if last - first < TIMES * period:
            continue
        if _looped(words[first:last], period) and not _wanted(words[first:last], period, prompt):
            unit = words[first : first + min(period, 12)]
            return (
                f"{(last - first) / period:.0f} times {' '.join(word.text for word in unit)!r} "
                f"{shown(text, words[first].start, words[last - 1].end)}"
            )
    drift = _drift(words)
    if drift is None or _wanted(words[drift[0] : drift[0] + WINDOW], WINDOW, prompt):
        return ""
    place, different = drift
    start, end = words[place].start, words[place + WINDOW - 1].end
    return f"{WINDOW} words with {different:.0%} of their phrases different, {shown(text, start, end)}"


def _words(text: str) -> Iterator[Word]:
    for place, line, prose in lines(text):
        for found in WORD.finditer(ADDRESS.sub(lambda found: " " * len(found[0]), line)):
            text = found[0].casefold()
            trivial = text.isdigit() or (len(text) == 1 and text.isascii())
            yield Word(text, place + found.start(), place + found.end(), prose, trivial)


def _grams(words: Sequence[Word]) -> list[tuple[str, str, str]]:
    texts = [word.text for word in words]
    return list(zip(texts, texts[1:], texts[2:], strict=False))


def _periods(words: Sequence[Word]) -> Iterator[tuple[int, int, int]]:
    """Where words come again at the same distance: the first, one after the last, and the distance."""
    last_at: dict[tuple[str, ...], int] = {}
    began, distance, place = 0, 0, 0
    for place, gram in enumerate(_grams(words)):
        now = place - last_at.get(gram, place)
        if now != distance:
            if distance:
                yield began - distance, place + GRAM - 1, distance
            began, distance = place, now
        last_at[gram] = place
    if distance:
        yield began - distance, len(words), distance


def _looped(run: Sequence[Word], period: int) -> bool:
    if all(word.trivial for word in run[:period]):
        return len(run) >= LEAST_OF_TRIVIAL and any(word.prose for word in run)
    if len(run) >= max(LEAST_OF_CODE, TIMES_OF_CODE * period):
        return True
    return sum(word.prose for word in run) >= (LEAST_OF_ONE if period == 1 else LEAST)


def _wanted(run: Sequence[Word], period: int, prompt: str) -> bool:
    """The prompt says to repeat these words, repeats them itself, or wants a song."""
    if SUNG.search(prompt) and len(run) / period <= TIMES_SUNG:
        return True
    asked = [found[0].casefold() for found in WORD.finditer(prompt)]
    unit = [word.text for word in run[:period]]
    if REPEATED.search(prompt) and set(unit) <= set(asked):
        return True
    return f" {' '.join(unit * 2)} " in f" {' '.join(asked)} "


def _drift(words: Sequence[Word]) -> tuple[int, float] | None:
    """The first window with few different phrases, and their share."""
    size = WINDOW - GRAM + 1
    grams = _grams(words)
    spoken = list(accumulate((word.prose and not word.trivial for word in words), initial=0))
    held = Counter(grams[: size - 1])
    for first, gram in enumerate(grams[size - 1 :]):
        held[gram] += 1
        if len(held) < DIFFERENT * size and spoken[first + WINDOW] - spoken[first] >= PROSE * WINDOW:
            return first, len(held) / size
        old = grams[first]
        if held[old] == 1:
            del held[old]
        else:
            held[old] -= 1
    return None
