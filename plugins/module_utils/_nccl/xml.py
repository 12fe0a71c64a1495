# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""NCCL's graph files, read as strictly as NCCL reads them.

NCCL has its own small reader of XML. What it refuses is refused here, at the same place. What it takes without saying
that it makes something else of it (an unknown type becomes LOC, an unknown element is left out, a second space is an
attribute without a name) is refused as well: such a file never does what its author meant. What NCCL itself writes to
NCCL_GRAPH_DUMP_FILE is read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .model import Channel, Graph
from .version import too_old

MOST_TEXT = 254
"""Characters of a name or a value together with the one that ends it: NCCL's buffer has 255 and keeps one."""

MOST_ATTRIBUTES = 16
MOST_ELEMENTS = 640

TYPES = ("LOC", "NVL", "NVB", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")
P2C_SINCE = (2, 27, 3)

_BLANK = " \n\r"
_NAME_ENDS = " >/\n\r"
_INSIDE = {"graphs": ("graph",), "graph": ("channel",), "channel": ("net", "gpu"), "net": (), "gpu": ()}
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,8})")
_HEX = re.compile(r"(0x)?[0-9a-fA-F]{1,16}")
_FLOAT = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?(e[-+]?[0-9]{1,2})?")


class GraphError(ValueError):
    """Why NCCL cannot read a graph, or would read another one than is written: where, what is there, what belongs."""

    def __init__(self, position: int, text: str, seen: str, expected: str) -> None:
        self.position = position
        line = text.count("\n", 0, position) + 1
        column = position - (text.rfind("\n", 0, position) + 1) + 1
        super().__init__(f"line {line}, column {column}: {seen}: expected {expected}")


@dataclass(slots=True)
class _Element:
    name: str
    position: int
    attributes: dict[str, str] = field(default_factory=dict)
    inside: list[_Element] = field(default_factory=list)


def parse(text: str, *, nccl: str | None = None) -> tuple[Graph, ...]:
    """The graphs of a file. `nccl` is the version that shall read it, such as 2.30.7. Raises GraphError."""
    root = _Reader(text).document()
    version = _attribute(root, "version", text)
    if version != "1":
        raise GraphError(root.position, text, f"<graphs> has version {version!r}", "version 1, the only one there is")
    types = tuple(kind for kind in TYPES if kind != "P2C") if too_old(nccl, P2C_SINCE) else TYPES
    return tuple(_graph(element, text, types) for element in root.inside)


class _Reader:
    """One pass over the characters, as NCCL makes it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def document(self) -> _Element:
        """The one root element."""
        root = self._element(("graphs",), "the file")
        if root is None:
            raise self._refusal(self._at, "the file has no element", "<graphs>")
        self._skip()
        if self._at < len(self._text):
            raise self._refusal(self._at, "something follows </graphs>", "the end of the file")
        return root

    def _refusal(self, position: int, seen: str, expected: str) -> GraphError:
        return GraphError(position, self._text, seen, expected)

    def _next(self, inside: str) -> str:
        if self._at == len(self._text):
            raise self._refusal(self._at, f"the file ends within {inside}", "more of it")
        self._at += 1
        return self._text[self._at - 1]

    def _skip(self) -> None:
        """Pass over spaces, line ends and comments, which NCCL knows."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BLANK:
                self._at += 1
            if not self._text.startswith("<!--", self._at):
                return
            end = self._text.find("-->", self._at + len("<!--"))
            if end < 0:
                raise self._refusal(self._at, "a comment has no end", "'-->'")
            if "=" in re.split("[ >/\n\r]", self._text[self._at : end], maxsplit=1)[0]:
                raise self._refusal(self._at, "a comment has '=' in its first word", "a space behind '<!--'")
            self._at = end + len("-->")

    def _element(self, allowed: tuple[str, ...], parent: str) -> _Element | None:
        """The next element with all that is in it; None where the parent's end or the end of the file comes first."""
        self._skip()
        start = self._at
        if start == len(self._text) or self._text.startswith("</", start):
            return None
        if self._text[start] != "<":
            raise self._refusal(
                start, f"{self._text[start]!r} in {parent}", "'<': NCCL knows spaces and line ends only"
            )
        self._at += 1
        name, end = self._word("an element's name")
        if name not in allowed:
            raise self._refusal(start, f"<{name}> in {parent}", " or ".join(f"<{one}>" for one in allowed) or "nothing")
        element = _Element(name, start)
        while end == " ":
            end = self._attribute(element)
        if end == "/":
            position, end = self._at, self._next(f"<{name}>")
            if end != ">":
                raise self._refusal(position, f"{end!r} behind '/' of <{name}>", "'>'")
            return element
        if end != ">":
            raise self._refusal(self._at - 1, f"{end!r} within <{name}>", "a space, '/' or '>'")
        self._content(element)
        return element

    def _word(self, what: str) -> tuple[str, str]:
        """Characters up to one that ends a name, and that one."""
        start = self._at
        while (char := self._next(what)) not in _NAME_ENDS:
            if char == "=":
                seen = f"'=' in {what}, {self._text[start : self._at]!r}"
                raise self._refusal(self._at - 1, seen, "a space before an attribute; tabs are no spaces to NCCL")
            self._limit(start, what)
        self._limit(start, what)
        return self._text[start : self._at - 1], char

    def _limit(self, start: int, what: str) -> None:
        if self._at - start > MOST_TEXT:
            raise self._refusal(start, f"{what} is longer than {MOST_TEXT - 1} characters", "a shorter one")

    def _attribute(self, element: _Element) -> str:
        """Read name="value" into the element; gives the character behind it."""
        start = self._at
        while (char := self._next(f"an attribute of <{element.name}>")) != "=":
            if char in _NAME_ENDS:
                word = self._text[start : self._at - 1]
                seen = f"the attribute {word!r} without a value" if word else f"a space before {char!r}"
                raise self._refusal(start, f"{seen} in <{element.name}>", 'name="value" behind exactly one space')
            self._limit(start, "an attribute's name")
        key = self._text[start : self._at - 1]
        if not _KEY.fullmatch(key):
            raise self._refusal(start, f"the attribute {key!r} in <{element.name}>", "a name behind exactly one space")
        if self._next(f"the attribute {key}") != '"':
            seen = f"{self._text[self._at - 1]!r} behind {key}="
            raise self._refusal(self._at - 1, seen, "a double quote: not every NCCL takes others")
        value_start = self._at
        while self._next(f"the value of {key}") != '"':
            self._limit(value_start, f"the value of {key}")
        self._limit(value_start, f"the value of {key}")
        if key in element.attributes:
            raise self._refusal(start, f"<{element.name}> has {key} twice", "it once")
        if len(element.attributes) == MOST_ATTRIBUTES:
            raise self._refusal(
                start, f"attribute {MOST_ATTRIBUTES + 1} of <{element.name}>", f"{MOST_ATTRIBUTES} at most"
            )
        element.attributes[key] = self._text[value_start : self._at - 1]
        return self._next(f"<{element.name}>")

    def _content(self, element: _Element) -> None:
        """Read all up to and with the closing tag."""
        while (found := self._element(_INSIDE[element.name], f"<{element.name}>")) is not None:
            if len(element.inside) == MOST_ELEMENTS:
                seen = f"element {MOST_ELEMENTS + 1} in <{element.name}>"
                raise self._refusal(found.position, seen, f"{MOST_ELEMENTS} at most")
            element.inside.append(found)
        start, tag = self._at, f"</{element.name}>"
        if start == len(self._text):
            raise self._refusal(element.position, f"<{element.name}> has no end", tag)
        if not self._text.startswith(tag, start):
            seen = self._text[start : start + len(tag) + 8].split(">", 1)[0]
            raise self._refusal(start, f"{seen + '>'!r} at the end of <{element.name}>", tag)
        self._at += len(tag)


