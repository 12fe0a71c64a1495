# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tokens that do not belong into a sentence: `#`, a `0` before a word, ends of code.

A token that is a word of the language, or makes one, cannot be told without a dictionary (Q17, `carrierhed` of Q20).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .asked import CODED
from .layout import lines, spoken
from .shown import shown

SMALL = re.compile(
    r"\b(?:the|an?|is|are|was|were|of|and|to|in|that|with|for|on|as|its?|by|at|from|this|el|la|los|las|de|del|que|y|en|"
    r"una?|es|por|con|se)\b",
    re.IGNORECASE,
)
SENTENCE = 2  # small words in a line that is a sentence
HASH = re.compile(
    r"(?<=[a-zà-ɏ,]) ?#{2,}(?!\w)"
    r"|(?<=[a-zà-ɏ,]) # (?=[a-zà-ɏ])(?!of\b|keys?\b|signs?\b|symbols?\b|characters?\b|marks?\b|prompts?\b|buttons?\b)"
    r"|(?<!\S)[a-zà-ɏ]{2,20}#(?=[a-zà-ɏ\s,.;:!?]|$)"
)
ZERO = re.compile(r"(?<![\w.,#/\\-])0(?!x|[a-f]+\b|days?\b|deg|min|sec|[kmg]?hz|bits?\b|bytes?\b|[kmg]i?b)[a-z]{3,}\b")
CODE = re.compile(r"\}\s?\)|\)\s?\{|\(\);|\]\);|\);\s?\}|;\s?\}|\bnullptr\b")
# With more of it, the line is code.
CODED_LINE = re.compile(r'[{}\[\]=<>"_]|\w[.(]\w')


def stray(text: str, prompt: str) -> str:
    coded = CODED.search(prompt) is not None
    for place, line, prose in lines(text):
        said = spoken(line)
        for found in _strays(said, prose, coded):
            return f"{found[0].strip()!r} {shown(text, place + found.start(), place + found.end())}"
    return ""


def _strays(line: str, prose: bool, coded: bool) -> Iterator[re.Match[str]]:
    yield from ZERO.finditer(line)
    if not prose or coded or line.lstrip().startswith("#") or "\\" in line:
        return
    if len(SMALL.findall(line)) >= SENTENCE:
        yield from HASH.finditer(line)
        if not CODED_LINE.search(CODE.sub("", line)):
            yield from CODE.finditer(line)
