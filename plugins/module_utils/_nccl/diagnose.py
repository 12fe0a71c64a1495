# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""From the ranks' logs to what went wrong: the first real error of the rank that failed first, cause and cure.

What nobody knows is said to be unknown, and a log without an error gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._fabric.plain import plain

from .addressed import Meaning, means, missing, stalled
from .causes import CAUSES, HARMLESS, PEER_GONE, PRIMARY, SYMPTOM, WEAK
from .contradictions import LEFTOVERS
from .log import Line, NcclLog, parse
from .places import Places
from .version import too_old, words

UNKNOWN = "unknown"
WEIGHTS = (PRIMARY, UNKNOWN, SYMPTOM, WEAK)
RUN = 3
"""So many weak lines are an error of their own."""
DEFAULT_PREFIX = 24
LONGEST = 400


@dataclass(frozen=True, slots=True)
class _Rank:
    key: str
    rank: int | None
    host: str | None
    log: NcclLog


@dataclass(frozen=True, slots=True)
class _Found:
    rank: _Rank
    line: Line | None
    meaning: Meaning

    def as_dict(self) -> dict[str, Any]:
        place = self.meaning.place
        return {
            "code": self.meaning.code,
            "cause": self.meaning.cause,
            "cure": self.meaning.cure,
            "check": self.meaning.check,
            "rank": self.rank.rank,
            "host": self.rank.host,
            "line": self.line.raw.strip()[:LONGEST] if self.line else None,
            "number": self.line.number if self.line else None,
            "cable": place.cable if place else None,
            "root": place.root if place else None,
        }


def diagnose(logs_by_rank: object, plan: object = None) -> list[dict[str, Any]]:
    """Judge the logs of a run.

    ``logs_by_rank`` maps a rank, or a host, to its log; ``plan`` is what fabric_plan gives, or nothing. Gives a row for
    each rank that failed by itself, the first to fail first, with C(code), C(cause), C(cure), C(check) (what decides
    where there are several causes), C(rank), C(host), C(line), C(number) of the line, C(cable) and C(root). Where all
    ranks only noticed that something else failed, gives what they noticed.
    """
    logs = plain(logs_by_rank)
    known = plain(plan)
    fabric = known if isinstance(known, Mapping) and known.get("cables") else None
    places = Places(fabric)
    prefix = int(fabric.get("prefix_length", DEFAULT_PREFIX)) if fabric else DEFAULT_PREFIX
    ranks = [_rank(key, text, fabric) for key, text in logs.items()] if isinstance(logs, Mapping) else []
    found = [item for rank in ranks for item in _of_rank(rank, ranks, places, prefix)]
    for weight in WEIGHTS[:3]:
        weighty = [item for item in found if item.meaning.weight == weight]
        if weighty and weight == SYMPTOM:
            weighty = _silenced(found, weighty) or weighty
        if weighty:
            return [item.as_dict() for item in _in_order(weighty)]
    return []


def _silenced(found: list[_Found], symptoms: list[_Found]) -> list[_Found]:
    """Ranks that others lost and that say nothing of it themselves, only what can be there without harm."""
    if not any(item.meaning.code == PEER_GONE for item in symptoms):
        return []
    spoke = {item.rank.key for item in symptoms}
    return [item for item in found if item.meaning.weight == WEAK and item.rank.key not in spoke]


def _rank(key: object, text: object, plan: Mapping[str, Any] | None) -> _Rank:
    log = parse(text if isinstance(text, str) else "")
    name = str(key)
    order = [str(host) for host in (plan or {}).get("order", ())]
    rank = int(name) if name.isdecimal() else order.index(name) if name in order else log.rank
    host = log.host if name.isdecimal() else name
    if rank is not None and rank < len(order):
        host = order[rank]
    return _Rank(name, rank, host, log)


def _of_rank(rank: _Rank, ranks: list[_Rank], places: Places, prefix: int) -> Iterator[_Found]:
    """The first of each weight."""
    seen: set[str] = set()
    errors = list(_errors(rank, ranks, places, prefix))
    weak = [item for item in errors if item.meaning.weight == WEAK]
    failed = not rank.log.complete or any(item.meaning.weight in (PRIMARY, SYMPTOM) for item in errors)
    absent = missing(rank.log, rank.host, places)
    if absent is not None:
        seen.add(PRIMARY)
        yield _Found(rank, *absent)
    for item in errors:
        weight = item.meaning.weight
        if weight in seen or (weight == UNKNOWN and not failed):
            continue
        seen.add(weight)
        run = weight == WEAK and len(weak) >= RUN
        yield _Found(rank, item.line, replace(item.meaning, weight=PRIMARY)) if run else item
    if PRIMARY not in seen:
        yield from (_Found(rank, None, meaning) for meaning in _standing(rank.log))
    still = stalled(rank.log, places)
    if still is not None and PRIMARY not in seen:
        yield _Found(rank, *still)


