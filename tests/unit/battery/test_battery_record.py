# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run leaves: its folder whole or not at all, its schema, its verdict, its comparison, and which runs go."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from battery.model import Counters, Finding, Proof, Result, Verdict
from battery.outcome import Measure, Run
from battery.record import document, finish, history, schema, store
from battery.record.comparison import compare, warnings
from battery.record.keeping import reported
from battery.record.verdict import conclude
from battery.render.report import Baseline, Past
from battery.settings import Settings
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tests.unit.battery import sample_page as sample
from tests.unit.battery.test_battery_settings import settings_of

COUNTERS = Counters(1.5, 0, 0, 100, 200, 300, 250, 0, 10, 50, 40, (0.9, 0.8), 4_241_096, 2304)
PAPERS = ["junit.xml", "report.html", "report.md", "result.json"]


def run(*verdicts: Verdict, **changes: Any) -> Run:
    """A run of the present fingerprint that has these verdicts."""
    seen: tuple[Verdict, ...] = verdicts or ("passed",)
    results = tuple(Result(f"guard{number}", verdict, "56 reads") for number, verdict in enumerate(seen))
    values = {"recipe": "lab", "state": "passed", "results": results, "measures": (), "fingerprint": {"vllm": "0.27.1"}}
    return sample.run(**values | changes)


