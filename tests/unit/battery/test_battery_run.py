# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run: order, shares of time, what breaks and is kept, how it ends, and that there is one at a time."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import subprocess
import sys
import types
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import battery
import pytest
from battery import __main__ as program
from battery import course
from battery.lock import Busy, held
from battery.model import Answer, Counters, Finding, Question, Result, Server, ServerError, Task, Verdict
from battery.outcome import Measure, Run, SpeedTask, conclusion, slow
from battery.run import Guard, Speed, execute, figures, ours
from battery.settings import Settings
from battery.status import Status

from tests.unit.battery.test_battery_settings import settings_of, written

GONE = "/v1/chat/completions of http://x: no connection; systemctl status vllm@lab.service says whether it serves"


@dataclass
class Seen:
    """What the guards of a test were told, and what the run left behind."""

    tasks: list[Task] = field(default_factory=list)
    speeds: list[SpeedTask] = field(default_factory=list)
    states: list[dict[str, Any]] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)

    def guard(self, name: str, says: Verdict | Exception | None = "passed", settings: Settings | None = None) -> Guard:
        async def ask(_server: Server, task: Task) -> Result:
            self.tasks.append(task)
            if settings:
                self.states.append(json.loads((settings.records / "status.json").read_text()))
            if isinstance(says, Exception):
                raise says
            if says is None:
                await asyncio.sleep(60)
            return Result(name, says or "passed", "56 reads,\n0 wrong")

        return name, ask

    def speed(self, name: str, *values: float, error: Exception | None = None) -> Speed:
        async def ask(_server: Server, task: SpeedTask) -> Measure:
            self.speeds.append(task)
            if error:
                raise error
            return Measure(name, "tokens/s", values, "" if values else "no time")

        return name, ask

    def finish(self, settings: Settings, run: Run) -> Path:
        self.runs.append(run)
        return settings.records / run.id

    def run(
        self,
        settings: Settings,
        guards: Sequence[Guard],
        measures: Sequence[Speed] = (),
        level: str = "quick",
        finish: Any = None,
    ) -> int:
        state = Status(settings.records, "r1", level, settings.recipe, 1_796_000_000.0)
        parts = guards, measures, finish or self.finish
        return asyncio.run(execute(settings, settings.api(), state, "salt", parts))


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """The server is one that only says its counters."""
    monkeypatch.setattr("battery.run.HttpServer", lambda _api: Quiet())
    return Seen()


class Quiet:
    async def __aenter__(self) -> Server:
        return self

    async def __aexit__(self, *_error: object) -> None:
        pass

    async def ask(self, question: Question) -> Answer:
        raise AssertionError(question)

    async def tokens(self, text: str) -> int:
        raise AssertionError(text)

    async def counters(self) -> Counters:
        return Counters(0, 0, 0, 640, 0, 0, 0, 0)


def shown(settings: Settings) -> dict[str, Any]:
    data = json.loads((settings.records / "status.json").read_text())
    assert isinstance(data, dict)
    return data


# a run that goes well


