# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is watched while the guards ask."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from battery import beside, head
from battery.beside import Beside
from battery.model import Answer, Counters, Question, Result
from battery.settings import Settings, parse

from tests.unit.battery.test_battery_settings import written

LIFE = {"life": "a", "state": "serving", "child": 1, "ended": None}
LOOKS = 10
NOW = Counters(0.0, 1, 0, 10, 10, 0, 0, 2)


class Still:
    """A server that never gets on; time passes a second a look."""

    def __init__(self, moves: int = 0) -> None:
        self.at = 0.0
        self.moves = moves
        self.enough = asyncio.Event()

    async def ask(self, question: Question) -> Answer:
        raise NotImplementedError

    async def tokens(self, text: str) -> int:
        raise NotImplementedError

    async def counters(self) -> Counters:
        self.at += 1.0
        if self.at == LOOKS:
            self.enough.set()
        return replace(NOW, at=self.at, generated_tokens=self.moves * self.at)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    data = written(tmp_path)
    data["guards"]["stall_seconds"] = 2
    data["state_file"] = str(tmp_path / "state.json")
    (tmp_path / "state.json").write_text(json.dumps(LIFE))
    monkeypatch.setattr(beside, "EVERY", 0.001)
    monkeypatch.setattr(head, "family", lambda _child: [])
    says(monkeypatch, [])
    return parse(data, "settings")


def says(monkeypatch: pytest.MonkeyPatch, lines: list[str], *, known: bool = True) -> None:
    async def journal(_unit: str, _since: float) -> tuple[list[str], bool]:
        return lines, known

    monkeypatch.setattr(head, "journal", journal)


def watched(settings: Settings, server: Still, after: Counters = NOW) -> tuple[Result, Result]:
    async def run() -> tuple[Result, Result]:
        async with Beside(settings, server, "r1") as found:
            found.since -= 10
            await server.enough.wait()
            return found.stall(), await found.group(NOW, after)

    return asyncio.run(run())


def test_a_server_that_stands_still_is_a_stall_once(settings: Settings) -> None:
    stall, _group = watched(settings, Still())
    assert (stall.verdict, len(stall.findings)) == ("failed", 1)
    assert "no token was generated" in stall.findings[0].evidence
    assert (settings.records / "dumps" / "r1" / "py-spy.txt").exists() or "py-spy-" in stall.findings[0].evidence


def test_one_that_gets_on_is_none(settings: Settings) -> None:
    stall, group = watched(settings, Still(moves=1))
    assert (stall.verdict, group.verdict) == ("passed", "passed")


def test_a_short_run_could_not_show_one(settings: Settings) -> None:
    async def run() -> Result:
        async with Beside(settings, Still(moves=1), "r1") as found:
            return found.stall()

    assert asyncio.run(run()).verdict == "not asked"


def test_an_error_line_of_the_head_fails_the_group(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, ["CUDA error: device-side assert triggered"])
    _stall, group = watched(settings, Still(moves=1))
    assert (group.verdict, group.findings[0].evidence) == ("failed", "CUDA error: device-side assert triggered")


def test_a_journal_that_cannot_be_read_is_unknown(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, ["this user may not read it"], known=False)
    _stall, group = watched(settings, Still(moves=1))
    assert (group.verdict, group.summary) == ("unknown", "this user may not read it")


def test_another_life_of_the_group_fails_it(settings: Settings) -> None:
    async def run() -> Result:
        async with Beside(settings, Still(moves=1), "r1") as found:
            settings.state_file.write_text(json.dumps(LIFE | {"life": "b"}))
            return await found.group(NOW, NOW)

    group = asyncio.run(run())
    assert (group.verdict, group.findings[0].what) == ("failed", "the group was started again")


@pytest.mark.parametrize(("more", "verdict"), [(0, "passed"), (1, "failed")])
def test_preemptions_beyond_the_recipe_s_fail_it(settings: Settings, more: int, verdict: str) -> None:
    most = settings.guards.preemptions_most
    _stall, group = watched(settings, Still(moves=1), after=replace(NOW, preemptions=NOW.preemptions + most + more))
    assert group.verdict == verdict
    assert group.figures == {"preemptions": most + more}
