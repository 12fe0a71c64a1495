# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""result.json: a run and back again. `schema.py` says what is in it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from battery.model import Counters, Finding, Proof, Result
from battery.outcome import Measure, Run
from battery.render.report import Baseline, Report, Row
from battery.status import moment

from .schema import VERSION
from .store import RecordError


def written(report: Report) -> dict[str, Any]:
    run = report.run
    return {
        "schema": VERSION,
        "id": run.id,
        "level": run.level,
        "recipe": run.recipe,
        "verdict": report.verdict,
        "sentence": report.sentence,
        "state": run.state,
        "began": moment(run.began_wall),
        "ended": moment(run.ended_wall),
        "began_wall": run.began_wall,
        "ended_wall": run.ended_wall,
        "closed_wall": report.closed_wall,
        "salt": run.salt,
        "server": dict(run.server),
        "fingerprint": dict(run.fingerprint),
        "differs": list(report.differs),
        "results": [_guard(result) for result in run.results],
        "measures": measures(run.measures),
        "tolerance": run.tolerance,
        "speed_is_gate": report.gate,
        "expected": dict(run.expected),
        "baseline": None if report.baseline is None else asdict(report.baseline),
        "comparison": [_row(row) for row in report.rows],
        "warnings": list(report.warnings),
        "counters_before": _counters(run.counters_before),
        "counters_after": _counters(run.counters_after),
    }


def run(data: Mapping[str, Any]) -> Run:
    """RecordError when the file is not of this schema."""
    _known(data)
    return Run(
        **{name: data[name] for name in ("id", "level", "recipe", "salt", "began_wall", "ended_wall", "state")},
        **{name: data[name] for name in ("fingerprint", "tolerance", "expected", "server")},
        results=tuple(_result(each) for each in data["results"]),
        measures=measured(data["measures"]),
        counters_before=_counted(data["counters_before"]),
        counters_after=_counted(data["counters_after"]),
    )


def baseline(data: Mapping[str, Any]) -> Baseline | None:
    """What the run was compared with when it ended."""
    _known(data)
    return None if data["baseline"] is None else Baseline(**data["baseline"])


def measures(all_of: Iterable[Measure]) -> list[dict[str, Any]]:
    return [asdict(each) | {"values": list(each.values)} for each in all_of]


def measured(data: Iterable[Mapping[str, Any]]) -> tuple[Measure, ...]:
    return tuple(Measure(each["name"], each["unit"], tuple(each["values"]), each["note"]) for each in data)


def _known(data: Mapping[str, Any]) -> None:
    if data.get("schema") != VERSION:
        seen = f"run {data.get('id')}: its record has schema {data.get('schema')}"
        raise RecordError(f"{seen}, expected {VERSION}; run the battery again")


def _guard(result: Result) -> dict[str, Any]:
    return {
        "guard": result.guard,
        "verdict": result.verdict,
        "summary": result.summary,
        "seconds": round(result.seconds, 3),
        "findings": [asdict(finding) for finding in result.findings],
        "proofs": [
            {"what": each.what, "seen": _finite(each.seen), "needed": _finite(each.needed), "met": each.met}
            for each in result.proofs
        ],
        "figures": {name: _finite(value) for name, value in result.figures.items()},
    }


def _result(data: Mapping[str, Any]) -> Result:
    return Result(
        data["guard"],
        data["verdict"],
        data["summary"],
        tuple(Finding(**each) for each in data["findings"]),
        tuple(Proof(each["what"], _number(each["seen"]), _number(each["needed"])) for each in data["proofs"]),
        {name: _number(value) for name, value in data["figures"].items()},
        data["seconds"],
    )


def _row(row: Row) -> dict[str, Any]:
    values = row.measure.values
    return {
        "name": row.measure.name,
        "unit": row.measure.unit,
        "n": len(values),
        "median": row.median,
        "least": min(values, default=None),
        "most": max(values, default=None),
        "accepted": row.accepted,
        "accepted_ratio": row.accepted_ratio,
        "expected": row.expected,
        "expected_ratio": row.expected_ratio,
        "slow": row.slow,
    }


def _counters(counters: Counters | None) -> dict[str, Any] | None:
    return None if counters is None else asdict(counters) | {"accepted_at": list(counters.accepted_at)}


def _counted(data: Mapping[str, Any] | None) -> Counters | None:
    return None if data is None else Counters(**{**data, "accepted_at": tuple(data["accepted_at"])})


def _finite(value: float) -> float | None:
    """JSON has no word for what is not a number, or has no end."""
    return value if math.isfinite(value) else None


def _number(value: float | None) -> float:
    return math.nan if value is None else value