def test_steps_are_taken_in_order_and_told(seen: Seen, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = settings_of(tmp_path)
    guards = [seen.guard("count", settings=settings), seen.guard("concurrent prefill", settings=settings)]
    assert seen.run(settings, guards, [seen.speed("code_tokens_per_second", 130.0, 120.0, 126.6)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("run r1 of recipe lab, salt salt, server http://127.0.0.1:9")
    assert said[2].startswith("guard 2 of 2: concurrent prefill: passed in 0.")
    assert said[2].endswith(" s: 56 reads, 0 wrong")
    assert said[3] == "speed 1 of 1: code_tokens_per_second: 126.6 tokens/s (median of 3, 120 to 130)"
    assert said[4].endswith(f": 2 passed; its record is {tmp_path / 'records' / 'r1'}")
    assert [(state["state"], state["step"], state["steps_done"]) for state in seen.states] == [
        ("running", "count", 0),
        ("running", "concurrent prefill", 1),
    ]
    end = shown(settings)
    assert (end["schema"], end["run"], end["level"], end["state"], end["step"]) == (1, "r1", "quick", "passed", None)
    assert (end["steps_done"], end["steps_total"], end["began"]) == (3, 3, "2026-11-30T00:53:20Z")
    assert [result["guard"] for result in end["results"]] == ["count", "concurrent prefill"]
    assert end["results"][0].keys() == {"guard", "verdict", "summary", "seconds"}
    assert ((settings.records / "status.json").stat().st_mode & 0o777) == 0o644
    assert [path.name for path in settings.records.iterdir()] == ["status.json"]


def test_a_step_may_give_several_figures(seen: Seen, tmp_path: Path) -> None:
    async def others(_server: Server, _task: SpeedTask) -> tuple[Measure, ...]:
        return Measure("a", "tokens/s", (1.0,)), Measure("b", "s", (2.0,))

    settings = settings_of(tmp_path)
    assert seen.run(settings, [seen.guard("count")], [("outside", others)]) == 0
    assert [measure.name for measure in seen.runs[0].measures] == ["a", "b"]
    assert (shown(settings)["steps_done"], shown(settings)["steps_total"]) == (2, 2)


def test_what_is_recorded(seen: Seen, tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    seen.run(settings, [seen.guard("count")], [seen.speed("x", 1.0)])
    run = seen.runs[0]
    assert (run.id, run.level, run.recipe, run.salt, run.state) == ("r1", "quick", "lab", "salt", "passed")
    assert (run.results[0].guard, run.measures[0].values) == ("count", (1.0,))
    assert (run.fingerprint, run.tolerance, run.expected) == ({"vllm": "0.27.1"}, 0.1, settings.expected())
    assert run.counters_before == run.counters_after == asyncio.run(Quiet().counters())
    assert run.server == {"url": settings.url, "model": "copy", "unit": "vllm@lab.service"}
    assert run.began_wall == 1_796_000_000.0


@pytest.mark.parametrize(("level", "quick"), [("quick", True), ("full", False), ("canary", True)])
def test_what_guards_are_told(seen: Seen, tmp_path: Path, level: str, quick: bool) -> None:
    settings = settings_of(tmp_path)
    seen.run(settings, [seen.guard(name) for name in "abcde"], [seen.speed("x", 1.0)], level)
    task, speed = seen.tasks[0], seen.speeds[0]
    assert (task.quick, task.salt, task.context_tokens, task.guards) == (quick, "salt", 4096, settings.guards)
    assert (speed.quick, speed.expected) == (quick, settings.expected())
    whole = settings.quick_seconds if quick else settings.full_seconds
    assert 0.2 * whole < task.budget_seconds <= whole / 4  # a share of what is left, and the last one gets it all
    assert 0.9 * whole < speed.budget_seconds <= whole


# what breaks


def test_an_error_of_the_server_is_unknown(seen: Seen, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    guards = [seen.guard("a", ServerError(GONE)), seen.guard("b"), seen.guard("c", ServerError(GONE)), seen.guard("d")]
    assert seen.run(settings_of(tmp_path), guards) == 3
    assert [result.verdict for result in seen.runs[0].results] == ["unknown", "passed", "unknown", "passed"]
    assert seen.runs[0].results[0].summary == GONE
    assert seen.runs[0].state == "incomplete"
    assert f"guard 1 of 4: a: unknown in 0.0 s: {GONE}" in capsys.readouterr().out


def test_a_server_that_is_gone_ends_the_run(seen: Seen, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    group = ExceptionGroup("tasks", [ServerError(GONE), ExceptionGroup("more", [ServerError("other")])])
    errors = [ServerError(GONE), group, ServerError(GONE)]
    guards = [seen.guard("first"), *(seen.guard("a", error) for error in errors), seen.guard("never")]
    assert seen.run(settings_of(tmp_path), guards, [seen.speed("never", 1.0)]) == 3
    assert [result.guard for result in seen.runs[0].results] == ["first", "a", "a", "a"]
    assert [result.summary for result in seen.runs[0].results][1:] == [GONE] * 3
    assert (seen.runs[0].state, seen.runs[0].measures) == ("incomplete", ())
    assert "nothing more is asked" in capsys.readouterr().err


def test_what_says_nothing_of_the_server_does_not_count(seen: Seen, tmp_path: Path) -> None:
    """Neither a guard that breaks, nor one that could not read journals, says that the server is there or gone."""
    gone = ServerError(GONE)
    first: list[Verdict | Exception] = [gone, ValueError(), "unknown", gone, "failed", gone]
    second: list[Verdict | Exception] = [gone, ValueError(), "unknown", gone, gone, "passed"]
    guards = [seen.guard(str(n), says) for n, says in enumerate(first)]
    assert seen.run(settings_of(tmp_path), guards, [seen.speed("x", error=gone), seen.speed("y", 1.0)]) == 1
    assert [measure.name for measure in seen.runs[0].measures] == ["x", "y"]
    assert seen.runs[0].measures[0] == Measure("x", "", (), GONE)
    guards = [seen.guard(str(n), says) for n, says in enumerate(second)]
    assert seen.run(settings_of(tmp_path), guards) == 3
    assert len(seen.runs[1].results) == 5


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("oops"), TimeoutError("own"), ExceptionGroup("x", [ServerError(GONE), ValueError()])]
)
def test_a_guard_that_breaks(seen: Seen, tmp_path: Path, capsys: pytest.CaptureFixture[str], error: Exception) -> None:
    assert seen.run(settings_of(tmp_path), [seen.guard("a", error), seen.guard("b")]) == 3
    first, second = seen.runs[0].results
    assert (first.verdict, second.verdict) == ("unknown", "passed")
    assert type(error).__name__ in first.summary
    assert "a fault of the battery" in first.summary
    assert "Traceback" in capsys.readouterr().err


def test_a_guard_that_hangs_is_cut_off(seen: Seen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(course, "CUT_OFF", 0.05)
    guards = [seen.guard("a", None), *(seen.guard(name) for name in "bcd")]
    assert seen.run(settings_of(tmp_path, quick_seconds=4), guards) == 3
    results = seen.runs[0].results
    assert [result.verdict for result in results] == ["unknown", "passed", "passed", "passed"]
    assert results[0].summary.startswith("cut off after 0.0")
    assert results[0].summary.endswith(" s; give the level quick more than 4 seconds")
    assert results[0].seconds >= 0.04


def test_without_time_nothing_is_begun(seen: Seen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("battery.run.time", types.SimpleNamespace(monotonic=lambda: -1e9, time=lambda: 2e9))
    assert seen.run(settings_of(tmp_path), [seen.guard("a")], [seen.speed("x", 1.0)]) == 3
    assert (seen.tasks, seen.speeds) == ([], [])
    words = "not begun, there was no time left; give the level quick more than 600 seconds"
    assert (seen.runs[0].results[0].summary, seen.runs[0].measures[0].note) == (words, words)


def test_no_counters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Over the real connection, to where nobody listens."""
    seen = Seen()
    assert seen.run(settings_of(tmp_path), [seen.guard("a")]) == 0
    assert (seen.runs[0].counters_before, seen.runs[0].counters_after) == (None, None)
    assert capsys.readouterr().err.count("/metrics of http://127.0.0.1:9: no connection (") == 2


def test_sigterm(seen: Seen, tmp_path: Path) -> None:
    settings = settings_of(tmp_path)

    async def ask(_server: Server, _task: Task) -> Result:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(60)
        raise AssertionError

    def finish(settings: Settings, run: Run) -> Path:
        os.kill(os.getpid(), signal.SIGTERM)  # a second one does not keep it from writing down what it has
        return seen.finish(settings, run)

    assert seen.run(settings, [seen.guard("a"), ("b", ask), seen.guard("c")], finish=finish) == 143
    assert ([result.guard for result in seen.runs[0].results], seen.runs[0].state) == (["a"], "aborted")
    assert (shown(settings)["state"], shown(settings)["step"]) == ("aborted", None)


# what cannot be written


@pytest.mark.parametrize("why", ["folder", "disk"])
def test_the_status_cannot_be_written(
    seen: Seen, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    (tmp_path / "file").touch()
    settings = settings_of(tmp_path, records=str(tmp_path / ("file/x" if why == "folder" else "records")))

    def full(_file: int, _mode: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if why == "disk":
        monkeypatch.setattr(os, "fchmod", full)
    assert seen.run(settings, [seen.guard("a"), seen.guard("b")]) == 3
    assert [result.verdict for result in seen.runs[0].results] == ["passed", "passed"]
    said = capsys.readouterr().err
    assert said.count("status.json cannot be written: No") == 1
    assert why == "folder" or list(settings.records.iterdir()) == []


@pytest.mark.parametrize(("verdict", "code"), [("passed", 3), ("failed", 1), ("unknown", 3)])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), ZeroDivisionError("oops")])
def test_the_record_cannot_be_written(
    seen: Seen, tmp_path: Path, capsys: pytest.CaptureFixture[str], verdict: Verdict, code: int, error: Exception
) -> None:
    def finish(_settings: Settings, _run: Run) -> Path:
        raise error

    settings = settings_of(tmp_path)
    assert seen.run(settings, [seen.guard("a", verdict)], finish=finish) == code
    assert shown(settings)["state"] == {"passed": "passed", "failed": "failed", "unknown": "incomplete"}[verdict]
    said = capsys.readouterr()
    assert str(error) in said.err
    assert "it has no record" in said.out


def test_whatever_an_answer_held_is_written(seen: Seen, tmp_path: Path) -> None:
    async def ask(_server: Server, _task: Task) -> Result:
        return Result("a", "failed", "\ud800 \N{REPLACEMENT CHARACTER} é", (Finding("x", "y", "z"),))

    settings = settings_of(tmp_path)
    assert seen.run(settings, [("a", ask)]) == 1
    assert shown(settings)["results"][0]["summary"] == "\ud800 \N{REPLACEMENT CHARACTER} é"


# what a run comes to

SLOW, FAST = Measure("code_tokens_per_second", "tokens/s", (89.0, 200.0, 89.9)), Measure("x", "s", (1.0,))
UNMEASURED = Measure("code_tokens_per_second", "", (), "too short")


@pytest.mark.parametrize(
    ("verdicts", "measures", "gate", "wanted"),
    [
        (["passed", "not asked"], [SLOW], False, ("passed", 0)),
        (["passed"], [SLOW], True, ("failed", 1)),
        (["passed"], [FAST], True, ("passed", 0)),
        (["passed"], [UNMEASURED], True, ("incomplete", 3)),
        (["passed"], [UNMEASURED], False, ("passed", 0)),
        (["unknown", "failed", "not exercised"], [], False, ("failed", 1)),
        (["passed", "unknown", "not exercised"], [], False, ("incomplete", 3)),
        (["passed", "not exercised"], [SLOW], False, ("incomplete", 4)),
        (["not asked"], [], False, ("incomplete", 4)),
        ([], [], False, ("incomplete", 4)),
    ],
)
def test_conclusion(verdicts: list[Verdict], measures: list[Measure], gate: bool, wanted: tuple[str, int]) -> None:
    expected = {"code_tokens_per_second": 100.0}
    too_slow = gate and bool(slow(measures, expected, 0.1))
    results = [Result("a", verdict, "") for verdict in verdicts]
    assert conclusion(results, measures, expected if gate else {}, too_slow) == wanted


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("code_tokens_per_second", (90.0,), ()),
        ("code_tokens_per_second", (89.9,), ("code_tokens_per_second: seen 89.9 u, expected at least 90",)),
        ("code_tokens_per_second", (10.0, 95.0, 99.0), ()),
        ("needle_seconds", (110.0,), ()),
        ("needle_seconds", (111.0,), ("needle_seconds: seen 111 u, expected at most 110",)),
        ("needle_seconds", (), ()),
        ("turn1_ttft_seconds", (1e9,), ()),
        ("more", (0.0,), ()),
    ],
)
def test_slow(name: str, values: tuple[float, ...], words: tuple[str, ...]) -> None:
    expected = {"code_tokens_per_second": 100.0, "needle_seconds": 100.0, "turn1_ttft_seconds": None}
    assert slow([Measure(name, "u", values)], expected, 0.1) == words


@pytest.mark.parametrize(("gate", "code"), [(False, 0), (True, 1)])
def test_speed_is_a_warning_unless_it_is_a_gate(
    seen: Seen, tmp_path: Path, capsys: pytest.CaptureFixture[str], gate: bool, code: int
) -> None:
    measures = [seen.speed("code_tokens_per_second", 80.0), seen.speed("needle_seconds")]
    assert seen.run(settings_of(tmp_path, speed_is_gate=gate), [seen.guard("a")], measures) == code
    said = capsys.readouterr().err
    assert "code_tokens_per_second: seen 80 tokens/s, expected at least 90" in said
    assert ("a warning" in said) is not gate


def test_figures() -> None:
    assert figures(Measure("x", "s", (1.25,), "once")) == "1.25 s: once"
    assert figures(Measure("x", "", (), "no time")) == "not measured: no time"


# the program


class Watched:
    """Stands beside a run on a machine that has no group."""

    def __init__(self, *_of: object) -> None:
        pass

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        pass

    def stall(self) -> Result:
        return Result("stall", "passed", "0 stalls")

    async def group(self, *_counters: object) -> Result:
        return Result("group", "passed", "0 error lines")


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch, seen: Seen) -> Seen:
    """The packages of guards, speed and records, as far as this one knows them."""
    guards = tuple(seen.guard(name) for name in ("count", "needles", "margin"))
    cli = types.SimpleNamespace(
        main_accept=lambda _settings, asked: 10 + (asked.run == "r9"),
        main_close=lambda _settings, asked: 20 + (asked.journals == "j"),
    )
    monkeypatch.setattr("battery.run.Beside", Watched)
    for name, part in {
        "guard": types.SimpleNamespace(GUARDS=guards, CANARY=("margin", "count")),
        "speed": types.SimpleNamespace(MEASURES=(seen.speed("x", 1.0),)),
        "record": types.SimpleNamespace(finish=seen.finish, cli=cli),
        "soak": types.SimpleNamespace(main=lambda _settings, hours: int(hours * 10)),
    }.items():
        monkeypatch.setitem(sys.modules, f"battery.{name}", part)
        monkeypatch.setattr(battery, name, part, raising=False)
    return seen


def call(folder: Path, *arguments: str) -> int:
    path = folder / "settings.json"
    path.write_text(json.dumps(written(folder)))
    return program.main([*arguments, "--settings", str(path)])


def test_levels(parts: Seen, tmp_path: Path) -> None:
    assert call(tmp_path, "quick", "--salt", "s") == 0
    assert call(tmp_path, "full") == 0
    assert call(tmp_path, "canary") == 0
    quick, full, canary = parts.runs
    assert [len(run.results) for run in parts.runs] == [5, 5, 4]
    assert [result.guard for result in canary.results] == ["count", "margin", "stall", "group"]
    assert [len(run.measures) for run in parts.runs] == [1, 1, 0]
    assert [run.level for run in parts.runs] == ["quick", "full", "canary"]
    assert quick.id.endswith("Z-quick")
    assert quick.salt == "s"
    assert full.salt not in ("s", canary.salt, "")
    own = list(sys.modules["battery.speed"].MEASURES)
    others = [("outside", own[0][1])]
    assert [list(ours(level, others)[1]) for level in ("quick", "full", "canary")] == [own, [*own, *others], []]


def test_other_modules_are_handed_their_part(parts: Seen, tmp_path: Path) -> None:
    assert call(tmp_path, "soak", "--hours", "1.5") == 15
    assert [call(tmp_path, "accept"), call(tmp_path, "accept", "r9")] == [10, 11]
    assert call(tmp_path, "close", "r9", "--journals", "j") == 21
    assert parts.runs == []


def test_one_run_at_a_time(parts: Seen, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with held(tmp_path / "records", "r7", 1_796_000_000.0):
        assert call(tmp_path, "quick") == 5
        said = capsys.readouterr()
        assert "run r7, which began at 2026-11-30T00:53:20Z, is not over" in said.err
        assert call(tmp_path, "soak", "--hours", "1") == 5
        capsys.readouterr()
        assert call(tmp_path, "canary") == 0
        said = capsys.readouterr()
        assert (said.out.startswith("skipped: run r7"), said.err) == (True, "")
        assert call(tmp_path, "accept") == 10
    assert parts.runs == []
    assert call(tmp_path, "quick") == 0


def test_a_lock_without_words(tmp_path: Path) -> None:
    with held(tmp_path, "r1", 0):
        (tmp_path / "lock").write_text("")
        with pytest.raises(Busy, match=r"^another run is not over"), held(tmp_path, "r2", 0):
            pass


def test_a_longer_name_leaves_nothing_in_the_lock(tmp_path: Path) -> None:
    for run in ("a-long-name", "b"):
        with held(tmp_path, run, 0) as trouble:
            assert trouble == ""
            assert json.loads((tmp_path / "lock").read_text())["run"] == run


def test_no_lock_can_be_had(parts: Seen, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "records").touch()
    assert call(tmp_path, "quick") == 3
    assert [result.verdict for result in parts.runs[0].results] == ["passed"] * 5
    said = capsys.readouterr().err
    assert f"{tmp_path / 'records' / 'lock'} cannot be opened" in said
    assert "status.json" not in said


@pytest.mark.parametrize("arguments", [[], ["quick"], ["soak", "--settings", "/x"], ["other", "--settings", "/x"]])
def test_what_the_program_does_not_take(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        program.main(arguments)
    assert ended.value.code == 2
    assert "usage: battery" in capsys.readouterr().err


def test_the_folder_is_a_program(tmp_path: Path) -> None:
    folder, settings = Path(program.__file__).parent, tmp_path / "none.json"
    argv = [sys.executable, "-I", "-B", str(folder), "quick", "--settings", str(settings)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{settings} cannot be read: No such file or directory; ")
