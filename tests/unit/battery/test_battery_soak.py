# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A soak: traffic and guards in turn until the time is over, and how it ends before."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
from battery import rounds as rounds_module
from battery import soak as soak_module
from battery import stall, traffic
from battery.model import Answer, Counters, Finding, Question, Result, Server, ServerError, Task, Verdict
from battery.outcome import Run
from battery.rounds import merged
from battery.run import Guard
from battery.settings import Settings
from battery.soak import execute, main, soak
from battery.status import Status
from battery.traffic import Traffic, flow, question
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.battery.test_battery_settings import settings_of

GONE = "no connection; systemctl status vllm@lab.service says whether it serves"


@dataclass(eq=False)
class Machine:
    """Answers at once. `hangs` never answers any more, `fails` says of a number whether that request fails."""

    fails: Callable[[int], bool] = lambda _number: False
    hangs: bool = False
    at: float = 0.0
    asked: list[Question] = field(default_factory=list)
    open: int = 0
    most: int = 0
    entered: asyncio.Event = field(default_factory=asyncio.Event)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _kind: type[BaseException] | None, _e: object, _t: TracebackType | None) -> None:
        pass

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question)
        number = len(self.asked)
        self.open += 1
        self.most = max(self.most, self.open)
        self.entered.set()
        try:
            await asyncio.sleep(60 if self.hangs else 0.001)
        finally:
            self.open -= 1
        if self.fails(number):
            raise ServerError(GONE)
        thinking = bool(question.extra["chat_template_kwargs"]["thinking"])
        return Answer("a", reasoning="b" if thinking else "", completion_tokens=10)

    async def counters(self) -> Counters:
        """Each look is 20 s after the one before."""
        self.at += 20
        return Counters(self.at, self.open, 0, 0 if self.hangs else self.at, 0, 0, 0, 0)

    async def tokens(self, text: str) -> int:
        raise AssertionError(text)


def guard(name: str, *verdicts: Verdict, told: list[Task] | None = None) -> Guard:
    """One verdict a round, the last one again and again."""
    left = list(verdicts)

    async def ask(_server: Server, task: Task) -> Result:
        if told is not None:
            told.append(task)
        verdict = left.pop(0) if len(left) > 1 else left[0]
        found = (Finding("a digit is wrong", "pass 2", "42"),) if verdict == "failed" else ()
        return Result(name, verdict, f"it is {verdict}", found, figures={"reads": 3.0})

    return name, ask


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic, "PAUSE_SECONDS", 0.0)


def soaked(
    folder: Path,
    machine: Machine,
    guards: Sequence[Guard],
    seconds: float = 60.0,
    beside: Awaitable[None] | None = None,
) -> tuple[Run, int]:
    settings = settings_of(folder)
    status = Status(settings.records, "r1-soak", "soak", "lab", 1_796_000_000.0)

    async def go() -> tuple[Run, int]:
        task = asyncio.create_task(
            soak(settings, seconds / 3600, machine, status, "s1", guards, interval=0.02, every=0.005)
        )
        if beside:
            await beside
            task.cancel()
        return await task

    return asyncio.run(go())


def by_name(run: Run) -> dict[str, Result]:
    return {result.guard: result for result in run.results}


# a soak that goes well


def test_rounds_follow_each_other_to_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told: list[Task] = []
    machine = Machine()
    run, code = soaked(tmp_path, machine, [guard("count", "passed", told=told), guard("margin", "passed")], 0.5)
    assert (run.level, run.state, code, run.id, run.salt) == ("soak", "passed", 0, "r1-soak", "s1")
    found = by_name(run)
    assert list(found) == ["traffic", "count", "margin"]
    assert found["traffic"].figures["requests"] == len(machine.asked)
    assert found["traffic"].figures["tokens"] == 10 * len(machine.asked)
    assert all(task.quick for task in told)
    (measure,) = run.measures
    assert (measure.name, len(measure.values)) == ("soak_tokens_per_second", len(told))
    assert found["count"].summary.startswith(f"{len(told)} rounds: {len(told)} passed; round 1: it is passed")
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("soak, ")]
    assert len(lines) == len(told)
    assert lines[0].endswith("; count passed, margin passed")
    assert run.counters_before
    assert run.counters_after


