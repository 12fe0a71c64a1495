# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the code that was asked for came back."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from typing import Literal

DASHES = dict.fromkeys((*range(0x2010, 0x2016), 0x2212), "-")
NOTHING = re.compile(
    r"\b(?:not|no|none|nothing|never|cannot|unable|unknown|missing)\b|n't\b|\b(?:ningún|ninguna|nada)\b",
    re.IGNORECASE,
)


def recall(answer: str, expected: str, others: Collection[str] = ()) -> Literal["right", "wrong", "missing"]:
    """`missing`: nothing came, or the answer says that there is nothing. Case, dashes and marks around are free."""
    said, wanted = _plain(answer), _plain(expected)
    if any(_has(said, re.escape(other)) for other in map(_plain, others) if other != wanted):
        return "wrong"
    if _has(said, re.escape(wanted)):
        return "right"
    if not re.search(r"\w", said):
        return "missing"
    alike = any(map(str.isdigit, wanted)) and _has(said, _shape(wanted))
    return "missing" if NOTHING.search(said) and not alike else "wrong"


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).translate(DASHES).replace("\\", "").casefold().strip()


def _has(text: str, pattern: str) -> bool:
    """As a whole word: not a part of a longer code, nor of a decimal fraction."""
    return re.search(rf"(?<![\w])(?<!\w-)(?<!\d[.,]){pattern}(?!\w|-\w|[.,]\d)", text) is not None


def _shape(code: str) -> str:
    """As many digits, any letters."""
    parts = re.findall(r"\d+|[^\W\d]+|\W", code)
    return "".join(
        rf"\d{{{len(part)}}}" if part.isdigit() else r"[^\W\d]+" if part.isalpha() else re.escape(part)
        for part in parts
    )
