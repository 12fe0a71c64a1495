# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Prometheus text to samples, and the label of an info metric to what it stands for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_LINE = re.compile(
    r"(?P<name>[A-Za-z_:][A-Za-z0-9_:]*)[ \t]*"
    r'(?:\{(?P<labels>(?:[^"}]|"(?:\\.|[^"\\])*")*)\})?[ \t]*(?P<value>[^ \t{}"]+)(?:[ \t]+-?\d+)?[ \t]*'
)
_LABEL = re.compile(r'[ \t]*([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*"((?:\\.|[^"\\])*)"[ \t]*(?:,|$)')
_ESCAPE = re.compile(r"\\(.)")
_WORDS: Mapping[str, bool | None] = {"None": None, "True": True, "False": False}


@dataclass(frozen=True, slots=True)
class Sample:
    """One line of the text."""

    name: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


def samples(text: str) -> Iterator[Sample]:
    """All that the text has. Comments, and lines that are none of the format, are passed over."""
    for raw in text.split("\n"):
        match = None if raw.startswith("#") else _LINE.fullmatch(raw.strip("\r \t"))
        if match is None:
            continue
        labels = _labels(match["labels"] or "")
        try:
            value = float(match["value"])
        except ValueError:
            continue
        if labels is not None:
            yield Sample(match["name"], value, labels)


def _labels(text: str) -> dict[str, str] | None:
    """Nothing when a part of it is no label."""
    found: dict[str, str] = {}
    place = 0
    while place < len(text):
        match = _LABEL.match(text, place)
        if match is None:
            return None if text[place:].strip() else found
        found[match[1]] = _ESCAPE.sub(lambda one: "\n" if one[1] == "n" else one[1], match[2])
        place = match.end()
    return found


def meaning(text: str) -> str | int | float | bool | None:
    """A label's text, which Python wrote, as what it was."""
    if text in _WORDS:
        return _WORDS[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
