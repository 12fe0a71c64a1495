# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a place in a text is shown in a finding."""

from __future__ import annotations

AROUND, LONGEST = 24, 60


def shown(text: str, start: int, end: int) -> str:
    """The place and a little around it, in one line."""
    first, last = max(0, start - AROUND), min(end, start + LONGEST) + AROUND
    piece = "".join(mark if mark.isprintable() else mark.encode("unicode_escape").decode() for mark in text[first:last])
    return f"at character {start}: {'…' * (first > 0)}{piece}{'…' * (last < len(text))}"
