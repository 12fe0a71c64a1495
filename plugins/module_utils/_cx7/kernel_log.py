# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel log: any of the formats people have, reduced to the lines that concern the NIC.

Source line numbers after the function name, C((pid N)) and prefixes differ between kernels and tools: none is matched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Runner

from .model import Event, SlotPower
from .pci import place

JOURNAL_FIELDS = "MESSAGE,PRIORITY,_SOURCE_MONOTONIC_TIMESTAMP"  # __MONOTONIC_TIMESTAMP always comes along
JOURNAL_ARGV = ("journalctl", "-k", "-b", "-o", "json", "--no-pager", f"--output-fields={JOURNAL_FIELDS}")
DMESG_ARGV = ("dmesg",)

LOG_STARTS_WITHIN_SECONDS = 1.0  # the NIC's driver probes at 1.15 s at the earliest seen; a log from here has all of it
KEPT_PER_KIND = 20  # first and last events kept of one kind on one function: a flapping link writes thousands
PRIORITY_WARNING = 4  # syslog level; lines of the NIC that no rule knows are kept from here up

YEAR = 2000  # stands for the year of stamps without one
DAYS_OF_YEAR = 366

# How seconds are counted: since boot, or since the first line of a log whose lines only carry dates.
CLOCK_BOOT = "boot"
CLOCK_FIRST_LINE = "first_line"
CLOCK_NONE = "none"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the log without its prefix."""

    text: str
    seconds: float | None = None
    stamp: str | None = None
    priority: int | None = None


@dataclass(frozen=True, slots=True)
class Log:
    """A whole log."""

    lines: tuple[Line, ...]
    clock: str
    complete: bool


@dataclass(frozen=True, slots=True)
class Findings:
    """The lines that concern the NIC."""

    events: tuple[Event, ...]
    events_omitted: int
    slot_power: tuple[SlotPower, ...]


# --- from text to lines ---

_LEVEL = re.compile(r"^(?:<(?P<number>\d+)>|(?P<facility>\w+)\s*:(?P<level>\w+)\s*:\s+)")
_LEVELS = {"emerg": 0, "alert": 1, "crit": 2, "err": 3, "warn": 4, "notice": 5, "info": 6, "debug": 7}
_SECONDS = re.compile(r"^\[\s*(?P<seconds>\d+\.\d+)\]\s?")
_DATED = re.compile(r"^\[(?P<stamp>[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: \d{4})?)\]\s?")
_SHORT = re.compile(r"^(?P<stamp>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?)\s+\S+ kernel: ")
_ISO = re.compile(r"^(?P<stamp>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)\s+(?:\S+ kernel: )?")
_CLOCK_ONLY = re.compile(r"^(?P<stamp>\d\d:\d\d:\d\d(?:\.\d+)?)\s+")
_HOST = re.compile(r"^\S+ kernel: ")  # what remains of journalctl -o short-monotonic
_STAMPED = (_DATED, _SHORT, _ISO, _CLOCK_ONLY)
_FIRST_LINE = re.compile(r"Booting Linux on physical CPU|Linux version \d")


def _when(stamp: str) -> datetime | None:
    """The date of a stamp. A year that is not there is YEAR: a leap year, so that 29 February is a date."""
    text = " ".join(stamp.replace(",", ".").split())
    for attempt, form in (
        (text, "%a %b %d %H:%M:%S %Y"),
        (f"{text} {YEAR}", "%a %b %d %H:%M:%S %Y"),
        (f"{text.split('.', maxsplit=1)[0]} {YEAR}", "%b %d %H:%M:%S %Y"),
        (f"{YEAR}-01-01 {text.split('.', maxsplit=1)[0]}", "%Y-%m-%d %H:%M:%S"),
    ):
        try:
            return datetime.strptime(attempt, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        return None


def _plain(text: str) -> Line:
    """One line of dmesg (seconds, dates or ISO) or of journalctl (short, short-monotonic, short-iso)."""
    priority = None
    level = _LEVEL.match(text)
    if level is not None and (level["number"] is not None or level["level"] in _LEVELS):
        priority = int(level["number"]) & 7 if level["number"] is not None else _LEVELS[level["level"]]
        text = text[level.end() :]
    seconds = _SECONDS.match(text)
    if seconds is not None:
        rest = text[seconds.end() :]
        return Line(_HOST.sub("", rest), seconds=float(seconds["seconds"]), priority=priority)
    for form in _STAMPED:
        stamped = form.match(text)
        if stamped is not None:
            return Line(text[stamped.end() :], stamp=stamped["stamp"], priority=priority)
    return Line(text, priority=priority)


def _number(value: object) -> int | None:
    try:
        return int(str(value))
    except ValueError:
        return None


def _journal(record: dict[str, Any]) -> Line:
    """One record of C(journalctl -o json). The kernel's own time is better than the moment the journal got the line."""
    message = record.get("MESSAGE")
    if isinstance(message, list):  # bytes that are not UTF-8
        message = bytes(byte & 0xFF for byte in message if isinstance(byte, int)).decode("utf-8", "replace")
    micros = _number(record.get("_SOURCE_MONOTONIC_TIMESTAMP", record.get("__MONOTONIC_TIMESTAMP")))
    return Line(
        str(message or ""),
        seconds=micros / 1_000_000 if micros is not None else None,
        priority=_number(record.get("PRIORITY")),
    )


