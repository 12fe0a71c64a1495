# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""From the ranks' journals to the first real error of the rank that failed first, its cause and its cure.

What cannot be known is said: a rank without a journal, only secondary lines, an error that nobody knows, several
causes. The answer is certain only when every rank's journal is there from its beginning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._fabric.plain import plain
from ansible_collections.switchless.spark.plugins.module_utils._nccl.diagnose import DEFAULT_PREFIX
from ansible_collections.switchless.spark.plugins.module_utils._nccl.places import Places

from . import answer as said
from .answer import Answer, Quote
from .causes import POINTER, PRIMARY, SILENT, SYMPTOM, UNKNOWN, WEAK
from .ends import interfaces, standing, suspects, vanished
from .events import RUN, Event, events, waits
from .journal import Journal, journal
from .never import never
from .present import doubts_of, missing_of, order, rank_of
from .runs import Run, aligned, runs

TOLERANCE = 2.0
"""Seconds within which two nodes' times do not say what was first."""
NEAR = 120.0
"""An error that nobody knows counts when things fell apart within so many seconds after it."""
MANY = 8

_REAL = (PRIMARY, UNKNOWN, SILENT)


def diagnose(journals: object, plan: object = None, expected: object = None) -> dict[str, Any]:
    """Judge the journals of a group.

    ``journals`` maps each rank to what vllm_journal_info returned for it, or to nothing; ``plan`` is what fabric_plan
    gives, or nothing; ``expected`` are the ranks that the group has, or how many.
    """
    given = plain(journals)
    by_rank = {rank_of(key): journal(value) for key, value in given.items()} if isinstance(given, Mapping) else {}
    known = plain(plan)
    fabric = known if isinstance(known, Mapping) and known.get("cables") else None
    prefix = int(fabric.get("prefix_length", DEFAULT_PREFIX)) if fabric else DEFAULT_PREFIX
    return _diagnose(by_rank, Places(fabric), prefix, plain(expected)).as_dict()


def _diagnose(by_rank: dict[int | str, Journal], places: Places, prefix: int, expected: object) -> Answer:
    ranks = sorted(by_rank, key=order)
    all_runs, clocks = aligned([run for rank in ranks for run in runs(rank, by_rank[rank])], TOLERANCE)
    found = [event for run in all_runs for event in events(run, by_rank[run.rank].host, places, prefix)]
    found += [event for run in all_runs for event in vanished(run, by_rank[run.rank])]
    missing = missing_of(by_rank, all_runs, expected)
    base = Answer(
        said.NOTHING,
        missing=missing,
        doubts=tuple(doubts_of(by_rank, all_runs)),
        clocks=clocks,
        secondary=tuple(_quote(event) for event in _sorted(found) if event.weight == SYMPTOM)[:MANY],
        last=tuple(quote for run in all_runs if (quote := _last(run)) is not None),
    )
    reals = _reals(found)
    if not reals:
        reals = [event for run in all_runs for event in standing(run)]
    return _of(reals, base, all_runs) if reals else _without(found, base, all_runs)


def _sorted(found: list[Event]) -> list[Event]:
    """By time; those without one behind, by rank and place."""
    return sorted(
        found, key=lambda one: (one.at is None, one.at or 0.0, order(one.run.rank), one.run.invocation, one.number)
    )


def _reals(found: list[Event]) -> list[Event]:
    """The first event of each run that is an error of its own, the first of them first."""
    ends = [one.at for one in found if one.at is not None and one.weight in (PRIMARY, SILENT, SYMPTOM)]
    first_end = min(ends, default=None)
    real = [
        one
        for one in found
        if one.weight in (PRIMARY, SILENT)
        or (one.weight == UNKNOWN and (first_end is None or one.at is None or one.at >= first_end - NEAR))
    ]
    accused = [one for one in found if one.weight == POINTER]
    pool = real or accused
    best: dict[tuple[int | str, str, str], Event] = {}
    for one in sorted(pool, key=lambda one: (_weight(one), one.number)):
        best.setdefault((one.run.rank, one.run.boot, one.run.invocation), one)
    return _sorted(list(best.values()))


def _weight(event: Event) -> int:
    return (*_REAL, POINTER, WEAK).index(event.weight)


