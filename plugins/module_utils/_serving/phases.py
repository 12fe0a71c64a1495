# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""How far a boot is, and how long each part of it took: rendezvous, load, snapshot, capture, api.

Only the head has an api. Where vLLM says how long something took, that counts and its beginning is reckoned from it,
since a worker says less than the head. Writing or restoring a snapshot lies within the load: its time is taken off.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._fabric.plain import plain

from .journal import SYSTEMD, Journal, Line, journal, number
from .runs import Run, runs

RENDEZVOUS, LOAD, SNAPSHOT, CAPTURE, API = PHASES = ("rendezvous", "load", "snapshot", "capture", "api")
FIRST, LATER = "first", "later"
STARTING, SERVING, ENDED = "starting", "serving", "ended"

MARKS: Mapping[str, re.Pattern[str]] = {
    "met": re.compile(r"rank \d+ in world size \d+ is assigned as"),
    "loading": re.compile(r"Starting to load model "),
    "weights": re.compile(r"Loading weights took (?P<seconds>[\d.]+) seconds"),
    "loaded": re.compile(r"Model loading took .*?(?P<seconds>[\d.]+) seconds"),
    "wrote": re.compile(r"Weight snapshot: wrote .* in (?P<seconds>[\d.]+) s\b"),
    "restored": re.compile(r"Weight snapshot: restored .* in (?P<seconds>[\d.]+) s\b"),
    "eager": re.compile(r"Enforce eager set, disabling torch\.compile and CUDAGraphs|enforce_eager=True"),
    "capturing": re.compile(r"Capturing (?:CUDA graphs|model for)|Warming up model for the compilation"),
    "captured": re.compile(r"Graph capturing finished in (?P<seconds>[\d.]+) secs|Warming up done\."),
    "engine": re.compile(r"init engine \(profile, create kv cache, warmup model\) took (?P<seconds>[\d.]+) s"),
    "api": re.compile(r"Starting vLLM (?:API )?server|Started server process"),
    "ready": re.compile(r"Application startup complete\."),
    "head": re.compile(r"\(APIServer pid=\d+\)|DP group leader: node_rank=0\b"),
    "ended": re.compile(r"Main process exited|Deactivated successfully\.|Failed with result"),
}
"""What vLLM 0.27 and its forks print, on CPU and on GPU, and systemd at the end."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A line that says how far the boot is. C(took) is how long it says that something took."""

    name: str
    time: float
    took: float | None = None


@dataclass(frozen=True, slots=True)
class Phase:
    """C(end) is null while it goes on. C(seconds) is without what another phase takes of it."""

    name: str
    start: float
    end: float | None = None
    seconds: float | None = None

    def as_dict(self) -> dict[str, Any]:
        return {"phase": self.name, "start": self.start, "end": self.end, "seconds": _round(self.seconds)}


def mark(line: Line) -> Iterator[Mark]:
    """What a line says of the boot."""
    for name, pattern in MARKS.items():
        if line.time is None or (name == "ended") != (line.source == SYSTEMD):
            continue
        match = pattern.search(line.text)
        if match is not None:
            yield Mark(name, line.time, number(match.groupdict().get("seconds")))


def phases(data: object, limits: object = None) -> dict[str, Any]:
    """Read the journal of one rank; of several starts the last counts. C(limits) are seconds by phase."""
    seen = journal(plain(data))
    found = runs("", seen)
    allowed = plain(limits)
    return _phases(found[-1], seen, allowed if isinstance(allowed, Mapping) else {}) if found else _nothing()


def _nothing() -> dict[str, Any]:
    empty = {"phase": None, "since": None, "seconds": None, "silent_seconds": None, "overdue": False}
    return {
        "state": None,
        "boot": None,
        "start": None,
        "total_seconds": None,
        "other_seconds": None,
        "phases": [],
        "current": empty,
    }


def _phases(run: Run, seen: Journal, limits: Mapping[Any, Any]) -> dict[str, Any]:
    marks = [one for line in run.lines for one in mark(line)]
    if run.first is None:
        return _nothing()
    said = _Said(marks)
    start = _start(run, seen)
    found = list(_found(said, start))
    ready = said.at("ready")
    open_phase = next((one for one in found if one.end is None), None)
    state = ENDED if _ended(run, said, seen) else STARTING if open_phase is not None else SERVING
    done = [one.seconds or 0.0 for one in found if one.end is not None]
    total = ready - start if ready is not None else None
    return {
        "state": state,
        "boot": FIRST if said.at("wrote") is not None else LATER if said.at("restored") is not None else None,
        "start": start,
        "total_seconds": _round(total),
        "other_seconds": _round(max(total - sum(done), 0.0)) if total is not None else None,
        "phases": [one.as_dict() for one in found],
        "current": _current(open_phase, run, seen, state, limits),
    }


