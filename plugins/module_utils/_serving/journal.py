# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Lines of a unit's journal: from C(journalctl -o json) to data, and from data that came through Ansible.

Times are seconds since the epoch as the node's journal has them. A time inside a message is nobody's time: it can be of
another zone, and programs print late.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

UNIT, SYSTEMD, KERNEL = "unit", "systemd", "kernel"
LONGEST = 4000
"""Characters of a message that are kept; vLLM's line with the configuration is the longest one worth having."""

FIELDS = "MESSAGE,PRIORITY,_PID,_BOOT_ID,_SYSTEMD_INVOCATION_ID,INVOCATION_ID,UNIT,_TRANSPORT"
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Line:
    """One line. C(boot) and C(invocation) are empty and numbers null where the journal did not say."""

    text: str
    time: float | None = None
    monotonic: float | None = None
    priority: int | None = None
    source: str = UNIT
    invocation: str = ""
    boot: str = ""
    pid: int | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "time": self.time,
            "monotonic": self.monotonic,
            "priority": self.priority,
            "source": self.source,
            "invocation": self.invocation,
            "boot": self.boot,
            "pid": self.pid,
            "message": self.text,
        }


@dataclass(frozen=True, slots=True)
class Journal:
    """What one rank's node gave. C(present) is false when nothing at all came from there."""

    lines: tuple[Line, ...] = ()
    unit: Mapping[str, Any] = field(default_factory=dict)
    host: Mapping[str, Any] = field(default_factory=dict)
    read_at: float | None = None
    complete: bool = True

    @property
    def present(self) -> bool:
        return bool(self.lines)


def records(text: str) -> Iterator[Line]:
    """The output of C(journalctl --all -o json). A line that is no record is passed over."""
    for raw in text.splitlines():
        try:
            record = json.loads(raw)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield from _lines(record)


def _lines(record: Mapping[str, Any]) -> Iterator[Line]:
    source = _source(record)
    for text in messages(_text(record.get("MESSAGE"))):
        yield Line(
            text=text,
            time=_micros(record.get("__REALTIME_TIMESTAMP")),
            monotonic=_micros(record.get("__MONOTONIC_TIMESTAMP")),
            priority=integer(record.get("PRIORITY")),
            source=source,
            invocation=_text(record.get("INVOCATION_ID" if source == SYSTEMD else "_SYSTEMD_INVOCATION_ID")),
            boot=_text(record.get("_BOOT_ID")),
            pid=integer(record.get("_PID")),
        )


def _source(record: Mapping[str, Any]) -> str:
    if record.get("_TRANSPORT") == "kernel":
        return KERNEL
    return SYSTEMD if record.get("UNIT") and integer(record.get("_PID")) == 1 else UNIT


def messages(text: str) -> Iterator[str]:
    """The lines in one message, without colours. Of a progress bar, which overwrites itself, the first and the last."""
    for line in _COLOUR.sub("", text).split("\n"):
        shown = [part for part in line.split("\r") if part.strip()]
        for part in dict.fromkeys(shown[:1] + shown[-1:]):
            yield _CONTROL.sub(" ", part)[:LONGEST].rstrip()


def _text(value: object) -> str:
    """A field: text, the bytes of text with control characters, or several values, of which the last counts."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or not value:
        return ""
    if all(isinstance(byte, int) for byte in value):
        return bytes(byte & 0xFF for byte in value).decode("utf-8", "replace")
    return _text(value[-1])


def integer(value: object) -> int | None:
    try:
        return int(str(value))
    except ValueError:
        return None


def _micros(value: object) -> float | None:
    number = integer(value)
    return None if number is None else number / 1_000_000


def number(value: object) -> float | None:
    """A number that came as data; text that is one counts, as Ansible makes text of what passes a template."""
    try:
        return float(str(value))
    except ValueError:
        return None


def journal(data: object) -> Journal:
    """What vllm_journal_info returned for a rank, or nothing. C(data) is plain."""
    if not isinstance(data, Mapping):
        return Journal()
    inner = data.get("journal")
    data = inner if isinstance(inner, Mapping) else data
    lines = data.get("lines")
    unit, host = data.get("unit"), data.get("host")
    return Journal(
        lines=tuple(_given(lines)) if isinstance(lines, list) else (),
        unit=unit if isinstance(unit, Mapping) else {},
        host=host if isinstance(host, Mapping) else {},
        read_at=number(data.get("read_at")),
        complete=data.get("omitted") in (None, 0),
    )


def _given(lines: list[object]) -> Iterator[Line]:
    for item in lines:
        if not isinstance(item, Mapping):
            continue
        for text in messages(str(item.get("message") or "")):
            yield Line(
                text=text,
                time=number(item.get("time")),
                monotonic=number(item.get("monotonic")),
                priority=integer(item.get("priority")),
                source=str(item.get("source") or UNIT),
                invocation=str(item.get("invocation") or ""),
                boot=str(item.get("boot") or ""),
                pid=integer(item.get("pid")),
            )