def _of(reals: list[Event], base: Answer, all_runs: list[Run]) -> Answer:
    first = reals[0]
    timed = first.at is not None
    together = [
        one
        for one in reals
        if not timed or (one.at is not None and first.at is not None and one.at - first.at <= TOLERANCE)
    ]
    first = min(together, key=lambda one: (_weight(one), one.at or 0.0, order(one.run.rank)))
    same = [one for one in together if one.code == first.code and one.code != UNKNOWN]
    ranks = tuple(sorted({one.run.rank for one in same} | {first.run.rank}, key=order))
    rivals = [one for one in together if one.code != first.code and one.weight == first.weight]
    verdict = {UNKNOWN: said.UNKNOWN, SILENT: said.DIED}.get(first.weight, said.FOUND)
    if first.choices:
        verdict = said.UNDECIDED
    doubts = list(base.doubts)
    if rivals:
        doubts.append("ranks had different errors at one time")
    if first.weight == POINTER:
        doubts.append("this rank accuses another one")
    earlier = [quote for quote in base.secondary if _earlier(quote, first)]
    if earlier:
        doubts.append(f"rank {earlier[0].rank} noticed a failure before this error")
    check = first.check
    if first.code == "ifname" and (named := interfaces(all_runs)):
        check = f"{check}; {named}"
    return replace(
        base,
        verdict=verdict,
        certain=verdict == said.FOUND and not base.missing and not doubts,
        rank=first.run.rank,
        printed_by=first.run.rank,
        code=first.code,
        cause=first.cause,
        cure=first.cure,
        check=check,
        choices=first.choices,
        line=first.line if first.line.text else None,
        began=first.at,
        invocation=first.run.invocation,
        ranks=ranks,
        also=tuple(_quote(one) for one in reals if one is not first and one not in same)[:MANY],
        doubts=tuple(doubts),
    )


def _earlier(quote: Quote, first: Event) -> bool:
    """Another rank's aftermath well before the error: then the error is no cause of it, or the clocks differ."""
    return (
        quote.rank != first.run.rank
        and quote.line.time is not None
        and first.at is not None
        and quote.line.time < first.at - TOLERANCE
    )


def _without(found: list[Event], base: Answer, all_runs: list[Run]) -> Answer:
    """No rank has an error of its own."""
    symptoms = [one for one in _sorted(found) if one.weight == SYMPTOM]
    weak = [one for one in _sorted(found) if one.weight == WEAK]
    spoke = {one.run.rank for one in symptoms}
    silenced = [one for one in weak if one.run.rank not in spoke]
    if silenced and (symptoms or not base.missing):
        return _of(silenced[:1], replace(base, doubts=(*base.doubts, "the line can be there without harm")), all_runs)
    waiting = {run.rank: waits(run) for run in all_runs}
    began = min((since for times in waiting.values() if len(times) >= RUN for since in times), default=None)
    accused, why = suspects(all_runs, symptoms, {rank for rank, times in waiting.items() if len(times) >= RUN})
    if base.missing:
        return replace(
            base,
            verdict=said.NO_JOURNAL,
            cause=f"rank {symptoms[0].run.rank} noticed: {symptoms[0].cause}" if symptoms else "",
            cure="Read the journal of the rank that has none here; where it is empty, its unit never started",
            check="`systemctl status` of the unit on that node",
            rank=base.missing[0],
            printed_by=symptoms[0].run.rank if symptoms else None,
            code=symptoms[0].code if symptoms else None,
            line=symptoms[0].line if symptoms else None,
            began=symptoms[0].at if symptoms else None,
        )
    if symptoms:
        first = symptoms[0]
        return replace(
            base,
            verdict=said.SECONDARY,
            rank=accused,
            printed_by=first.run.rank,
            code=first.code,
            cause=f"{first.cause}{f'; {why}' if why else ''}",
            cure=first.cure,
            check=first.check,
            line=first.line,
            began=min(first.at, began) if first.at is not None and began is not None else first.at or began,
            invocation=first.run.invocation,
        )
    if began is not None:
        return replace(
            base,
            verdict=said.HANG,
            rank=accused,
            cause=f"ranks wait for another one{f'; {why}' if why else ''}",
            cure="End the whole group and start it again; persistent JIT caches, so that no rank builds kernels alone",
            check="the last line of each rank; GPU power (96 % at less than 25 W spins); `py-spy dump` of each worker",
            began=began,
        )
    return base


def _quote(event: Event) -> Quote:
    return Quote(event.run.rank, event.line, event.code)


def _last(run: Run) -> Quote | None:
    line = next((line for line in reversed(run.lines) if not never(line.text)), None)
    return None if line is None else Quote(run.rank, line)
