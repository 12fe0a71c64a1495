# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""From lines to what they mean: the events of one start of one rank."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ansible_collections.switchless.spark.plugins.module_utils._nccl.addressed import Meaning, means
from ansible_collections.switchless.spark.plugins.module_utils._nccl.causes import CAUSES as NCCL_CAUSES
from ansible_collections.switchless.spark.plugins.module_utils._nccl.log import Line as NcclLine
from ansible_collections.switchless.spark.plugins.module_utils._nccl.log import NcclLog, parse
from ansible_collections.switchless.spark.plugins.module_utils._nccl.places import Places

from .aftermath import AFTERMATH
from .build_causes import BUILD
from .causes import CHOICES, POINTER, POINTERS, PRIMARY, SYMPTOM, UNKNOWN, WEAK, Cause, Choice, Facts
from .journal import KERNEL, Line
from .model_causes import MODEL
from .never import never, waited
from .runs import Run

RUN = 3
"""So many weak lines are an error of their own, and so many lines of waiting a hang."""

_TIMEOUT = re.compile(
    r"timed out after (?P<ms>\d+)ms|Timeout\(ms\)=(?P<watchdog>\d+)|[Tt]imed out after (?P<seconds>\d+) seconds"
    r"|within (?P<within>\d+)(?:\.\d+)? seconds"
)
_NVRM = re.compile(r"NVRM|nvCheckOkFailed")
_LOST = re.compile(r"connectFullMesh failed.*(?:closed by peer|reset by peer|refused)")
_PREFIX = re.compile(
    r"^(?:[\w.-]+ +\| )?(?:ERROR: +)?(?:\([^()]*pid=\d+[^()]*\) ?)*"
    r"(?:(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL)(?::? +\d\d-\d\d \d\d:\d\d:\d\d (?:\[[^\]]*\]|\S+\]) ?|: +))?"
)
_CONCLUSION = re.compile(r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Fault)(?:: |$)")
_FATAL = re.compile(
    r"^(?:Fatal Python error|Segmentation fault|terminate called|double free|free\(\): |malloc\S*: |\S+: error: )"
)
_SOURCE = re.compile(r"^\s+(?:raise |return |f?[\"'])")
_TRACEBACK = re.compile(r"^Traceback \(most recent call last\)")
_IN_TRACEBACK = re.compile(
    r"^(?:\s|Traceback \(most recent call last\)|The above exception was|During handling of the above|[\^~]|$)"
)


@dataclass(frozen=True, slots=True)
class Event:
    """A line with its meaning. C(at) is when the fault began, which is before the line when it says how long it waited.

    C(number) is the place of the line in its run.
    """

    run: Run
    line: Line
    number: int
    code: str
    cause: str
    cure: str
    check: str
    weight: str
    at: float | None
    choices: tuple[Choice, ...] = ()


def events(run: Run, facts: Facts, places: Places, prefix: int) -> list[Event]:
    """All of a run, in order. Facts of the node decide between causes where they can."""
    log = parse("\n".join(line.text for line in run.lines))
    nvrm = sum(line.source == KERNEL and _NVRM.search(line.text) is not None for line in run.lines)
    found = list(_events(run, log, {**facts, "nvrm_lines": nvrm}, places, prefix))
    found = found or list(_cut(run))
    weak = [event.code for event in found if event.weight == WEAK]
    return [
        replace(event, weight=PRIMARY) if event.weight == WEAK and weak.count(event.code) >= RUN else event
        for event in found
    ]


def _cut(run: Run) -> Iterator[Event]:
    """A traceback whose end is missing: an error, and nobody knows which."""
    for number, line in enumerate(run.lines):
        if _TRACEBACK.match(body(line.text)[1]):
            yield Event(run, line, number, UNKNOWN, "", "", "", UNKNOWN, line.time)
            return


def waits(run: Run) -> list[float]:
    """Since when this rank waited for another, once for each line that says so."""
    found = ((line, waited(line.text)) for line in run.lines)
    return [line.time - seconds for line, seconds in found if seconds is not None and line.time is not None]