def test_the_status_is_followed(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []

    async def look(_server: Server, _task: Task) -> Result:
        seen.append(json.loads((tmp_path / "records/status.json").read_text()))
        return Result("look", "failed", "enough")

    soaked(tmp_path, Machine(), [guard("count", "passed"), ("look", look)])
    assert (seen[0]["step"], seen[0]["level"]) == ("look", "soak")
    assert [result["guard"] for result in seen[0]["results"]] == ["traffic", "count"]


# how it ends before


def test_a_guard_that_fails_ends_it_and_all_is_kept(tmp_path: Path) -> None:
    told: list[Task] = []
    guards = [guard("count", "passed", "passed", "failed", told=told), guard("margin", "passed")]
    run, code = soaked(tmp_path, Machine(), guards)
    assert (run.state, code) == ("failed", 1)
    assert [task.salt for task in told] == ["s1-1", "s1-2", "s1-3"]
    found = by_name(run)
    assert found["count"].summary == "3 rounds: 1 failed, 2 passed; round 3: it is failed"
    assert found["count"].findings == (Finding("a digit is wrong", "round 3, pass 2", "42"),)
    # The others of the round were asked too.
    assert found["margin"].summary.startswith("3 rounds: 3 passed")
    assert len(run.measures[0].values) == 3


def test_a_stall_ends_it_and_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[tuple[list[int], Path]] = []

    def dumps(pids: list[int], folder: Path) -> list[Path]:
        looked.append((pids, folder))
        return [folder / "py-spy-42.txt"]

    monkeypatch.setattr(stall, "dumps", dumps)
    machine = Machine(hangs=True)
    run, code = soaked(tmp_path, machine, [guard("count", "passed")])
    assert (run.state, code) == ("failed", 1)
    result = by_name(run)["stall"]
    assert "no token was generated and no prompt computed" in result.findings[0].evidence
    assert "dumps/r1-soak has py-spy-42.txt" in result.findings[0].evidence
    assert looked == [([], tmp_path / "records/dumps/r1-soak")]
    assert machine.open == 0


def test_a_dump_that_cannot_be_written_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def dumps(_pids: list[int], _folder: Path) -> list[Path]:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(stall, "dumps", dumps)
    run, _said = soaked(tmp_path, Machine(hangs=True), [])
    assert "cannot be written: No space left on device" in by_name(run)["stall"].findings[0].evidence


def test_a_server_that_goes_away_leaves_it_incomplete(tmp_path: Path) -> None:
    run, code = soaked(tmp_path, Machine(fails=lambda _number: True), [guard("count", "passed")])
    assert (run.state, code) == ("incomplete", 3)
    result = by_name(run)["traffic"]
    assert result.verdict == "unknown"
    assert result.summary.endswith(GONE)


def test_a_server_that_goes_away_within_the_guards(tmp_path: Path) -> None:
    async def gone(_server: Server, _task: Task) -> Result:
        raise ServerError(GONE)

    run, code = soaked(tmp_path, Machine(), [(name, gone) for name in ("a", "b", "c", "d")])
    assert (run.state, code) == ("incomplete", 3)
    assert [result.verdict for result in run.results] == ["passed", "unknown", "unknown", "unknown"]


def test_some_requests_that_fail_are_a_failure_at_the_end(tmp_path: Path) -> None:
    run, code = soaked(tmp_path, Machine(fails=lambda number: number == 2), [guard("count", "passed")], 0.3)
    assert (run.state, code) == ("failed", 1)
    result = by_name(run)["traffic"]
    assert [each.where for each in result.findings] == ["request 2"]
    assert by_name(run)["count"].verdict == "passed"


def test_being_stopped_keeps_what_there_is(tmp_path: Path) -> None:
    machine = Machine()

    async def later() -> None:
        await machine.entered.wait()

    run, code = soaked(tmp_path, machine, [guard("count", "passed")], beside=later())
    assert (run.state, code) == ("aborted", 143)
    assert machine.open == 0


def test_what_breaks_is_told_and_what_there_is_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_arguments: object) -> str:
        raise ZeroDivisionError("a fault of ours")

    monkeypatch.setattr(rounds_module, "_line", broken)
    run, code = soaked(tmp_path, Machine(), [guard("count", "passed")])
    assert (run.state, code) == ("incomplete", 3)
    assert by_name(run)["count"].verdict == "passed"
    assert "a fault of ours" in capsys.readouterr().err


# rounds


