# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures, and pictures over time: plain fields of colour, made here, whose order the model has to tell."""

from __future__ import annotations

import base64
import random
import re
import struct
import zlib
from collections.abc import Sequence

from battery.model import Finding, Proof, Question, Result, Server, Task, judged
from battery.speed.rate import PLAIN

from .budget import Budget

NAME = "pictures"
COLOURS = {"red": (220, 20, 20), "green": (20, 160, 40), "blue": (30, 60, 220), "yellow": (240, 220, 30)}
SIDE = 96
FRAMES, TIMES = 4, 3


def png(fields: Sequence[str]) -> bytes:
    """Fields of colour from left to right."""
    row = b"\0" + b"".join(bytes(COLOURS[fields[x * len(fields) // SIDE]]) for x in range(SIDE))
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(row * SIDE)),
        (b"IEND", b""),
    )
    chunks = [
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in parts
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _shown(fields: Sequence[str]) -> dict[str, object]:
    return {
        "type": "image_url",
        "image_url": {"url": f"data:image/png;base64,{base64.b64encode(png(fields)).decode()}"},
    }


def asks(orders: Sequence[Sequence[str]], words: str) -> Question:
    content: list[dict[str, object]] = [_shown(fields) for fields in orders]
    return Question(({"role": "user", "content": [*content, {"type": "text", "text": words}]},), 60, extra=dict(PLAIN))


async def judge(server: Server, task: Task) -> Result:
    """One picture of four fields, and four frames of one colour each, three times."""
    images, video = task.guards.images, task.guards.video
    if not images and not video:
        return Result(NAME, "not asked", "the model has no eyes, or the recipe leaves it out")
    chance, budget = random.Random(task.salt), Budget.of(task)  # noqa: S311 (an order, not a secret)
    findings: list[Finding] = []
    seen, wanted = 0, TIMES * (images + video)
    for number in range(1, TIMES + 1):
        order = chance.sample(sorted(COLOURS), FRAMES)
        for kind, orders, words in _tries(order, images, video):
            if budget.spent:
                break
            answer = await server.ask(asks(orders, words))
            said = re.findall(rf"\b(?:{'|'.join(COLOURS)})\b", answer.content.lower())
            seen += 1
            if said != order:
                what = f"expected {', '.join(order)}, it said {answer.content[:200]!r}"
                findings.append(Finding("wrong colours", f"{kind}, try {number}", what))
    summary = f"{seen - len(findings)} of {seen} seen right{budget.missed(seen, wanted, 'pictures')}"
    return judged(NAME, summary, tuple(findings), (Proof("pictures", seen, wanted),))


def _tries(order: list[str], images: bool, video: bool) -> list[tuple[str, list[list[str]], str]]:
    """What it is, the fields of each picture, and the question."""
    tries = []
    if images:
        tries.append(("a picture", [order], "Name the colours of the fields from left to right, and nothing else."))
    if video:
        words = "These are frames in order of time. Name the colour of each, in order, and nothing else."
        tries.append(("frames of a video", [[colour] for colour in order], words))
    return tries
