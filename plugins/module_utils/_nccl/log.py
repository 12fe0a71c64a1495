# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""NCCL's log, whoever kept it: NCCL_DEBUG_FILE, a terminal, the journal, a container's log with the rank in front.

Nothing here judges. A line that is not known is kept as text, and anything can be missing: which lines NCCL prints
depends on NCCL_DEBUG_SUBSYS.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

# host:pid:tid [gpu] file:line (function) NCCL LEVEL text, each part but the last two optional
_LINE = re.compile(
    r"(?:(?P<host>[\w.-]+):(?P<pid>\d+):(?P<tid>\w+) )?(?:\[(?P<gpu>\d+)\] )?"
    r"(?:(?P<file>[\w./-]+:\d+)(?: \((?P<function>[^)]*)\))? )?NCCL (?P<level>INFO|WARN|ERROR) (?P<text>.*)"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_STAMP = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)[T ](?P<time>\d\d:\d\d:\d\d(?:[.,]\d{1,6})?)\d*(?P<zone>Z|[+-]\d\d:?\d\d)?"
    rf"|(?P<month>{'|'.join(_MONTHS)}) +(?P<day>\d{{1,2}}) (?P<clock>\d\d:\d\d:\d\d)"
    r"|\b(?P<numbers>\d\d-\d\d) (?P<hour>\d\d:\d\d:\d\d)"
)
_MORE = re.compile(r"\s*(?:(?:[A-Z]\w+ [\w ]+, )?on dev |curr state |next state |local GID |remote GID )")
_LEAP_YEAR = 2000  # stands for the year of stamps without one

_VERSION = re.compile(r"(?:NCCL version |using nccl==)(?P<said>\d+\.\d+[^\s,]*)")
_LIBRARY = re.compile(r"Found nccl from library (?P<said>\S+)")
_INIT = re.compile(r"ncclCommInit\w* comm \S+ rank (?P<rank>\d+) nranks (?P<nranks>\d+)\b")
_USING = re.compile(r"NET/(?P<net>IB|Socket) : Using (?P<devices>\[.*)")
_IB_DEVICE = re.compile(r"\[(?P<index>\d+)\] ?(?P<name>[^\s:=\[\]{}]+):(?P<port>\d+)/(?P<link>\w+)")
_SOCKET_DEVICE = re.compile(r"\[(?P<index>\d+)\](?P<name>[^\s:]+):(?P<address>[^\s<]+)<\d+>")
_OOB = re.compile(r"OOB (?P<netdev>[^\s:]+):(?P<address>[^\s<]+)<\d+>")
_NETWORK = re.compile(r"Using network (?P<said>\S+)")
_LOADED = re.compile(r"Search (?P<id>\d+) : (?P<channels>\d+) channels loaded from XML graph")
_VIA = re.compile(
    r"Channel (?P<channel>\d+)(?:/(?P<connection>\d+))? : (?P<source>\d+)\[\w+\] -> (?P<target>\d+)\[\w+\] "
    r"\[(?P<direction>send|receive)\] via NET/(?P<net>[^/\s]+)/(?P<device>\d+)(?:\(\d+\))?(?P<more>\S*)"
)
_ORDER = re.compile(r"Channel (?P<channel>\d+)/\d+ : (?P<said>(?:\s*\d+)+)\s*$")
_RING = re.compile(r"Ring (?P<channel>\d+) : (?P<previous>\d+) -> (?P<rank>\d+) -> (?P<next>\d+)")
_TREES = re.compile(r"Trees (?P<trees>\[\d+\] .*)")
_TREE = re.compile(r"(?P<down>-?\d+(?:/-?\d+)*)->(?P<rank>\d+)->(?P<up>-?\d+)")
_OVERRIDE = re.compile(r"Subnet-aware routing: overriding dev (?P<default>-?\d+) with dev (?P<chosen>\d+)")
_VARIABLE = re.compile(r"(?P<name>(?:NCCL|GLOO)_\w+) set by environment to (?P<value>.*)")
_WHOLE_NUMBER = re.compile(r"-?\d+\.")


@dataclass(frozen=True, slots=True)
class Line:
    """One line. C(number) counts from 1; C(level) is null for a line that is not NCCL's; C(text) has no prefix."""

    number: int
    raw: str
    text: str
    level: str | None = None
    host: str | None = None
    time: datetime | None = None


@dataclass(frozen=True, slots=True)
class LogDevice:
    """A device in NCCL's order. Sockets have an address, RDMA devices a port and a link layer."""

    index: int
    name: str
    port: int | None = None
    link: str | None = None
    address: str | None = None


@dataclass(frozen=True, slots=True)
class Via:
    """One end of a connection of a channel: the rank that sends, the one that receives, over which device.

    C(connection) 0 is the ring's; others belong to send and receive between any two ranks.
    """

    channel: int
    source: int
    target: int
    direction: str
    net: str
    device: int
    gdr: bool
    connection: int = 0


@dataclass(frozen=True, slots=True)
class Ring:
    """A rank's neighbours in one channel."""

    channel: int
    previous: int
    rank: int
    next: int