def results(*verdicts: Verdict) -> list[Result]:
    return [
        Result("count", each, f"number {n}", (Finding("x", "y", "z"),) if each == "failed" else (), seconds=2.0)
        for n, each in enumerate(verdicts, 1)
    ]


@pytest.mark.parametrize(
    ("verdicts", "worst", "summary"),
    [
        (("passed",), "passed", "1 rounds: 1 passed; round 1: number 1"),
        (("passed", "failed", "failed"), "failed", "3 rounds: 2 failed, 1 passed; round 2: number 2"),
        (("passed", "unknown"), "unknown", "2 rounds: 1 unknown, 1 passed; round 2: number 2"),
        (("not exercised", "passed"), "passed", "2 rounds: 1 passed, 1 not exercised; round 2: number 2"),
        (("not exercised",), "not exercised", "1 rounds: 1 not exercised; round 1: number 1"),
        (("not asked", "not asked"), "not asked", "2 rounds: 2 not asked; round 1: number 1"),
    ],
)
def test_rounds_of_a_guard_are_one_result(verdicts: tuple[Verdict, ...], worst: Verdict, summary: str) -> None:
    got = merged(results(*verdicts))
    assert (got.verdict, got.summary, got.seconds) == (worst, summary, 2.0 * len(verdicts))


# traffic


@given(st.integers(0, 10_000), st.integers(16, 1_000_000))
def test_a_request_fits(seed: int, context: int) -> None:
    asked = question(random.Random(seed), context)  # noqa: S311 (no secret)
    words = len(str(asked.messages[0]["content"]).split())
    assert "K" not in asked.messages[0]["content"]
    assert 1 <= asked.max_tokens <= context // 4
    assert words <= context // 4 + 20


def test_traffic_is_mixed() -> None:
    machine, seen = Machine(fails=lambda number: number > 200), Traffic()

    async def go() -> None:
        await flow(machine, seen, random.Random(1), 32_768, 60.0)  # noqa: S311 (no secret)

    asyncio.run(go())
    assert seen.gone
    lengths = [len(str(asked.messages[0]["content"]).split()) for asked in machine.asked]
    assert min(lengths) < 20
    assert max(lengths) > 1000
    assert {asked.max_tokens for asked in machine.asked} == {96, 1024}
    assert (machine.most, seen.most_at_once) == (4, 4)
    assert 0 < seen.thought < seen.requests == len(machine.asked)


# the command


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    monkeypatch.setattr(soak_module, "HttpServer", lambda _api: made)
    return made


def test_the_command_keeps_a_record(tmp_path: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Run] = []

    def finish(settings: Settings, run: Run) -> Path:
        kept.append(run)
        return settings.records / "runs" / run.id

    monkeypatch.setattr(soak_module, "ours", lambda _level: ([guard("count", "failed")], [], finish))
    settings = settings_of(tmp_path)
    assert main(settings, 0.1 / 3600) == 1
    assert [run.state for run in kept] == ["failed"]
    assert kept[0].id.endswith("-soak")
    assert machine.asked
    assert json.loads((settings.records / "status.json").read_text())["state"] == "failed"


def test_sigterm_ends_it_with_a_record(tmp_path: Path, machine: Machine) -> None:
    kept: list[Run] = []

    def finish(settings: Settings, run: Run) -> Path:
        kept.append(run)
        return settings.records

    async def tell(_server: Server, _task: Task) -> Result:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(60)
        raise AssertionError

    settings = replace(settings_of(tmp_path), quick_seconds=240)
    status = Status(settings.records, "r1-soak", "soak", "lab", 1_796_000_000.0)
    code = asyncio.run(execute(settings, settings.api(), status, 0.05 / 3600, [("tell", tell)], finish))
    assert (code, [run.state for run in kept]) == (143, ["aborted"])
    assert machine.asked
    assert [result.guard for result in kept[0].results] == ["traffic"]


def test_a_record_that_cannot_be_kept_is_no_pass(tmp_path: Path, machine: Machine) -> None:
    def finish(_settings: Settings, _run: Run) -> Path:
        raise OSError(28, "No space left on device")

    settings = settings_of(tmp_path)
    status = Status(settings.records, "r1-soak", "soak", "lab", 1_796_000_000.0)
    guards = [guard("count", "passed")]
    assert asyncio.run(execute(settings, settings.api(), status, 0.05 / 3600, guards, finish)) == 3
    assert machine.asked
