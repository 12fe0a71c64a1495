# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Journals as vllm_journal_info gives them, out of text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
T0 = 1_796_000_000.0
INVOCATION = "a" * 32
_RANK = re.compile(r"R(?P<rank>\d+)(?P<kernel>k?)(?:@(?P<second>[\d.]+))?\| ?(?P<text>.*)")


def line(text: str, at: float, **more: Any) -> dict[str, Any]:
    """A line C(at) seconds after T0."""
    return {
        "time": T0 + at,
        "monotonic": 1000.0 + at,
        "priority": 6,
        "source": "unit",
        "invocation": INVOCATION,
        "boot": "b" * 32,
        "pid": 4711,
        "message": text,
    } | more


def journal(lines: Iterable[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"lines": list(lines), "unit": {}, "host": {}, "read_at": None, "omitted": 0} | more


def said(*texts: str, start: float = 0.0, step: float = 1.0, **more: Any) -> dict[str, Any]:
    """A journal of these lines, C(step) seconds apart."""
    return journal(line(text, start + step * place, **more) for place, text in enumerate(texts))


def from_text(text: str) -> dict[int, dict[str, Any]]:
    """Journals of all ranks, out of lines as they are in cases.txt."""
    ranks: dict[int, list[dict[str, Any]]] = {}
    for place, raw in enumerate(text.splitlines()):
        match = _RANK.match(raw)
        rank = int(match["rank"]) if match else 0
        at = float(match["second"]) if match and match["second"] else float(place)
        more = {"source": "kernel", "invocation": ""} if match and match["kernel"] else {}
        ranks.setdefault(rank, []).append(line(match["text"] if match else raw, at, **more))
    return {rank: journal(lines) for rank, lines in ranks.items()}


def cases() -> dict[str, str]:
    """The fragments of cases.txt, by name."""
    found: dict[str, list[str]] = {}
    name = ""
    for raw in (HERE / "cases.txt").read_text(encoding="utf-8").splitlines():
        if raw.startswith("=== "):
            name = raw[4:]
        elif name:
            found.setdefault(name, []).append(raw)
    return {name: "\n".join(lines) for name, lines in found.items()}


def recorded(name: str) -> dict[str, Any]:
    """A recording of a real vLLM: seconds, a tab, the line as JSON."""
    lines = []
    for raw in (HERE / "recorded" / name).read_text(encoding="utf-8").splitlines():
        second, _tab, text = raw.partition("\t")
        lines.append(line(json.loads(text), float(second)))
    return journal(lines)


def key(answer: Mapping[str, Any]) -> tuple[Any, ...]:
    """What an answer asserts."""
    return tuple(answer[name] for name in ("verdict", "rank", "code", "line", "cause", "cure"))
