# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which run is accepted, what proves a fingerprint, what makes a group suspect, and what closing a run does to both."""

from __future__ import annotations

import json
import re
import threading
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
from battery.model import Finding, Result, Verdict
from battery.outcome import Measure, Run
from battery.record import RecordError, accept, cli, close, finish, mark_suspect, proven, store, suspect
from battery.record.closing import judged, parse
from battery.record.fingerprint import differences
from battery.settings import Settings
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.battery.test_battery_record import read, run
from tests.unit.battery.test_battery_settings import settings_of

NEW = {"vllm": "0.28.0"}
CLEAN: dict[str, Any] = {"errors": [], "restarts": 0, "read": True, "why": ""}
ERROR = CLEAN | {"errors": ["(EngineCore pid=71) ERROR 12-01 09:31:07 [core.py:845] NCCL timed out"]}
UNREAD = CLEAN | {"read": False, "why": "unreachable"}


def done(settings: Settings, name: str, *verdicts: Verdict, **changes: Any) -> Run:
    """A run that has ended; names in the order of their letters."""
    ended = run(*verdicts, **{"id": name, "level": "quick", "began_wall": float(ord(name[0]))} | changes)
    finish(settings, ended)
    return ended


def accepted(settings: Settings) -> str | None:
    return read(settings, "accepted.json")["id"] if (settings.records / "accepted.json").exists() else None


@pytest.mark.parametrize(
    ("first", "second", "stays"),
    [
        pytest.param({}, {}, "a", id="the same again"),
        pytest.param({}, {"level": "full"}, "b", id="a full after a quick"),
        pytest.param({"level": "full"}, {}, "a", id="a quick after a full"),
        pytest.param({"level": "full", "fingerprint": NEW}, {}, "b", id="a quick of another fingerprint"),
        pytest.param({}, {"fingerprint": NEW}, "a", id="a fingerprint that is no longer present"),
        pytest.param({"level": "canary"}, {"level": "soak"}, None, id="neither a canary nor a soak"),
        pytest.param({"level": "canary"}, {}, "b", id="the first quick"),
    ],
)
def test_which_run_is_accepted(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any], stays: str | None
) -> None:
    settings = settings_of(tmp_path)
    done(settings_of(tmp_path, fingerprint=first.get("fingerprint", {"vllm": "0.27.1"})), "a", **first)
    done(settings, "b", **second)
    assert accepted(settings) == stays


@pytest.mark.parametrize("verdict", ["failed", "unknown", "not exercised", "not asked"])
def test_what_is_no_pass_is_not_accepted(tmp_path: Path, verdict: Verdict) -> None:
    settings = settings_of(tmp_path)
    done(settings, "a", verdict)
    assert accepted(settings) is None
    with pytest.raises(RecordError, match="run a cannot be accepted: its guards are"):
        accept(settings, "a")