def _line(text: str) -> Line:
    if text.startswith("{"):
        try:
            record = json.loads(text)
        except ValueError:
            return Line(text)
        if isinstance(record, dict):
            return _journal(record)
    return _plain(text)


def _seconds_between(first: datetime, then: datetime) -> float:
    """Over a turn of the year when the stamps do not name one."""
    if then < first and then.year == YEAR:
        then += timedelta(days=DAYS_OF_YEAR)
    return (then - first).total_seconds()


def _timed(lines: Sequence[Line]) -> tuple[tuple[Line, ...], str]:
    """Seconds for lines that only carry dates: counted from the first of them."""
    if any(line.seconds is not None for line in lines):
        return tuple(lines), CLOCK_BOOT
    dates = [_when(line.stamp) if line.stamp else None for line in lines]
    first = next((date for date in dates if date is not None), None)
    if first is None:
        return tuple(lines), CLOCK_NONE
    timed = tuple(
        replace(line, seconds=_seconds_between(first, date)) if date is not None else line
        for line, date in zip(lines, dates, strict=True)
    )
    return timed, CLOCK_BOOT if _FIRST_LINE.match(lines[0].text) else CLOCK_FIRST_LINE


def _foreign(record: str) -> bool:
    """A record of C(journalctl -o json) that no rule can want, seen without reading it: nine of ten on a node.

    A message that is not UTF-8 is written as a list of numbers, which does not show what it says.
    """
    return record.startswith("{") and '"MESSAGE":"' in record and not any(word in record for word in OUR_WORDS)


def parse(text: str) -> Log:
    """A log in any known format. C(complete) says that it reaches back to the boot.

    Of a journal only the first line and those that may concern the NIC are kept.
    """
    written = [line for line in text.splitlines() if line.strip() and not line.startswith("-- ")]
    raw = [_line(line) for number, line in enumerate(written) if number == 0 or not _foreign(line)]
    lines, clock = _timed(raw)
    if not lines:
        return Log((), CLOCK_NONE, False)
    first = lines[0]
    from_boot = clock == CLOCK_BOOT and first.seconds is not None and first.seconds <= LOG_STARTS_WITHIN_SECONDS
    return Log(lines, clock, from_boot or _FIRST_LINE.match(first.text) is not None)


# --- from lines to what they say ---

_BDF = r"(?P<pci>(?:0000|0002):[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])"
_OURS = re.compile(
    rf"^(?:mlx5_core {_BDF}(?: [^:]+)?: |cx7-pcie-hotplug [^:]+:\d+: "
    rf"|(?:pci|pcieport) {_BDF.replace('pci>', 'port>')}: |(?=mlx5_pcie_event\b))"
)
OUR_WORDS = ("mlx5", "pci")  # one of them is in every line that the pattern above takes
_SLOT_POWER = re.compile(
    r"mlx5_pcie_event(?::\d+)?:(?:\s*\(pid (?P<pid>\d+)\):)?\s*(?:"
    r"(?P<not_advertised>PCIe slot power capability was not advertised)|"
    r"(?P<sufficient>PCIe slot advertised sufficient power) \((?P<enough>\d+)W\)|"
    r"(?P<insufficient>Detected insufficient power on the PCIe slot) \((?P<little>\d+)W\))"
)
_MODULE = re.compile(r"Port module event(?P<error>\[error\])?: module (?P<module>\d+), (?P<what>.+)")

