# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bytes that became the wrong characters: U+FFFD, and UTF-8 that was read as CP1252 or Latin-1."""

from __future__ import annotations

import re

from .shown import shown

# Also as JSON escapes: a client that joins chunks without a parser leaves them.
REPLACEMENT = re.compile(r"\ufffd|\\+u[fF]{3}[dD]")
REPLACEMENT_ASKED = re.compile(r"U\+?FFFD|replacement char|invalid (?:byte|utf)", re.IGNORECASE)

# What the second to fourth bytes of UTF-8 read as.
NEXT = "".join(re.escape(bytes([byte]).decode("cp1252", "ignore")) for byte in range(0x80, 0xC0)) + "\x80-\x9f"
# Only what no language writes: capitals before Ã or Â are a word in capitals, and é» is French.
MISREAD = re.compile(
    rf"(?<![A-ZÀ-Þ])[ÃÂ][{NEXT}]|â[€\x80†]|â\u201a¬|â„¢|ï¿½|ï»¿|ðŸ|(?:[ÐÑ][{NEXT}]){{3}}|(?:[ã-í][{NEXT}]{{2}}){{2}}"
)
MISREAD_ASKED = re.compile(r"mojibake|cp-?1252|latin-?1|utf-?8", re.IGNORECASE)


def replaced(text: str, prompt: str) -> str:
    """U+FFFD beyond those of the prompt."""
    return _beyond(REPLACEMENT, REPLACEMENT_ASKED, text, prompt)


def misread(text: str, prompt: str) -> str:
    return _beyond(MISREAD, MISREAD_ASKED, text, prompt)


def _beyond(sign: re.Pattern[str], asked: re.Pattern[str], text: str, prompt: str) -> str:
    seen = list(sign.finditer(text))
    own = sum(1 for _hit in sign.finditer(prompt))
    if len(seen) <= own or asked.search(prompt):
        return ""
    return f"{len(seen)} in {len(text)} characters, {own} in the prompt; the first {shown(text, *seen[0].span())}"