def inside(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def read(settings: Settings, name: str) -> Any:
    return json.loads((settings.records / name).read_text())


def test_a_run_is_there_with_all_its_papers(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    path = finish(settings, run(counters_before=COUNTERS))
    assert path == settings.records / "runs" / "20261201T085000Z-full"
    assert inside(path) == PAPERS
    assert inside(path.parent) == [path.name]
    assert {oct(entry.stat().st_mode & 0o777) for entry in path.iterdir()} == {"0o644"}


def test_what_is_written_is_what_the_schema_says(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    for number, verdict in enumerate(("passed", "failed")):
        given_run = sample.run(
            id=f"r{number}",
            recipe="lab",
            level="quick",
            results=(*(sample.RESULTS if verdict == "failed" else ()), Result("a", "passed", "")),
            counters_before=COUNTERS,
            fingerprint=dict(settings.fingerprint),
        )
        path = finish(settings, given_run)
        jsonschema.validate(json.loads((path / "result.json").read_text()), schema.RESULT)
    jsonschema.validate(read(settings, "accepted.json"), schema.ACCEPTED)
    jsonschema.validate(read(settings, "latest.json"), schema.LATEST)
    jsonschema.validate(read(settings, "suspect.json"), schema.SUSPECT)


@pytest.mark.parametrize("change", [{"schema": 2}, {"verdict": "fine"}, {"extra": 1}, {"id": ""}, {"results": [{}]}])
def test_the_schema_refuses_what_is_something_else(change: dict[str, Any]) -> None:
    data = document.written(sample.report())
    jsonschema.validate(data, schema.RESULT)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data | change, schema.RESULT)


TEXT = st.text(st.characters(codec=None), max_size=20)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
RESULT = st.builds(
    Result,
    TEXT,
    st.sampled_from(["passed", "failed", "not exercised", "not asked", "unknown"]),
    TEXT,
    st.lists(st.builds(Finding, TEXT, TEXT, TEXT), max_size=2).map(tuple),
    st.lists(st.builds(Proof, TEXT, NUMBER, NUMBER), max_size=2).map(tuple),
    st.dictionaries(TEXT, NUMBER, max_size=2),
    st.integers(0, 10_000).map(float),
)
MEASURE = st.builds(Measure, TEXT, TEXT, st.lists(NUMBER, max_size=3).map(tuple), TEXT)


@given(st.lists(RESULT, max_size=2).map(tuple), st.lists(MEASURE, max_size=2).map(tuple))
@hypothesis_settings(max_examples=60, deadline=None)
def test_a_run_comes_back_as_it_was(results: tuple[Result, ...], measures: tuple[Measure, ...]) -> None:
    whole = run(counters_after=COUNTERS)
    given_run = sample.run(results=results, measures=measures, counters_after=whole.counters_after, expected={})
    written = store.as_json(document.written(reported(given_run, None, False, [])))
    back = json.loads(written.encode("utf-8", "backslashreplace"))
    assert document.run(back) == given_run


def test_what_is_no_number_is_null_and_is_read_back() -> None:
    results = (Result("margin", "failed", "", (), (Proof("x", math.inf, 1),), {"margin": -math.inf, "good": -0.5}),)
    data = document.written(
        reported(run(results=results, measures=(Measure("a", "s", (1.0, math.nan)),)), None, False, [])
    )
    text = json.loads(store.as_json(data))
    assert text["results"][0]["figures"] == {"margin": None, "good": -0.5}
    assert text["measures"][0]["values"] == [1.0]
    assert math.isnan(document.run(text).results[0].figures["margin"])


def test_another_schema_is_refused_by_name() -> None:
    with pytest.raises(store.RecordError, match=r"run r7: .*schema 9, expected 1"):
        document.run({"schema": 9, "id": "r7"})


@pytest.mark.parametrize(
    ("verdicts", "state", "verdict", "words"),
    [
        (["passed", "not asked"], "passed", "passed", "The one guard that could be asked passed; 1 was not asked"),
        (["passed", "passed"], "passed", "passed", "All 2 guards"),
        (["passed", "failed", "unknown"], "failed", "failed", "1 guard of 3 failed: Guard1"),
        (["failed"], "aborted", "failed", "1 guard of 1 failed"),
        (["passed"], "aborted", "incomplete", "told to stop after 1 guard"),
        (["passed"], "running", "incomplete", "told to stop"),
        (["passed", "unknown", "not exercised"], "incomplete", "incomplete", "could not be asked for Guard1"),
        (["passed", "not exercised"], "incomplete", "not exercised", "Not a pass: .*Guard1"),
        (["passed"], "incomplete", "incomplete", "the server went away"),
        (["not asked"], "incomplete", "incomplete", "nothing was asked"),
        (["not asked"], "passed", "incomplete", "nothing was asked"),
    ],
)
def test_what_a_run_comes_to(verdicts: list[Verdict], state: str, verdict: str, words: str) -> None:
    seen, sentence = conclude(run(*verdicts, state=state), (), gate=False)
    assert seen == verdict
    assert re.search(words, sentence)


def base(**medians: float) -> Baseline:
    return Baseline("before", "full", 1.0, {"vllm": "0.27.1"}, medians)


@pytest.mark.parametrize(
    ("name", "values", "accepted", "expected", "below"),
    [
        ("code_tokens_per_second", (90, 91, 89), 100, 100, (False, False)),
        ("code_tokens_per_second", (89,), 100, 98, (True, False)),
        ("code_tokens_per_second", (89,), 98, 100, (False, True)),
        ("turn1_ttft_seconds", (1.1, 1.09), 1.0, 1.0, (False, False)),
        ("turn1_ttft_seconds", (1.11,), 1.0, 1.02, (True, False)),
        ("turn1_ttft_seconds", (0.1,), 1.0, 1.0, (False, False)),
        ("code_tokens_per_second", (), 100, 100, (False, False)),
        ("code_tokens_per_second", (1,), None, None, (False, False)),
    ],
)
def test_too_slow_against_what(
    name: str, values: tuple[float, ...], accepted: float | None, expected: float | None, below: tuple[bool, bool]
) -> None:
    against = base(**{name: accepted}) if accepted else None
    given_run = run(measures=(Measure(name, "u", values),), expected={name: expected})
    rows = compare(given_run, against)
    assert (rows[0].below_accepted, rows[0].below_expected) == below
    assert len(warnings(rows, against, 0.1)) == sum(below)


def test_a_comparison_has_its_figures() -> None:
    given_run = run(measures=(Measure("code_tokens_per_second", "tokens/s", (80, 100, 60)),))
    report = reported(sample.run(measures=given_run.measures), base(code_tokens_per_second=160.0), False, [])
    row = document.written(report)["comparison"][0]
    assert (row["n"], row["median"], row["least"], row["most"]) == (3, 80, 60, 100)
    assert (row["accepted"], row["accepted_ratio"]) == (160, 0.5)
    assert (row["expected"], row["expected_ratio"], row["slow"]) == (132.7, 80 / 132.7, True)
    assert "80 tokens/s is 50 % of the 160 of the accepted run before; the tolerance is 10 %" in report.warnings[0]


@pytest.mark.parametrize(
    ("values", "gate", "verdict", "words"),
    [
        ((50.0,), False, "passed", "Below the speed that was expected: Code, decode."),
        ((50.0,), True, "failed", "Speed is a gate, and this is below tolerance: Code, decode."),
        ((), False, "passed", "passed."),
        ((), True, "incomplete", "Speed is a gate, and this was not measured: Code, decode."),
        ((100.0,), True, "passed", "passed."),
    ],
)
def test_speed_warns_or_is_a_gate(values: tuple[float, ...], gate: bool, verdict: str, words: str) -> None:
    measures = (Measure("code_tokens_per_second", "tokens/s", values),)
    report = reported(run(measures=measures, expected={"code_tokens_per_second": 100.0}), None, gate, [])
    assert report.verdict == verdict
    assert report.sentence.endswith(words)


def test_the_latest_is_small_and_of_the_last_run(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    finish(settings, run(id="new", began_wall=200.0))
    finish(settings, run("failed", id="old", began_wall=100.0))
    latest = read(settings, "latest.json")
    assert (latest["id"], latest["verdict"], latest["fingerprint"]) == ("new", "passed", {"vllm": "0.27.1"})
    assert "results" not in latest


def test_a_disk_that_is_full_leaves_no_half_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_of(tmp_path)
    finish(settings, run(id="before", began_wall=1.0))
    write = store._write

    def full(path: Path, text: str) -> None:
        if path.name == "report.md":
            raise OSError(28, "No space left on device")
        write(path, text)

    monkeypatch.setattr(store, "_write", full)
    for name in ("new", "before"):
        with pytest.raises(OSError, match="No space"):
            finish(settings, run("failed", id=name, began_wall=2.0))
    assert inside(settings.records / "runs") == ["before"]
    assert read(settings, "runs/before/result.json")["verdict"] == "passed"
    assert read(settings, "latest.json")["id"] == "before"


def test_what_a_writer_that_died_has_left_is_put_right(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    runs = finish(settings, run(id="a", began_wall=1.0)).parent
    (runs / "a").rename(runs / ".a.old")
    (runs / ".a.new").mkdir()
    (runs / ".a.new" / "result.json").write_text("{")
    finish(settings, run(id="b", began_wall=2.0))
    assert inside(runs) == ["a", "b"]
    assert inside(runs / "a") == PAPERS


def test_a_run_that_cannot_be_read_is_left_alone(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, keep_runs=1)
    runs = settings.records / "runs"
    for name, text in {"x": "{", "y": '{"schema": 9}', "z": '{"schema": 1}', "w": "[]"}.items():
        (runs / name).mkdir(parents=True)
        (runs / name / "result.json").write_text(text)
    finish(settings, run(id="a"))
    assert [past.id for past in history.read(settings.records)] == ["a"]
    assert inside(runs) == ["a", "w", "x", "y", "z"]


def past(name: str, level: str, verdict: str = "passed") -> Past:
    return Past(name, level, verdict, 0.0, {})


@pytest.mark.parametrize(
    ("keep", "spared", "gone"),
    [(1, set(), ["q1", "q3", "c1"]), (1, {"q1"}, ["q3", "c1"]), (2, set(), ["q1"]), (9, set(), [])],
)
def test_which_runs_go(keep: int, spared: set[str], gone: list[str]) -> None:
    runs = [past("q1", "quick"), past("f1", "full"), past("q2", "quick", "failed"), past("c1", "canary")]
    runs += [past("q3", "quick", "incomplete"), past("q4", "quick"), past("c2", "canary")]
    assert history.superfluous(runs, keep, spared) == gone


def test_old_runs_go_and_the_accepted_and_the_failed_stay(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, keep_runs=2)
    verdicts: list[Verdict] = ["passed", "failed", "passed", "passed", "passed"]
    for number, verdict in enumerate(verdicts):
        finish(settings, run(verdict, id=f"r{number}", began_wall=float(number)))
    assert store.names(settings.records) == ["r0", "r1", "r3", "r4"]
    assert read(settings, "accepted.json")["id"] == "r0"