def test_by_hand(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    for name in ("a", "b"):
        done(settings, name, measures=(Measure("kv_tokens", "tokens", (7.0,)),))
    data = accept(settings, "b")
    assert (data["id"], data["by"], data["before"]["id"], data["before"]["before"]) == ("b", "hand", "a", None)
    assert read(settings, "accepted.json") == data
    with pytest.raises(RecordError, match=r"no run '\.\./a' is kept in .*: the last ones are a, b"):
        accept(settings, "../a")
    with pytest.raises(RecordError, match=r"fingerprint is not the present one: vllm: 0.27.1 → 0.28.0"):
        accept(settings_of(tmp_path, fingerprint=NEW), "b")
    done(settings, "c", level="canary")
    with pytest.raises(RecordError, match="it is a canary, expected a quick or a full one"):
        accept(settings, "c")


def test_a_speed_that_was_a_gate_is_accepted_by_hand_only(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, speed_is_gate=True)
    slow = {"measures": (Measure("code_tokens_per_second", "tokens/s", (50.0,)),)}
    done(settings, "a", **slow)
    assert (read(settings, "latest.json")["verdict"], accepted(settings)) == ("failed", None)
    accept(settings, "a")
    done(settings, "b", **slow | {"expected": {}})
    assert read(settings, "latest.json")["verdict"] == "passed"


def test_a_run_is_compared_with_the_one_that_was_accepted_before(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    done(settings, "a", measures=(Measure("kv_tokens", "tokens", (100.0,)),))
    done(
        settings_of(tmp_path, fingerprint=NEW),
        "b",
        fingerprint=NEW,
        measures=(Measure("kv_tokens", "tokens", (50.0,)),),
    )
    result = read(settings, "runs/b/result.json")
    assert (result["baseline"]["id"], result["differs"]) == ("a", ["vllm: 0.27.1 → 0.28.0"])
    assert (result["comparison"][0]["accepted_ratio"], len(result["warnings"])) == (0.5, 1)
    assert accepted(settings) == "b"


def test_what_is_proven(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    assert proven(settings) == (False, "no run is accepted: run battery quick")
    done(settings, "a")
    assert proven(settings)[0]
    assert "run a (quick)" in proven(settings)[1]
    yes, words = proven(settings_of(tmp_path, fingerprint={"vllm": "0.28.0", "cuda": "13.3"}))
    assert not yes
    assert "cuda: not there → 13.3; vllm: 0.27.1 → 0.28.0" in words
    for text, said in (("{", "is not JSON"), ('{"schema": 9}', "schema 9, expected 1"), ("[]", "no object")):
        (settings.records / "accepted.json").write_text(text)
        yes, words = proven(settings)
        assert not yes
        assert said in words


def test_an_accepted_file_that_is_broken_costs_no_run(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    settings.records.mkdir()
    (settings.records / "accepted.json").write_text("{")
    done(settings, "a")
    assert accepted(settings) == "a"


MAPS = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["1", "2"]))


@given(MAPS, MAPS)
def test_fingerprints_differ_in_exactly_what_is_said(old: dict[str, str], new: dict[str, str]) -> None:
    said = [words.split(":")[0] for words in differences(old, new)]
    assert said == [name for name in "abc" if old.get(name) != new.get(name)]


def test_a_failed_canary_makes_it_suspect_and_a_passed_quick_clears_it(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    finding = Finding("soft", "alone", "margin -0.74")
    done(settings, "a", level="canary", results=(Result("margin", "failed", "1 of 3 soft", (finding,)),))
    seen = suspect(settings)
    assert seen is not None
    assert (seen["run"], seen["why"]) == ("a", "Margin alone and with a neighbour: 1 of 3 soft")
    assert "alone: soft\nmargin -0.74" in seen["evidence"]
    others: list[tuple[str, Verdict]] = [("canary", "passed"), ("quick", "unknown"), ("soak", "passed")]
    for level, verdict in others:
        done(settings, "b", verdict, level=level, began_wall=seen["last_wall"] + 1)
        assert suspect(settings) == seen
    done(settings, "c", began_wall=seen["last_wall"] + 1)
    assert suspect(settings) is None


def test_what_was_found_after_a_run_began_stays_suspect(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    mark_suspect(settings, "a stall", "no token for 600 s")
    first = suspect(settings)
    done(settings, "a", began_wall=1.0)
    mark_suspect(settings, "another", "x" * 10_000)
    seen = suspect(settings)
    assert first is not None
    assert seen is not None
    assert (seen["why"], seen["since_wall"], len(seen["evidence"])) == ("another", first["since_wall"], 4000)


def test_a_suspicion_that_cannot_be_read_is_no_all_clear(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    settings.records.mkdir()
    (settings.records / "suspect.json").write_text("{")
    with pytest.raises(RecordError, match="is not JSON"):
        suspect(settings)
    done(settings, "a")
    assert suspect(settings) is None


@pytest.mark.parametrize(
    ("journals", "verdict", "words"),
    [
        ({"spark1": CLEAN, "spark2": CLEAN}, "passed", "2 of 2 ranks read: 0 error lines, 0 restarts"),
        ({"spark1": CLEAN, "spark2": ERROR}, "failed", "2 of 2 ranks read: 1 error line, 0 restarts"),
        ({"spark1": CLEAN | {"restarts": 2}}, "failed", "1 of 1 rank read: 0 error lines, 2 restarts"),
        ({"spark1": CLEAN, "spark2": UNREAD}, "unknown", "1 of 2 ranks read: .*not read: spark2 .unreachable"),
        ({"spark1": ERROR, "spark2": UNREAD}, "failed", "1 of 2 ranks read"),
        ({}, "unknown", "0 of 0 ranks read"),
    ],
)
def test_what_the_journals_say(journals: dict[str, Any], verdict: str, words: str) -> None:
    result = judged(journals)
    assert (result.guard, result.verdict) == ("journals", verdict)
    assert re.match(words, result.summary)


def test_a_finding_names_rank_and_line() -> None:
    assert judged({"spark2": ERROR}).findings == (Finding("an error line", "spark2", ERROR["errors"][0]),)


def test_closing_writes_all_of_it_anew(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    done(settings, "a")
    for journals, verdict, stays in (
        ({"spark1": CLEAN}, "passed", "a"),
        ({"spark1": UNREAD}, "incomplete", None),
        ({"spark1": ERROR}, "failed", None),
        ({"spark1": CLEAN}, "passed", "a"),
    ):
        path = close(settings, "a", journals)
        result = read(settings, "runs/a/result.json")
        assert [each["guard"] for each in result["results"]] == ["guard0", "journals"]
        assert (result["verdict"], read(settings, "latest.json")["verdict"], accepted(settings)) == (
            verdict,
            verdict,
            stays,
        )
        assert (result["closed_wall"] is not None, suspect(settings) is not None) == (True, verdict == "failed")
        assert f"lab: {verdict}" in (path / "report.md").read_text()


def test_what_was_accepted_before_comes_back(tmp_path: Path) -> None:
    settings, later = settings_of(tmp_path), settings_of(tmp_path, fingerprint=NEW)
    done(settings, "a")
    before = read(settings, "accepted.json")
    done(later, "b", fingerprint=NEW)
    close(later, "b", {"spark1": CLEAN})
    assert read(settings, "accepted.json")["guards"] == {"guard0": "passed", "journals": "passed"}
    close(later, "b", {"spark1": ERROR})
    assert read(settings, "accepted.json") == before


def test_closing_keeps_what_the_run_was_compared_with(tmp_path: Path) -> None:
    settings, later = settings_of(tmp_path), settings_of(tmp_path, fingerprint=NEW)
    done(settings, "a")
    done(later, "b", fingerprint=NEW)
    close(later, "b", {"spark1": CLEAN})
    assert read(settings, "runs/b/result.json")["baseline"]["id"] == "a"


def test_closing_an_older_run_leaves_the_latest(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    done(settings, "a")
    done(settings, "b")
    close(settings, "a", {"spark1": ERROR})
    assert read(settings, "latest.json")["id"] == "b"


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"a": []}', '{"a": {"errors": []}}', json.dumps({"a": CLEAN | {"restarts": True}})]
)
def test_journals_that_are_something_else_are_refused(text: str) -> None:
    with pytest.raises(RecordError, match=r"journals\.json.*playbooks/battery\.yml"):
        parse(text, "journals.json")


def test_the_command_closes_the_last_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = settings_of(tmp_path)
    path = tmp_path / "journals.json"
    args = Namespace(run=None, journals=path)
    assert cli.main_close(settings, args) == 2
    path.write_text(json.dumps({"spark1": CLEAN}))
    assert cli.main_close(settings, args) == 2
    assert "run battery quick" in capsys.readouterr().err
    done(settings, "a")
    done(settings, "b")
    for journal, code in ((CLEAN, 0), (ERROR, 1), (UNREAD, 3)):
        path.write_text(json.dumps({"spark1": journal}))
        assert cli.main_close(settings, args) == code
    assert "run b: incomplete: " in capsys.readouterr().out


def test_the_command_accepts_the_last_quick_or_full_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = settings_of(tmp_path)
    assert cli.main_accept(settings, Namespace(run=None)) == 2
    for name, level in (("a", "quick"), ("b", "full"), ("c", "canary")):
        done(settings, name, level=level)
    assert cli.main_accept(settings, Namespace(run="a")) == 0
    assert accepted(settings) == "a"
    assert cli.main_accept(settings, Namespace(run=None)) == 0
    assert accepted(settings) == "b"
    assert cli.main_accept(settings, Namespace(run="c")) == 2
    assert "cannot be accepted" in capsys.readouterr().err


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    other = threading.Thread(target=done, args=(settings, "a"))
    with store.writing(settings.records):
        other.start()
        other.join(0.2)
        assert (other.is_alive(), store.names(settings.records)) == (True, [])
    other.join(30)
    assert store.names(settings.records) == ["a"]