def _errors(rank: _Rank, ranks: list[_Rank], places: Places, prefix: int) -> Iterator[_Found]:
    for line in rank.log.lines:
        if line.level == "INFO" or HARMLESS.search(line.text):
            continue
        meaning = means(line, rank.log, places, prefix) or _by_table(line, ranks)
        if meaning is not None:
            yield _Found(rank, line, meaning)


def _by_table(line: Line, ranks: list[_Rank]) -> Meaning | None:
    for cause in CAUSES:
        match = cause.pattern.search(line.text)
        if match is None:
            continue
        groups = {name: value or "it" for name, value in match.groupdict().items()}
        check = cause.check
        if cause.code == "ifname":
            check = "; ".join(part for part in (check, _interfaces(ranks)) if part)
        return Meaning(cause.code, cause.cause.format(**groups), cause.cure.format(**groups), check, None, cause.weight)
    if line.level in ("WARN", "ERROR"):
        return Meaning(
            UNKNOWN,
            "unknown: this is NCCL's own word for it",
            "",
            "the lines before it, and the other ranks' logs at that time",
            None,
            UNKNOWN,
        )
    return None


def _interfaces(ranks: list[_Rank]) -> str:
    """The ranks need not be of one mind: the odd one is the one to look at."""
    named = [(rank.host or rank.key, rank.log.environment.get("NCCL_SOCKET_IFNAME")) for rank in ranks]
    return ", ".join(f"{who} has {name}" for who, name in named if name)


def _standing(log: NcclLog) -> Iterator[Meaning]:
    """What a log says of settings that cannot be right. None of it is in a log of a run as it should be."""
    environment = log.environment
    set_ = [name for name in LEFTOVERS if environment.get(name, "0") != "0"]
    if set_:
        yield Meaning(
            "leftovers",
            f"set as by a leftover /etc/nccl.conf in an image: {' and '.join(set_)}. The first all-reduce of four "
            "bytes freezes",
            "Remove the file from the image, or set both to 0",
            "cat /etc/nccl.conf where the process runs",
        )
    if environment.get("NCCL_GRAPH_FILE") and log.graph_channels == 0:
        crossed = environment.get("NCCL_CROSS_NIC") == "0"
        yield Meaning(
            "graph_ignored",
            "NCCL read the channel graph and took no channel from it"
            + (": NCCL_CROSS_NIC=0 makes it pass over a graph with crossnic" if crossed else ""),
            "NCCL_CROSS_NIC=1 and the graph that the role transport writes",
            "'channels loaded from XML graph' in the log: it has to be the number in the file",
        )
    wanted = environment.get("NCCL_IB_HCA") and environment.get("NCCL_IB_DISABLE", "0") == "0"
    if log.net == "Socket" and wanted and environment.get("NCCL_NET", "IB").upper() == "IB":
        yield Meaning(
            "socket_fallback",
            "NCCL goes over TCP, though it was told which RDMA devices to use: it could not use them",
            "Give the container /dev/infiniband; compare NCCL_IB_HCA with `rdma link`",
            "'NET/IB' in the log: 'No device found' or why it could not be opened",
        )
    aware = environment.get("NCCL_IB_SUBNET_AWARE_ROUTING", "0") != "0"
    if log.net not in (None, "Socket") and aware and too_old(log.version):
        yield Meaning(
            "too_old",
            f"NCCL {log.version} does not know NCCL_IB_SUBNET_AWARE_ROUTING and ignores it without a word",
            f"NCCL {words()} or newer in the environment that serves",
            "'NCCL version' in the log; transport_info shows which library is loaded",
        )


def _in_order(found: list[_Found]) -> list[_Found]:
    """By time where all have one of the same kind, else by rank. A time without a year is not held against one with."""
    times = [item.line.time if item.line else None for item in found]
    dated = [when for when in times if when is not None]
    comparable = len(dated) == len(times) and len({when.year == 2000 for when in dated}) == 1

    def key(item: _Found) -> tuple[float, int, str]:
        when = item.line.time if item.line and comparable else None
        rank = item.rank.rank
        seconds = (when - when.min).total_seconds() if when is not None else 0.0
        return seconds, rank if rank is not None else len(found), item.rank.key

    first: dict[str, _Found] = {}
    for item in sorted(found, key=key):
        first.setdefault(item.rank.key, item)
    return list(first.values())