@dataclass(frozen=True, slots=True)
class NcclLog:
    """What one process said. C(None) is: it did not say."""

    version: str | None = None
    library: str | None = None
    host: str | None = None
    rank: int | None = None
    nranks: int | None = None
    net: str | None = None
    devices: tuple[LogDevice, ...] = ()
    oob_netdev: str | None = None
    oob_address: str | None = None
    graph_channels: int | None = None
    vias: tuple[Via, ...] = ()
    rings: tuple[Ring, ...] = ()
    order: tuple[int, ...] = ()
    tree_peers: tuple[int, ...] = ()
    overrides: tuple[tuple[int, int], ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    complete: bool = False
    lines: tuple[Line, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """As plain data, without the lines."""
        values = asdict(self)
        del values["lines"]
        return values


def parse(text: str) -> NcclLog:
    """Read a log. Of what is said twice the first counts, as for NCCL itself, except for variables."""
    lines = tuple(_lines(text))
    said: dict[str, Any] = {}
    many: dict[str, list[Any]] = {name: [] for name in ("vias", "rings", "tree_peers", "overrides", "warnings")}
    environment: dict[str, str] = {}
    for line in lines:
        _once(line, said)
        _often(line, many)
        variable = _VARIABLE.search(line.text)
        if variable is not None:
            environment[variable["name"]] = _value(variable["value"])
    said |= {name: tuple(dict.fromkeys(found)) for name, found in many.items()}
    return NcclLog(**said, environment=environment, lines=lines)


_FIRST: tuple[tuple[re.Pattern[str], str, Callable[[str], object]], ...] = (
    (_VERSION, "version", str),
    (_LIBRARY, "library", str),
    (_NETWORK, "net", str),
    (_ORDER, "order", lambda text: tuple(map(int, text.split()))),
)
"""What is said in one group, and read in one way."""


def _once(line: Line, said: dict[str, Any]) -> None:
    if line.host is not None:
        said.setdefault("host", line.host)
    for pattern, name, read in _FIRST:
        if match := pattern.search(line.raw):
            said.setdefault(name, read(match["said"]))
    if match := _INIT.search(line.text):
        said.setdefault("rank", int(match["rank"]))
        said.setdefault("nranks", int(match["nranks"]))
        if "Init COMPLETE" in line.text:
            said["complete"] = True
    if match := _USING.search(line.text):
        said.setdefault("devices", _devices(match["net"], match["devices"]))
        if oob := _OOB.search(line.text):
            said.setdefault("oob_netdev", oob["netdev"])
            said.setdefault("oob_address", oob["address"])
    if (match := _LOADED.search(line.text)) and match["id"] == "0":
        said.setdefault("graph_channels", int(match["channels"]))


def _often(line: Line, many: dict[str, list[Any]]) -> None:
    text = line.text
    if match := _VIA.search(text):
        many["vias"].append(
            Via(
                channel=int(match["channel"]),
                source=int(match["source"]),
                target=int(match["target"]),
                direction=match["direction"],
                net=match["net"],
                device=int(match["device"]),
                gdr="/GDRDMA" in match["more"],
                connection=int(match["connection"] or 0),
            )
        )
    if match := _RING.search(text):
        many["rings"].append(Ring(*(int(match[name]) for name in ("channel", "previous", "rank", "next"))))
    if match := _TREES.search(text):
        for tree in _TREE.finditer(match["trees"]):
            peers = [int(peer) for peer in (*tree["down"].split("/"), tree["up"])]
            many["tree_peers"] += [peer for peer in peers if peer >= 0]
    if match := _OVERRIDE.search(text):
        many["overrides"].append((int(match["default"]), int(match["chosen"])))
    if line.level in ("WARN", "ERROR"):
        many["warnings"].append(line.text)


def _devices(net: str, text: str) -> tuple[LogDevice, ...]:
    if net == "Socket":
        sockets = _SOCKET_DEVICE.finditer(text)
        return tuple(LogDevice(int(one["index"]), one["name"], address=one["address"]) for one in sockets)
    ports = _IB_DEVICE.finditer(text.partition("; OOB ")[0])
    return tuple(LogDevice(int(one["index"]), one["name"], int(one["port"]), one["link"]) for one in ports)


def _value(text: str) -> str:
    """NCCL ends a sentence behind whole numbers, and behind nothing else."""
    text = text.strip()
    return text[:-1] if _WHOLE_NUMBER.fullmatch(text) else text


def _lines(text: str) -> Iterator[Line]:
    waiting: Line | None = None
    for number, raw in enumerate(text.splitlines(), start=1):
        if not raw.strip():
            continue
        line = _line(number, raw)
        if waiting is not None and _goes_on(waiting, line):
            more = line.raw.strip()
            waiting = Line(
                waiting.number,
                f"{waiting.raw} {more}",
                f"{waiting.text} {more}",
                waiting.level,
                waiting.host,
                waiting.time,
            )
            continue
        if waiting is not None:
            yield waiting
        waiting = line
    if waiting is not None:
        yield waiting


def _goes_on(line: Line, after: Line) -> bool:
    """People and terminals break NCCL's longest messages, those about queue pairs, into several lines."""
    return "ibv_" in line.text and after.level is None and _MORE.match(after.raw) is not None


def _line(number: int, raw: str) -> Line:
    match = _LINE.search(raw)
    when = _time(raw)
    if match is None:
        return Line(number, raw, raw.strip(), time=when)
    return Line(number, raw, match["text"].strip(), match["level"], match["host"], when)


def _time(raw: str) -> datetime | None:
    """The first time in a line: in a journal that is the journal's own, which all nodes have in one zone."""
    match = _STAMP.search(raw[:160])
    if match is None:
        return None
    try:
        if match["date"]:
            zone = (match["zone"] or "").replace("Z", "+00:00")
            when = datetime.fromisoformat(f"{match['date']}T{match['time'].replace(',', '.')}{zone}")
            return (when - (when.utcoffset() or when.resolution * 0)).replace(tzinfo=None)
        if match["month"]:
            month = _MONTHS.index(match["month"]) + 1
            return datetime.fromisoformat(f"{_LEAP_YEAR}-{month:02}-{int(match['day']):02}T{match['clock']}")
        return datetime.fromisoformat(f"{_LEAP_YEAR}-{match['numbers']}T{match['hour']}")
    except ValueError:
        return None
