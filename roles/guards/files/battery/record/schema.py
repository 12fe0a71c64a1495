# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What result.json, accepted.json, latest.json and suspect.json hold, in the words of JSON Schema.

Times that end in `_wall` are seconds since 1970; `began` and `ended` are the same in RFC 3339. A reader that meets
another `schema` than it knows leaves the file alone; a field that is added does not change it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

VERSION = 1
VERDICTS = ["passed", "failed", "incomplete", "not exercised"]

Table = dict[str, Any]


def _object(required: Mapping[str, Any]) -> Table:
    """All of these fields and no others."""
    return {
        "type": "object",
        "properties": dict(required),
        "required": list(required),
        "additionalProperties": False,
    }


def _list(each: Table) -> Table:
    return {"type": "array", "items": each}


def _map(each: Table) -> Table:
    return {"type": "object", "additionalProperties": each}


def _or_null(table: Table) -> Table:
    return {"anyOf": [table, {"type": "null"}]}


TEXT: Table = {"type": "string"}
NAME: Table = {"type": "string", "minLength": 1}
NUMBER: Table = {"type": "number"}
COUNT: Table = {"type": "integer", "minimum": 0}
TRUTH: Table = {"type": "boolean"}
# Null: what was seen has no number in JSON (an infinite one, or none).
FIGURE: Table = _or_null(NUMBER)
TEXTS = _map(TEXT)
SCHEMA: Table = {"const": VERSION}
VERDICT: Table = {"enum": VERDICTS}
LEVEL: Table = {"enum": ["quick", "full", "canary", "soak"]}
STATE: Table = {"enum": ["running", "passed", "failed", "incomplete", "aborted"]}

GUARD = _object(
    {
        "guard": NAME,
        "verdict": {"enum": ["passed", "failed", "not exercised", "not asked", "unknown"]},
        "summary": TEXT,
        "seconds": NUMBER,
        "findings": _list(_object({"what": TEXT, "where": TEXT, "evidence": TEXT})),
        "proofs": _list(_object({"what": TEXT, "seen": FIGURE, "needed": FIGURE, "met": TRUTH})),
        "figures": _map(FIGURE),
    }
)
# Without values it could not be measured, and the note says why.
MEASURE = _object({"name": NAME, "unit": TEXT, "values": _list(NUMBER), "note": TEXT})
COMPARISON = _object(
    {
        "name": NAME,
        "unit": TEXT,
        "n": COUNT,
        **dict.fromkeys(
            ("median", "least", "most", "accepted", "accepted_ratio", "expected", "expected_ratio"), FIGURE
        ),
        "slow": TRUTH,
    }
)
# The accepted run that this one was compared with when it ended.
BASELINE = _object({"id": NAME, "level": LEVEL, "accepted_wall": NUMBER, "fingerprint": TEXTS, "medians": _map(NUMBER)})
# As model.Counters: counts grow from the start of the server.
COUNTERS = _object(
    {
        **dict.fromkeys(("at", "running", "waiting", "generated_tokens", "prompt_tokens"), NUMBER),
        **dict.fromkeys(("prefix_queries", "prefix_hits", "preemptions"), NUMBER),
        **dict.fromkeys(("drafts", "draft_tokens", "accepted_tokens"), FIGURE),
        "accepted_at": _list(NUMBER),
        **dict.fromkeys(("kv_tokens", "block_tokens"), FIGURE),
    }
)
RESULT = _object(
    {
        "schema": SCHEMA,
        "id": NAME,
        "level": LEVEL,
        "recipe": NAME,
        # `state` is how the program ended, `verdict` what the run is worth once all that is known of it is in.
        "verdict": VERDICT,
        "sentence": NAME,
        "state": STATE,
        "began": NAME,
        "ended": NAME,
        "began_wall": NUMBER,
        "ended_wall": NUMBER,
        "closed_wall": FIGURE,
        "salt": TEXT,
        "server": TEXTS,
        "fingerprint": TEXTS,
        "differs": _list(NAME),
        "results": _list(GUARD),
        "measures": _list(MEASURE),
        "tolerance": NUMBER,
        "speed_is_gate": TRUTH,
        "expected": _map(FIGURE),
        "baseline": _or_null(BASELINE),
        "comparison": _list(COMPARISON),
        "warnings": _list(NAME),
        "counters_before": _or_null(COUNTERS),
        "counters_after": _or_null(COUNTERS),
    }
)
# `before` is what was accepted until then: it comes back when the journals spoil this one.
_ACCEPTED = {
    "schema": SCHEMA,
    "id": NAME,
    "level": {"enum": ["quick", "full"]},
    "recipe": NAME,
    "by": {"enum": ["run", "hand"]},
    "accepted": NAME,
    "accepted_wall": NUMBER,
    "began_wall": NUMBER,
    "fingerprint": TEXTS,
    "guards": _map(NAME),
    "measures": _list(MEASURE),
}
ACCEPTED = _object(_ACCEPTED | {"before": _or_null(_object(_ACCEPTED | {"before": {"type": "null"}}))})
LATEST = _object(
    {
        "schema": SCHEMA,
        "id": NAME,
        "level": LEVEL,
        "recipe": NAME,
        "state": STATE,
        "verdict": VERDICT,
        "sentence": NAME,
        "warnings": _list(NAME),
        "began": NAME,
        "ended": NAME,
        "fingerprint": TEXTS,
    }
)
SUSPECT = _object(
    {
        "schema": SCHEMA,
        "run": TEXT,
        "why": NAME,
        "evidence": TEXT,
        "since": NAME,
        "since_wall": NUMBER,
        "last_wall": NUMBER,
    }
)
