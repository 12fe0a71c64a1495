# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Latin letters that the language of an answer does not have, such as ø for ő in Hungarian (Q16).

Only languages that some letter of theirs gives away; nothing is said of a text in two of them.
"""

from __future__ import annotations

import re

from .scripts import ANY
from .shown import shown

# The letters that give a language away, and its others.
LANGUAGES = (("őű", "áéíóöúü"), ("ąęłńśźż", "óć"), ("ěřů", "áčďéíňóšťúýž"))
SURE = 3
# Of words that are at home in every language: crème brûlée, façade, jalapeño.
BORROWED = "àâæçèéêëîïñôœùûüö"
WORD = re.compile(r"[^\W\d_]+")


def foreign(text: str, prompt: str) -> str:
    if text.isascii() or ANY.search(prompt):
        return ""
    both = (text + prompt).lower()
    counts = {marks + more: sum(map(both.count, marks)) for marks, more in LANGUAGES}
    spoken = [letters for letters, count in counts.items() if count]
    if len(spoken) != 1 or counts[spoken[0]] < SURE:
        return ""
    known = set(spoken[0] + BORROWED)
    for found in WORD.finditer(text):
        word = found[0]
        # Capitals are names, which keep their letters.
        if word[0].islower() and word not in prompt:
            strange = [mark for mark in word if "\u00df" <= mark <= "\u024f" and mark.lower() not in known]
            if strange:
                return f"{strange[0]!r} is no letter of this language, {shown(text, *found.span())}"
    return ""
