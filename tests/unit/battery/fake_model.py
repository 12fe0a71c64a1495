# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A model whose answers are known: it counts, finds codes, calls a tool, names colours, and knows what it was told.

It reads as the lab's model does: the key that is asked for is moved to the end, and what followed it is the answer.
"""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

from battery.model import Call, Question

PIECES = re.compile(r"<\|\w+\|>|K\d{4}|C\d{4}|\w+|[^\w\s]|\n")
WEATHER = re.compile(r"weather in (\w+) on day (\d+)")
PICTURE_TOKENS = 64
PROSE = {
    "[가-힣]": "바다는 빛의 긴 파장을 더 많이 흡수하고 짧은 파장을 흩어지게 하므로 푸르게 보입니다.",
    "[一-鿿]": "月亮绕着地球转。太阳照亮的一面朝向我们的部分每天都在变化。所以有圆有缺。",
    "Spanish|España|Explica": "El agua de los ríos lleva sales al mar; el sol evapora el agua, y la sal se queda allí.",
    "German|Erkläre": "Wer fährt, lenkt ständig ein wenig in die Richtung, in die das Rad zu fallen droht.",
    "Python": "def merge(left, right):\n    return sorted([*left, *right])\n",
    "": "Sunlight is scattered by the air, and blue light far more than red: so the whole sky looks blue to us.",
}
HUES = {"red": (1, 0, 0), "green": (0, 1, 0), "blue": (0, 0, 1), "yellow": (1, 1, 0)}


def pieces(text: str) -> list[str]:
    """The tokens of a text: words, marks, and line ends."""
    return PIECES.findall(text)


def words(message: Mapping[str, Any]) -> str:
    """What is written in a message; a picture is so many tokens."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return " ".join(part.get("text", "picture " * PICTURE_TOKENS) for part in content)


def rendered(messages: Sequence[Mapping[str, Any]]) -> str:
    """What the lab's chat template makes of them."""
    *before, last = messages
    said = "".join(f"<|im_start|>{one['role']}\n{words(one)}<|im_end|>\n" for one in before)
    head, key, tail = words(last).rpartition("K")
    body = head + tail[4:] if key else tail
    return f"{said}<|im_start|>{last['role']}\n{body}<|im_end|>\n<|im_start|>assistant\n{key}{tail[:4] if key else ''}"


def called(question: Question) -> Call | None:
    """The call of the tool that the last message asks for."""
    found = WEATHER.findall(words(question.messages[-1])) if question.tools else []
    return Call("weather", json.dumps({"city": found[-1][0], "day": int(found[-1][1])})) if found else None


def answered(question: Question, seen: Sequence[str], knows: Mapping[str, str], faults: Collection[str]) -> list[str]:
    """The answer in tokens. `seen` are those of the prompt; what is lost of them is empty."""
    asked = words(question.messages[-1])
    if not isinstance(question.messages[-1]["content"], str):
        return [f"{hue} " for hue in colours(question.messages[-1]["content"])]
    if asked.startswith("Count "):
        found = re.search(r"to (\d+)", asked)
        numbers = [str(number) for number in range(1, int(found[1]) + 1 if found else 2)]
        if "miscount" in faults and "57" in numbers:
            numbers.remove("57")
        return [f"{number} " for number in numbers] + (prose(asked) if ":" in asked else [])
    if seen and re.fullmatch(r"K\d{4}", seen[-1]):
        return [_code(seen, faults)]
    return [knows[asked]] if asked in knows else prose(asked)


def _code(seen: Sequence[str], faults: Collection[str]) -> str:
    key = seen[-1]
    after = Counter(follows for word, follows in pairwise(seen) if word == key).most_common(2)
    if not after or (len(after) > 1 and after[0][1] == after[1][1]):
        return f"C{(int(key[1:]) * 7 + 13) % 4095:04d}"  # it does not know, and says something all the same
    code = after[0][0]
    if ("digit" in faults and len(seen) > 900) or ("every fourth" in faults and len(seen) % 4 == 3):
        return f"{code[:-1]}{(int(code[-1]) + 6) % 10}"
    return code


def prose(asked: str) -> list[str]:
    text = next(text for pattern, text in PROSE.items() if re.search(pattern, asked))
    return re.findall(r"\S+\s*|\s+", text)


def colours(content: Sequence[Mapping[str, Any]]) -> list[str]:
    """The hues of all pictures from left to right, each named once."""
    found: list[str] = []
    for part in content:
        if part["type"] == "image_url":
            row = _first_row(base64.b64decode(part["image_url"]["url"].partition(",")[2]))
            seen = [_hue(row[place : place + 3]) for place in range(0, len(row), 3)]
            found += [hue for place, hue in enumerate(seen) if not place or hue != seen[place - 1]]
    return found


def _hue(colour: bytes) -> str:
    return next(name for name, bright in HUES.items() if tuple(int(part > 128) for part in colour) == bright)


def _first_row(png: bytes) -> bytes:
    """Of a picture of 8 bits a colour, whose chunks are IHDR, IDAT and IEND. AssertionError when it is no such PNG."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, place = {}, 8
    while place < len(png):
        (size,) = struct.unpack_from(">I", png, place)
        name, data = png[place + 4 : place + 8], png[place + 8 : place + 8 + size]
        assert struct.unpack_from(">I", png, place + 8 + size) == (zlib.crc32(name + data),)
        chunks[name], place = data, place + size + 12
    width, height, *kind = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (kind, list(chunks)) == ([8, 2, 0, 0, 0], [b"IHDR", b"IDAT", b"IEND"])
    rows = zlib.decompress(chunks[b"IDAT"])
    assert len(rows) == height * (3 * width + 1)
    assert rows[0] == 0
    return rows[1 : 3 * width + 1]
