# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A piece of a word that is said again without a blank: `locklock`, `QSSQSSQSS`, `'s's's's`."""

from __future__ import annotations

import re

from .layout import lines, spoken
from .shown import shown

LETTER = "A-Za-zÀ-ɏЀ-ӿ"
TWICE = re.compile(rf"([{LETTER}]{{4,20}})\1")
THRICE = re.compile(rf"([{LETTER}]{{3,20}}?)\1{{2,}}")
OFTEN = re.compile(rf"([{LETTER}]{{2}})\1{{11,}}|(?:['\u2019][{LETTER}]){{5,}}")
WORD = re.compile(rf"[{LETTER}]+")
# Words that are built so. Languages that build many are not judged by this: none of them is asked in.
WORDS = re.compile(
    r"agaragar|beriberi|chowchow|couscous|froufrou|hotshots|hulahula|mahimahi|periperi|piripiri|wikiwiki"
    r"|(?:blah|bla|cha|nom|rah|yum)+",
    re.IGNORECASE,
)
LAUGH = 24  # letters: hahahaha is none of it


def repeated(text: str, prompt: str) -> str:
    for place, line, prose in lines(text):
        if not prose:
            continue
        said = spoken(line)
        for sign in (THRICE, TWICE, OFTEN):
            for found in sign.finditer(said):
                if _built(said, found) or found[0] in prompt:
                    continue
                return f"{found[0][:40]!r} {shown(text, place + found.start(), place + found.end())}"
    return ""


def _built(line: str, found: re.Match[str]) -> bool:
    """A cry or a laugh of one or two letters, one letter that is judged as a burst, and words that are built so."""
    said = found[0]
    short = said[:-1] == said[1:] or said[:-2] == said[2:]
    if short and said.isalpha() and (len(said) < LAUGH or said[0] == said[1]):
        return True
    whole = next((word[0] for word in WORD.finditer(line) if word.start() <= found.start() < word.end()), "")
    return WORDS.fullmatch(whole) is not None