# The first rule that matches names the event; a group called detail is kept.
_RULES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("hotplug_plugin", r"cx7-pcie-hotplug .*: Cable plug-?in\b"),
        ("hotplug_removal", r"cx7-pcie-hotplug .*: Cable removal\b"),
        ("hotplug_ready", r"cx7-pcie-hotplug .*driver initialized"),
        ("hotplug_enabled", r"cx7-pcie-hotplug .*: Hotplug enabled"),
        ("hotplug_disabled", r"cx7-pcie-hotplug .*: Hotplug disabled"),
        ("probe", r"mlx5_core .*(?:firmware version: (?P<detail>\S+)|available PCIe bandwidth)"),
        ("link_up", r"mlx5_core .*: Link up\b"),
        ("link_down", r"mlx5_core .*: Link down\b"),
        ("high_temperature", r"mlx5_core .*: (?P<detail>High temperature on sensors.*)"),
        ("eswitch_cleanup", r"mlx5_core .*: E-Switch: cleanup\b"),
        ("slot_reset", r"mlx5_core .*mlx5_pci_slot_reset"),
        ("retraining_failed", r"(?P<detail>retraining failed|broken device, retraining non-functional.*)"),
        ("aer_fatal", r"pcieport .*Uncorrect(?:able|ed) \((?P<detail>F)"),
        ("aer_uncorrectable", r"pcieport .*Uncorrect(?:able|ed)\b"),
        ("aer_correctable", r"pcieport .*Correct(?:able|ed)\b"),
    )
)


def _slot_power(line: Line, match: re.Match[str], pci: str | None) -> SlotPower:
    status = next(name for name in ("not_advertised", "sufficient", "insufficient") if match[name])
    watts = _number(match["enough"] or match["little"])
    root, cage = place(pci) if pci else (None, None)
    return SlotPower(
        status=status,
        text=line.text,
        watts=watts,
        seconds=line.seconds,
        stamp=line.stamp,
        pci=pci,
        root=root,
        cage=cage,
        pid=_number(match["pid"]) if match["pid"] else None,
    )


def _event(line: Line, pci: str | None) -> Event | None:
    root, cage = place(pci) if pci else (None, None)
    kind, detail = None, None
    module = _MODULE.search(line.text)
    if module is not None:
        cage = {"0": "p0", "1": "p1"}.get(module["module"])  # the module number is the cage, whoever reports it
        detail = module["what"].rstrip(".")
        plugged = {"Cable plugged": "module_plugged", "Cable unplugged": "module_unplugged"}
        kind = "module_error" if module["error"] else plugged.get(detail, "module_other")
    else:
        for name, rule in _RULES:
            match = rule.search(line.text)
            if match is not None:
                kind, detail = name, match.groupdict().get("detail")
                break
    if kind is None:
        if line.priority is None or line.priority > PRIORITY_WARNING or not line.text.startswith(("mlx5", "cx7")):
            return None
        kind = "other"
    if kind.startswith(("aer_", "retraining_")):
        cage = None  # said by or about the root port, which both cages share
    return Event(
        kind=kind,
        text=line.text,
        seconds=line.seconds,
        stamp=line.stamp,
        pci=pci,
        root=root,
        cage=cage,
        detail=detail,
        priority=line.priority,
    )


def _limited(events: Sequence[Event]) -> tuple[tuple[Event, ...], int]:
    """The first and last of each kind on each function, in the order of the log."""
    places: dict[tuple[str, str | None], list[int]] = {}
    for number, event in enumerate(events):
        places.setdefault((event.kind, event.pci), []).append(number)
    keep = {number for numbers in places.values() for number in numbers[:KEPT_PER_KIND] + numbers[-KEPT_PER_KIND:]}
    return tuple(events[number] for number in sorted(keep)), len(events) - len(keep)


def find(lines: Iterable[Line]) -> Findings:
    """What the log says about the NIC, in its order."""
    events: list[Event] = []
    slot_power: list[SlotPower] = []
    for line in lines:
        ours = _OURS.match(line.text)
        if ours is None:
            continue
        pci = ours["pci"] or ours["port"]
        power = _SLOT_POWER.search(line.text)
        if power is not None:
            slot_power.append(_slot_power(line, power, pci))
            continue
        event = _event(line, pci)
        if event is not None:
            events.append(event)
    kept, omitted = _limited(events)
    return Findings(kept, omitted, tuple(slot_power))


def read(runner: Runner, warnings: list[str]) -> tuple[Log, str]:
    """This boot's log and where it came from: C(journal), C(dmesg) or C(none)."""
    said = []
    for name, argv in (("journal", JOURNAL_ARGV), ("dmesg", DMESG_ARGV)):
        result = runner.run(argv)
        if result.rc == 0 and result.stdout.strip():
            return parse(result.stdout), name
        said.append(f"{argv[0]}: {result.stderr.strip() or 'no line'} (rc {result.rc})")
    warnings.append(f"This boot's kernel log cannot be read: {'; '.join(said)}")
    return parse(""), "none"