def _attribute(element: _Element, name: str, text: str) -> str:
    if name not in element.attributes:
        has = ", ".join(element.attributes) or "none"
        raise GraphError(element.position, text, f"<{element.name}> has no {name} (its attributes: {has})", name)
    return element.attributes[name]


def _matching(element: _Element, name: str, text: str, pattern: re.Pattern[str], what: str) -> str:
    value = _attribute(element, name, text)
    if not pattern.fullmatch(value):
        raise GraphError(element.position, text, f"{name} of <{element.name}> is {value!r}", what)
    return value


def _number(element: _Element, name: str, text: str) -> int:
    return int(_matching(element, name, text, _INTEGER, "an integer"))


def _real(element: _Element, name: str, text: str) -> float:
    return float(_matching(element, name, text, _FLOAT, "a number"))


def _kind(element: _Element, name: str, text: str, types: tuple[str, ...]) -> str:
    value = _attribute(element, name, text)
    if value not in types:
        since = "; NCCL knows P2C since 2.27.3 only" if value == "P2C" else "; NCCL would take LOC for it"
        raise GraphError(element.position, text, f"{name} of <graph> is {value!r}", f"one of {', '.join(types)}{since}")
    return value


def _graph(element: _Element, text: str, types: tuple[str, ...]) -> Graph:
    return Graph(
        id=_number(element, "id", text),
        pattern=_number(element, "pattern", text),
        crossnic=_number(element, "crossnic", text),
        nchannels=_number(element, "nchannels", text),
        speedintra=_real(element, "speedintra", text),
        speedinter=_real(element, "speedinter", text),
        latencyinter=_real(element, "latencyinter", text) if "latencyinter" in element.attributes else 0,
        typeintra=_kind(element, "typeintra", text, types),
        typeinter=_kind(element, "typeinter", text, types),
        samechannels=_number(element, "samechannels", text),
        channels=tuple(_channel(channel, text) for channel in element.inside),
    )


def _channel(element: _Element, text: str) -> Channel:
    names = [item.name for item in element.inside]
    if names != ["net", "gpu", "net"]:
        seen = f"<channel> has {', '.join(names) or 'nothing'}"
        raise GraphError(element.position, text, seen, "net (to receive), gpu, net (to send): a Spark has one GPU")
    receive, gpu, send = element.inside
    device = _device(gpu, text)
    if device != 0:
        raise GraphError(gpu.position, text, f"gpu dev is {gpu.attributes['dev']!r}", "0: a Spark has one GPU")
    rank = _number(gpu, "rank", text) if "rank" in gpu.attributes else None
    return Channel(_device(receive, text), device, _device(send, text), rank)


def _device(element: _Element, text: str) -> int:
    """NCCL reads device numbers to the base 16 whatever they look like."""
    return int(_matching(element, "dev", text, _HEX, "a hexadecimal number"), 16)
