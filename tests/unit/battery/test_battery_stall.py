# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stall is requests without a token; slow, idle and started again are none. And what py-spy leaves."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from battery.model import Answer, Counters, Question, ServerError
from battery.stall import ABSENT, dumps, stalled, watch
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.battery.stand_in import stand_in

# At, running, waiting, tokens generated, prompt tokens.
Row = tuple[float, float, float, float, float]


def history(*rows: Row) -> list[Counters]:
    return [Counters(at, running, waiting, made, prompt, 0, 0, 0) for at, running, waiting, made, prompt in rows]


@pytest.mark.parametrize(
    ("rows", "stall"),
    [
        ([], False),
        ([(0, 1, 0, 5, 5)], False),
        # 61 s without anything, and just too short.
        ([(0, 1, 0, 5, 5), (30, 1, 0, 5, 5), (61, 1, 0, 5, 5)], True),
        ([(0, 1, 0, 5, 5), (59, 1, 0, 5, 5)], False),
        # Slow: a token in a minute, or a prompt.
        ([(0, 1, 0, 5, 5), (40, 1, 0, 6, 5), (80, 1, 0, 6, 5)], False),
        ([(0, 1, 0, 5, 5), (40, 1, 0, 5, 9000), (80, 1, 0, 5, 9000)], False),
        # Idle, now or in between.
        ([(0, 0, 0, 5, 5), (100, 0, 0, 5, 5)], False),
        ([(0, 1, 0, 5, 5), (30, 0, 0, 5, 5), (40, 1, 0, 5, 5), (80, 1, 0, 5, 5)], False),
        ([(0, 1, 0, 5, 5), (100, 0, 0, 5, 5)], False),
        # A queue that nobody takes from.
        ([(0, 0, 3, 5, 5), (61, 0, 3, 5, 5)], True),
        # Started again: the counters go down, and the clock with them; a stall after it is one.
        ([(0, 1, 0, 500, 5), (50, 1, 0, 0, 0), (70, 1, 0, 0, 0)], False),
        ([(0, 1, 0, 500, 5), (50, 1, 0, 0, 0), (111, 1, 0, 0, 0)], True),
        # What was long ago does not matter.
        ([(0, 1, 0, 5, 5), (100, 1, 0, 9, 5), (101, 1, 0, 10, 5)], False),
        ([(0, 9, 0, 5, 5), (10, 0, 0, 900, 50), (20, 2, 0, 900, 50), (81, 2, 1, 900, 50)], True),
    ],
)
def test_stalled(rows: list[Row], stall: bool) -> None:
    assert bool(stalled(history(*rows), 60)) is stall


def test_words() -> None:
    assert stalled(history((0, 2, 1, 5, 5), (1800, 2, 1, 5, 5)), 600) == (
        "2 requests run and 1 wait, and for 1800 s no token was generated and no prompt computed, "
        "expected some within 600 s"
    )


@given(st.lists(st.tuples(st.floats(0.1, 59), st.booleans()), min_size=1, max_size=40))
def test_what_moves_within_the_limit_never_stalls(steps: list[tuple[float, bool]]) -> None:
    at, made = 0.0, 0.0
    looks = []
    for pause, prompt in steps:
        at, made = at + pause, made + 1
        looks.append(Counters(at, 1, 0, 0 if prompt else made, made, 0, 0, 0))
    assert stalled(looks, 60) == ""


class Metrics:
    """Only /metrics, a row a look; the last one again and again. An error is raised."""

    def __init__(self, rows: list[Row | ServerError]) -> None:
        self.rows: Iterator[Row | ServerError] = iter(rows)
        self.last: Row = (0, 0, 0, 0, 0)
        self.done = asyncio.Event()

    async def ask(self, question: Question) -> Answer:
        raise AssertionError(question)

    async def tokens(self, text: str) -> int:
        raise AssertionError(text)

    async def counters(self) -> Counters:
        row = next(self.rows, None)
        if row is None:
            self.done.set()
            row = self.last
        if isinstance(row, ServerError):
            raise row
        self.last = row
        return history(row)[0]


def watched(rows: list[Row | ServerError]) -> list[str]:
    told: list[str] = []

    async def tell(words: str) -> None:
        told.append(words)

    async def go() -> None:
        server = Metrics(rows)
        watcher = asyncio.create_task(watch(server, 60, 0.001, tell))
        await asyncio.wait_for(server.done.wait(), 10)
        watcher.cancel()
        with pytest.raises(asyncio.CancelledError):
            await watcher

    asyncio.run(go())
    return told


def test_a_stall_is_told_once() -> None:
    still: list[Row | ServerError] = [(10.0 * number, 1, 0, 5, 5) for number in range(30)]
    assert len(watched(still)) == 1


def test_each_stall_is_told() -> None:
    still: list[Row | ServerError] = [(10.0 * number, 1, 0, 5, 5) for number in range(20)]
    again: list[Row | ServerError] = [(200 + 10.0 * number, 1, 0, 6, 5) for number in range(20)]
    assert len(watched(still + again)) == 2


def test_a_server_that_says_nothing_for_a_while_is_watched_on() -> None:
    told = watched([(0, 1, 0, 5, 5), ServerError("gone"), ServerError("gone"), (70, 1, 0, 5, 5)])
    assert len(told) == 1
    assert "for 70 s" in told[0]


def test_a_server_that_works_is_left_alone() -> None:
    assert watched([(10.0 * number, 4, 0, 5.0 * number, 5) for number in range(40)]) == []


# py-spy


def spy(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = stand_in(folder / "py-spy", script, "-S")
    monkeypatch.setattr(shutil, "which", lambda _name: str(program))


def test_dumps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spy(tmp_path, monkeypatch, "import sys; print(sys.argv[1:]); print('in _fp8_mqa_logits_torch', file=sys.stderr)")
    kept = dumps([41, 42], tmp_path / "deep" / "dumps")
    assert [path.name for path in kept] == ["py-spy-41.txt", "py-spy-42.txt"]
    assert kept[1].read_text() == "['dump', '--pid', '42']\nin _fp8_mqa_logits_torch\n"


def test_a_dump_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spy(tmp_path, monkeypatch, "import time; print('half', flush=True); time.sleep(60)")
    kept = dumps([41], tmp_path, seconds=1.0)
    assert kept[0].read_text().endswith("py-spy was ended after 1 s\n")


def test_a_dump_that_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spy(tmp_path, monkeypatch, "raise SystemExit(3)")
    assert dumps([41], tmp_path)[0].read_text() == "py-spy said nothing and ended with exit code 3\n"


def test_no_py_spy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    kept = dumps([41], tmp_path)
    assert [path.read_text() for path in kept] == [ABSENT + "\n"]


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        dumps([41], tmp_path / "file")