def body(text: str) -> tuple[str, str]:
    """Level and message, without what processes and containers put in front."""
    match = _PREFIX.match(text)
    if match is None:
        return "", text
    return match["level"] or "", text[match.end() :]


def _events(run: Run, log: NcclLog, facts: Facts, places: Places, prefix: int) -> Iterator[Event]:
    for said in log.lines:
        number = said.number - 1
        line = replace(run.lines[number], text=said.raw)
        if never(line.text) or _SOURCE.match(body(line.text)[1]):
            continue
        known = _by_table(line.text, (*BUILD, *MODEL), facts)
        if known is None and not _LOST.search(line.text) and said.level != "INFO":
            known = _by_nccl(said, log, facts, places, prefix)
        if known is None and said.level != "INFO":
            known = _by_table(line.text, AFTERMATH, facts)
        if known is None and real(line.text, said.level):
            known = Event(run, line, number, UNKNOWN, "", "", "", UNKNOWN, line.time)
        if known is not None:
            before = _silence(line.text) or _before(known)
            yield replace(
                known,
                run=run,
                line=line,
                number=number,
                at=None if line.time is None else line.time - before,
            )


NOWHERE = Run("", "", "", ())


def _by_table(text: str, table: tuple[Cause, ...], facts: Facts) -> Event | None:
    for one in table:
        match = one.pattern.search(text)
        if match is None:
            continue
        groups = {name: value or "not named" for name, value in match.groupdict().items()}
        event = Event(
            NOWHERE,
            Line(text),
            0,
            one.code,
            one.cause.format(**groups),
            one.cure.format(**groups),
            one.check,
            one.weight,
            None,
            one.choices,
        )
        return decided(event, facts)
    return None


def _by_nccl(said: NcclLine, log: NcclLog, facts: Facts, places: Places, prefix: int) -> Event | None:
    meaning = means(said, log, places, prefix)
    if meaning is None:
        for one in NCCL_CAUSES:
            match = one.pattern.search(said.text)
            if match is not None:
                groups = {name: value or "it" for name, value in match.groupdict().items()}
                meaning = Meaning(
                    one.code, one.cause.format(**groups), one.cure.format(**groups), one.check, None, one.weight
                )
                break
        else:
            return None
    weight = POINTER if meaning.code in POINTERS and meaning.weight == PRIMARY else meaning.weight
    event = Event(
        NOWHERE,
        Line(said.raw),
        0,
        meaning.code,
        meaning.cause,
        meaning.cure,
        meaning.check,
        weight,
        None,
        () if "remote GID" in said.raw and meaning.code == "no_cable" else CHOICES.get(meaning.code, ()),
    )
    return decided(event, facts)


def decided(event: Event, facts: Facts) -> Event:
    """With one cause where the node's facts leave one."""
    left = [choice for choice in event.choices if choice.holds is not None and choice.holds(facts)]
    if len(left) != 1:
        return event
    return replace(event, code=left[0].code, cause=left[0].cause, cure=left[0].cure, choices=())


def real(text: str, level: str | None) -> bool:
    """Whether a line that no table knows is an error: the last line of a traceback, or of the level ERROR."""
    if level in ("WARN", "ERROR"):
        return True
    said, message = body(text)
    if _IN_TRACEBACK.match(message) or said in ("DEBUG", "INFO", "WARNING"):
        return False
    return said in ("ERROR", "CRITICAL") or bool(_CONCLUSION.match(message) or _FATAL.match(message))


def _silence(text: str) -> float:
    match = _TIMEOUT.search(text)
    if match is None:
        return 0.0
    if match["ms"] or match["watchdog"]:
        return float(match["ms"] or match["watchdog"]) / 1000
    return float(match["seconds"] or match["within"])


def _before(event: Event) -> float:
    return next((one.before for one in AFTERMATH if one.code == event.code and event.weight == SYMPTOM), 0.0)
