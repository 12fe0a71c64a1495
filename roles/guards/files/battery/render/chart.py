# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Charts as SVG that stands in a page: it takes its colours from the page, and says in words what it shows.

Each is drawn in a box 340 wide, about what it gets on a telephone, so that its letters are as large there as here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from .words import figure

WIDTH = 340


@dataclass(frozen=True, slots=True)
class Bar:
    """`kind` is run, accepted or expected. `least` and `most` are the spread, where there is one."""

    label: str
    kind: str
    value: float
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """`when` in words. `filled` is a full run, `here` the one that the page is of."""

    when: str
    value: float
    filled: bool
    here: bool


def bars(name: str, title: str, words: str, entries: Sequence[Bar]) -> str:
    """Horizontal bars from zero. `name` is unique in the page."""
    left, right, step, thick = 66, 268, 28, 14
    top = max((max(each.value, each.most or 0.0) for each in entries), default=0.0) or 1.0

    def at(value: float) -> float:
        return left + (right - left) * max(value, 0.0) / top

    parts = []
    for number, each in enumerate(entries):
        y = 4 + number * step
        middle = y + thick / 2
        parts.append(f'<text class="label" x="0" y="{middle + 4:g}">{escape(each.label)}</text>')
        width = max(at(each.value) - left, 1)
        parts.append(f'<rect class="bar {each.kind}" x="{left}" y="{y}" width="{width:.1f}" height="{thick}" rx="2"/>')
        if each.least is not None and each.most is not None and each.most > each.least:
            ends = f"M{at(each.least):.1f} {y + 3}v{thick - 6}M{at(each.most):.1f} {y + 3}v{thick - 6}"
            parts.append(f'<path class="spread" d="M{at(each.least):.1f} {middle:g}H{at(each.most):.1f}{ends}"/>')
        parts.append(f'<text class="value" x="{WIDTH}" y="{middle + 4:g}">{figure(each.value)}</text>')
    parts.append(f'<path class="axis" d="M{left} 0V{len(entries) * step - 4}"/>')
    return _svg(name, title, words, len(entries) * step - 2, parts)


def trend(name: str, title: str, words: str, points: Sequence[Point]) -> str:
    """The medians of run after run, at equal distances. The height is the range that was seen, not from zero."""
    left, right, top, bottom = 62, 330, 12, 84
    values = [point.value for point in points]
    low, high = min(values), max(values)

    def x(number: int) -> float:
        return (left + right) / 2 if len(points) == 1 else left + 8 + (right - left - 16) * number / (len(points) - 1)

    def y(value: float) -> float:
        return (top + bottom) / 2 if high == low else bottom - (bottom - top) * (value - low) / (high - low)

    parts = [f'<path class="axis" d="M{left} {top - 6}V{bottom + 8}H{right}"/>']
    for value in sorted({low, high}):
        parts.append(f'<path class="grid" d="M{left} {y(value):.1f}H{right}"/>')
        parts.append(f'<text class="value" x="{left - 6}" y="{y(value) + 4:.1f}">{figure(value)}</text>')
    line = " ".join(f"{x(number):.1f},{y(value):.1f}" for number, value in enumerate(values))
    parts.append(f'<polyline class="line" points="{line}"/>')
    for number, point in enumerate(points):
        kind = "point" + (" filled" if point.filled else "") + (" here" if point.here else "")
        place = f'cx="{x(number):.1f}" cy="{y(point.value):.1f}" r="{5 if point.here else 3.5}"'
        note = f"<title>{escape(point.when)}: {figure(point.value)}</title>"
        parts.append(f'<circle class="{kind}" {place}>{note}</circle>')
    parts.append(f'<text class="label" x="{left}" y="108">{escape(points[0].when)}</text>')
    if len(points) > 1:
        parts.append(f'<text class="value label" x="{right}" y="108">{escape(points[-1].when)}</text>')
    return _svg(name, title, words, 114, parts)


def _svg(name: str, title: str, words: str, height: float, parts: Sequence[str]) -> str:
    return (
        f'<svg role="img" aria-labelledby="{name}-t {name}-d" viewBox="0 0 {WIDTH} {height:g}">'
        f'<title id="{name}-t">{escape(title)}</title><desc id="{name}-d">{escape(words)}</desc>{"".join(parts)}</svg>'
    )