class _Said:
    """The marks of a boot, by name."""

    def __init__(self, marks: list[Mark]) -> None:
        self._marks = marks

    def all(self, *names: str) -> list[Mark]:
        return [one for one in self._marks if one.name in names]

    def at(self, *names: str) -> float | None:
        """When one of these was said first."""
        return next((one.time for one in self._marks if one.name in names), None)

    @property
    def head(self) -> bool:
        return self.at("head") is not None


def _start(run: Run, seen: Journal) -> float:
    """systemd knows when it started the process, before that said anything."""
    first = run.first or 0.0
    started = number(seen.unit.get("started"))
    same = str(seen.unit.get("invocation") or "") == run.invocation
    return started if started is not None and same and started <= first else first


def _found(said: _Said, start: float) -> Iterator[Phase]:
    """The phases that have begun, in their order."""
    loaded = said.all("loaded")
    met = said.at("met", "loading", "weights")
    if met is None and loaded:
        met = loaded[0].time - (loaded[0].took or 0.0)
    yield Phase(RENDEZVOUS, start, met, None if met is None else met - start)
    if met is None:
        return
    snapshots = [(one, one.took or 0.0) for one in said.all("wrote", "restored")]
    taken = sum(took for _one, took in snapshots)
    load = said.at("loading")
    if load is None:
        load = max(met, loaded[0].time - (loaded[0].took or 0.0)) if loaded else met
    end = _loaded(said, loaded)
    yield Phase(LOAD, load, end, None if end is None else max(end - load - taken, 0.0))
    if snapshots:
        first = min(one.time - took for one, took in snapshots)
        yield Phase(SNAPSHOT, first, snapshots[-1][0].time, taken)
    if end is None:
        return
    yield from _warm(said, end)


def _loaded(said: _Said, loaded: list[Mark]) -> float | None:
    """The last word on loading. vLLM on CPU has no line for the whole, so what comes next ends it."""
    if loaded:
        return loaded[-1].time
    weights = said.all("weights")
    after = said.at("capturing", "captured", "engine", "api", "ready")
    return weights[-1].time if weights and (after is not None or said.at("eager") is not None) else None


def _warm(said: _Said, loaded: float) -> Iterator[Phase]:
    captured = said.all("captured")
    later = said.at("engine", "api", "ready")
    after = loaded
    if captured:
        took = captured[-1].took
        start = captured[-1].time - took if took is not None else said.at("capturing") or loaded
        yield Phase(CAPTURE, start, captured[-1].time, captured[-1].time - start)
        after = captured[-1].time
    elif later is None and said.at("eager") is None:
        yield Phase(CAPTURE, said.at("capturing") or loaded)
        return
    if said.head:
        ready = said.at("ready")
        begun = said.at("api") or said.at("engine") or after
        yield Phase(API, begun, ready, None if ready is None else ready - begun)


def _ended(run: Run, said: _Said, seen: Journal) -> bool:
    current = str(seen.unit.get("invocation") or "") in ("", run.invocation)
    return (
        run.stopped or said.at("ended") is not None or (current and seen.unit.get("active") in ("inactive", "failed"))
    )


def _current(phase: Phase | None, run: Run, seen: Journal, state: str, limits: Mapping[Any, Any]) -> dict[str, Any]:
    now = run.last if seen.read_at is None or state == ENDED else seen.read_at
    silent = now - run.last if now is not None and run.last is not None else None
    if phase is None:
        return {"phase": None, "since": None, "seconds": None, "silent_seconds": _round(silent), "overdue": False}
    seconds = now - phase.start if now is not None else None
    limit = number(limits.get(phase.name))
    return {
        "phase": phase.name,
        "since": phase.start,
        "seconds": _round(seconds),
        "silent_seconds": _round(silent),
        "overdue": limit is not None and seconds is not None and state == STARTING and seconds > limit,
    }


def _round(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)
