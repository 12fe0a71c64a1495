# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names, figures and texts as people read them. Whatever a broken answer holds becomes harmless and visible here."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from battery.model import Finding, Proof

MINUS = "\N{MINUS SIGN}"
MOST_FINDINGS = 20
MOST_LETTERS = 2000
MEASURES: Mapping[str, str] = {
    "count_tokens_per_second": "Counting, decode",
    "code_tokens_per_second": "Code, decode",
    "prose_en_tokens_per_second": "English prose, decode",
    "prose_es_tokens_per_second": "Spanish prose, decode",
    "two_streams_tokens_per_second": "Two streams together",
    "prefill_tokens_per_second": "Cold prefill",
    "turn1_ttft_seconds": "Turn 1, TTFT",
    "turn2_ttft_seconds": "Turn 2, TTFT",
    "needle_seconds": "Needle",
    "long_tokens_per_second": "Long answer, decode",
    "kv_tokens": "KV pool",
}
GUARDS: Mapping[str, str] = {
    "count": "Counting",
    "margin": "Margin alone and with a neighbour",
    "concurrent_prefill": "Concurrent prefill, KV read back",
    "acceptance": "Draft acceptance",
    "prefix_reuse": "Prefix reuse over turns",
    "corruption": "Corrupted text",
    "tools": "Tool calls",
    "smoke": "Puzzles with known answers",
    "pictures": "Images and video",
    "needles": "Needles in a long context",
    "stall": "Stalls",
    "group": "The group and its head",
    "journals": "Journals of all ranks",
}
# Control characters, halves of surrogates, what turns the direction of text, and what XML has no place for.
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufff9-\ufffb\ufffe\uffff]"
)


def visible(text: str) -> str:
    """With escapes in the place of what cannot be seen or written."""
    return UNSEEN.sub(lambda seen: f"\\u{ord(seen[0]):04x}", text.replace("\r\n", "\n"))


def clipped(text: str) -> str:
    """Visible, and no longer than anybody reads."""
    if len(text) <= MOST_LETTERS:
        return visible(text)
    return f"{visible(text[:MOST_LETTERS])}\n… {len(text) - MOST_LETTERS:,} more characters are in result.json"


def one_line(text: str) -> str:
    return " ".join(visible(text).split())


def guard(name: str) -> str:
    return GUARDS.get(name) or _plain(name)


def measure(name: str) -> str:
    return MEASURES.get(name) or _plain(name.removesuffix("_tokens_per_second").removesuffix("_seconds"))


def less_is_better(name: str) -> bool:
    return name.endswith("_seconds")


def figure(value: float | None) -> str:
    """Four digits, or all of a large number."""
    if value is None or math.isnan(value):
        return "—"
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return text.replace("-", MINUS) if "e" not in text else text


def part(ratio: float | None) -> str:
    return "—" if ratio is None else f"{100 * ratio:,.0f} %"


def spread(values: tuple[float, ...]) -> str:
    return f"{figure(min(values))} to {figure(max(values))}" if len(values) > 1 else "—"


def proof(one: Proof) -> str:
    return f"{one_line(one.what)}: {figure(one.seen)}, needed {figure(one.needed)}"


def heading(finding: Finding) -> str:
    return f"{one_line(finding.where)}: {one_line(finding.what)}" if finding.where else one_line(finding.what)


def when(wall: float) -> str:
    at = datetime.fromtimestamp(wall, UTC)
    return f"{at.day} {at:%B %Y, %H:%M} UTC"


def day(wall: float) -> str:
    at = datetime.fromtimestamp(wall, UTC)
    return f"{at.day} {at:%b %Y}"


def duration(seconds: float) -> str:
    if seconds < 10:
        return f"{max(seconds, 0.0):.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def counted(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _plain(name: str) -> str:
    text = one_line(name).replace("_", " ")
    return text[:1].upper() + text[1:]
