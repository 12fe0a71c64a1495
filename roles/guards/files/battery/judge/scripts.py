# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Letters of a script that neither the prompt has nor asks for."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache

from .shown import shown

# By the first word of a character's name. Latin is at home everywhere: names, units, code.
KINDS = {"CJK": "Han", "IDEOGRAPHIC": "Han", "HIRAGANA": "kana", "KATAKANA": "kana", "KATAKANA-HIRAGANA": "kana"} | {
    name: name.capitalize()
    for name in (  # noqa: SIM905
        "ARABIC ARMENIAN BENGALI BOPOMOFO CYRILLIC DEVANAGARI ETHIOPIC GEORGIAN GREEK GUJARATI GURMUKHI HANGUL HEBREW "
        "KANNADA KHMER LAO MALAYALAM MONGOLIAN MYANMAR ORIYA SINHALA TAMIL TELUGU THAI TIBETAN"
    ).split()
}
LETTERS = re.compile(r"[^\W\d_A-Za-z\u00aa-\u024f\u1e00-\u1eff]+")
# Latin and Cyrillic in one word, both small: a token of another word was glued on.
MIXED = re.compile(r"[a-z][\u0430-\u044f]|[\u0430-\u044f][a-z]")

LANGUAGES = {
    r"chinese|mandarin|cantonese|hanzi|chin[oa]|chinois|chinesisch": {"Han"},
    r"japan\w*|kanji|hiragana|katakana|japon\w*": {"Han", "kana"},
    r"korean?\w*|hangul|hangeul|hanja|corean[oa]|coréen": {"Hangul", "Han"},
    r"russian|ukrainian|bulgarian|serbian|belarusian|macedonian|kazakh|mongolian|cyrillic|rus[oa]|russe": {"Cyrillic"},
    r"arabic|persian|farsi|urdu|árabe|arabe": {"Arabic"},
    r"hebrew|yiddish|hebreo": {"Hebrew"},
    r"greek|griego|grec": {"Greek"},
    r"thai": {"Thai"},
    r"hindi|sanskrit|marathi|nepali|devanagari": {"Devanagari"},
    r"bengali": {"Bengali"},
    r"tamil": {"Tamil"},
    r"georgian": {"Georgian"},
    r"armenian": {"Armenian"},
}
ANY = re.compile(
    r"\b(?:(?<!programming )languages|multilingual|translat\w*|alphabets?|writing systems?|unicode|"
    r"internationali[sz]\w*|locali[sz]\w*|idiomas|lenguas|traduc\w*|langues|sprachen|übersetz\w*)\b|翻译|번역|перевед",
    re.IGNORECASE,
)
Run = tuple[int, int, str]
SYMBOL = 2  # Greek of one or two letters is mathematics
AT_HOME = 0.25  # without a prompt, a script with this share of the letters is what the answer is written in
FEW, MANY_SCRIPTS = 2, 3


def foreign(text: str, prompt: str, *, sampled: bool) -> str:
    """`sampled`: above temperature 0, where up to two foreign words of one script are left to the model."""
    seen = [run for run in _runs(text) if not (run[2] == "Greek" and run[1] - run[0] <= SYMBOL)]
    if not seen or ANY.search(prompt):
        return ""
    allowed = _named(prompt) | {script for _start, _end, script in _runs(prompt)}
    if not re.search(r"[^\W\d_]", prompt):
        allowed |= _home(text)
    strays = list(_unexplained(text, [run for run in seen if run[2] not in allowed]))
    scripts = Counter(script for _start, _end, script in strays)
    if strays and not (sampled and len(strays) <= FEW and len(scripts) < MANY_SCRIPTS):
        start, end, _script = strays[0]
        counts = ", ".join(f"{count} of {script}" for script, count in scripts.most_common())
        return f"{len(strays)} words ({counts}), the first {shown(text, start, end)}"
    mixed = MIXED.search(text)
    return f"Latin and Cyrillic in one word, {shown(text, *mixed.span())}" if mixed else ""


def _runs(text: str) -> list[Run]:
    """Runs of letters of one script that is not Latin: where, and which."""
    runs: list[Run] = []
    for found in () if text.isascii() else LETTERS.finditer(text):
        for place, letter in enumerate(found[0], found.start()):
            script = _script(letter)
            if script and runs and runs[-1][1:] == (place, script):
                runs[-1] = (runs[-1][0], place + 1, script)
            elif script:
                runs.append((place, place + 1, script))
    return runs


@lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    """Empty for Latin, and for signs that belong to no script."""
    words = unicodedata.name(letter, "").removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ").split()
    return KINDS.get(words[0], "") if words else ""


def _named(text: str) -> set[str]:
    """The scripts of the languages that a text speaks of."""
    named: set[str] = set()
    for names, scripts in LANGUAGES.items():
        if re.search(rf"\b(?:{names})\b", text, re.IGNORECASE):
            named |= scripts
    return named


def _home(text: str) -> set[str]:
    letters = sum(map(str.isalpha, text))
    shares: Counter[str] = Counter()
    for start, end, script in _runs(text):
        shares[script] += end - start
    return {script for script, count in shares.items() if count >= AT_HOME * letters}


def _unexplained(text: str, runs: Iterable[Run]) -> Iterator[Run]:
    """Without those whose line says which language it is, and the Han of a Korean word, in brackets behind it."""
    line_end, named = -1, set[str]()
    for start, end, script in runs:
        if start >= line_end:
            line_end = text.find("\n", end)
            line_end = len(text) if line_end < 0 else line_end
            named = _named(text[text.rfind("\n", 0, start) + 1 : line_end])
        hanja = script == "Han" and re.search(r"[\uac00-\ud7a3] ?[(\uff08]$", text[max(0, start - 3) : start])
        if script not in named and not hanja:
            yield start, end, script
