# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The measures against a server of a fixed pace: what they ask, what they give, and what they throw away."""

from __future__ import annotations

import asyncio
import re
from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any

import pytest
from battery.model import Answer, Question, ServerError
from battery.outcome import Measure, SpeedTask
from battery.settings import Speed
from battery.speed import MEASURES, decode, long, prefill, repeat, turns
from battery.speed.rate import AGAIN, Rate
from battery.speed.text import sized, text
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.battery.paced_server import PacedServer

NAMES = [entry.name for entry in fields(Speed) if entry.name not in ("prefill_tokens", "needle_seconds")]
QUICK = SpeedTask(True, "s1", 131_072, {"prefill_tokens": 21_900}, 600)
FULL = replace(QUICK, quick=False)


def measured(server: PacedServer, name: str, task: SpeedTask = QUICK, apart: float = 0.0) -> Measure:
    calls = dict((*MEASURES, *decode.measures(apart)))

    async def ask() -> Measure:
        return await calls[name](server, task)

    return asyncio.run(ask())


def test_names_are_those_of_the_recipe() -> None:
    assert [name for name, _call in MEASURES] == [*NAMES[:-1], "kv_tokens", NAMES[-1]]
    for name, _call in MEASURES:
        assert measured(PacedServer(), name).name == name


# text


@given(st.text(max_size=12), st.integers(1, 3000))
def test_filler(salt: str, words: int) -> None:
    made = text(salt, words)
    assert "K" not in made
    assert len(made.split(" ")) == words
    assert text(salt, words + 50).startswith(made)


def test_another_salt_is_another_text_from_the_second_word_on() -> None:
    seen = {text(f"salt {number}", 2) for number in range(500)}
    assert len(seen) == 500


def test_filler_varies() -> None:
    words = text("a", 3000).split()
    grams = {tuple(words[place : place + 8]) for place in range(len(words) - 8)}
    assert len(grams) > 0.8 * len(words)


@pytest.mark.parametrize("letters", [1, 4, 7.3])
def test_a_text_has_the_tokens_that_are_wanted(letters: float) -> None:
    """Whatever a token is: one of each so many letters here."""

    class Other(PacedServer):
        async def tokens(self, text: str) -> int:
            return int(len(text) / letters)

    made = asyncio.run(sized(Other(), "a", 5000))
    assert 4800 <= len(made) / letters <= 5000


# decode


@pytest.mark.parametrize("name", list(decode.PROMPTS))
def test_decode(name: str) -> None:
    server = PacedServer(tokens_per_second=50)
    got = measured(server, name)
    streams = len(decode.PROMPTS[name])
    assert (got.name, got.unit, got.note) == (name, "tokens/s", "")
    assert list(got.values) == pytest.approx([50 * streams], rel=0.01)
    assert len(server.asked) == streams
    for asked in server.asked:
        assert (asked.temperature, asked.extra["ignore_eos"], asked.max_tokens) == (0.0, True, decode.TOKENS)
        assert "K" not in asked.messages[0]["content"]


def test_counting_is_asked_for_as_the_model_of_the_lab_knows_it() -> None:
    assert decode.COUNT.startswith("Count ")


def test_bursts_are_thrown_away_and_said() -> None:
    got = measured(PacedServer(burst=True), "code_tokens_per_second")
    assert got.values == ()
    assert re.search(r"thrown away: \S+ tokens/s by the client's clock, 50\.\d+ by the server's count", got.note)


def test_one_chunk_is_marked() -> None:
    got = measured(PacedServer(chunks=1), "code_tokens_per_second")
    assert list(got.values) == pytest.approx([50], rel=0.02)
    assert "its tokens came in 1 chunks" in got.note


def test_full_has_two_passes_of_three_and_waits_once(monkeypatch: pytest.MonkeyPatch) -> None:
    server, waits = PacedServer(), []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(decode, "asyncio", SimpleNamespace(sleep=sleep))

    async def ask() -> list[Measure]:
        return [await call(server, replace(FULL, budget_seconds=3600)) for _name, call in decode.measures(720)]

    got = asyncio.run(ask())
    assert [each.name for each in got] == list(decode.PROMPTS)
    assert {len(each.values) for each in got} == {6}
    assert {each.note for each in got} == {""}
    assert waits == [pytest.approx(720, abs=60)]
    asked = [asked.messages[0]["content"] for asked in server.asked]
    first, second = asked[: len(asked) // 2], asked[len(asked) // 2 :]
    assert first == second


def test_without_time_for_a_second_pass_there_is_one() -> None:
    got = measured(PacedServer(), "count_tokens_per_second", FULL, apart=720)
    assert len(got.values) == 3
    assert got.note.startswith("one pass only: a second one 12 min later needs 720 s for this step, which had 600 s")


def test_a_measure_whose_server_failed_says_so_and_the_others_have_theirs() -> None:
    server = PacedServer(fails_at=frozenset({1, 17}))

    async def ask() -> list[Measure | ServerError]:
        got: list[Measure | ServerError] = []
        for _name, call in decode.measures(0):
            try:
                got.append(await call(server, FULL))
            except ServerError as error:
                got.append(error)
        return got

    count, *others = asyncio.run(ask())
    assert isinstance(count, ServerError)
    code = others[0]
    assert isinstance(code, Measure)
    assert len(code.values) == 3
    assert code.note.startswith("no second pass: no connection")
    assert all(isinstance(each, Measure) and len(each.values) == 6 for each in others[1:])


def test_a_server_that_is_gone_is_not_waited_for() -> None:
    server = PacedServer(fails_at=frozenset(range(1000)))
    with pytest.raises(ServerError):
        measured(server, "count_tokens_per_second", FULL, apart=60)


# repetition


def test_what_there_was_before_the_server_went_is_kept() -> None:
    got = measured(PacedServer(fails_at=frozenset({3})), prefill.NAME, FULL)
    assert len(got.values) == 2
    assert got.note.startswith("2 of 3 times: no connection")


def test_repetitions_end_with_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    server = PacedServer()
    monkeypatch.setattr(repeat, "time", SimpleNamespace(monotonic=lambda: server.now))

    async def once(_number: int) -> Rate:
        server.now += 40
        return Rate(1.0)

    got = repeat.measure("a", "s", asyncio.run(repeat.repeat(3, 100, once)))
    assert got == Measure("a", "s", (1.0, 1.0), "2 of 3 times: there was no time for more")


def test_a_first_time_is_always_begun() -> None:
    async def once(_number: int) -> Rate:
        return Rate(1.0)

    assert asyncio.run(repeat.repeat(3, -1, once))[0] == Rate(1.0)


# prefill and turns


def test_cold_prefill() -> None:
    server = PacedServer(prefill_per_second=4499)
    got = measured(server, prefill.NAME, FULL)
    assert list(got.values) == pytest.approx([4499] * 3, rel=0.001)
    assert got.note == ""
    sizes = [len(asked.messages[0]["content"].split()) for asked in server.asked]
    assert all(21_600 <= size <= 22_000 for size in sizes)
    assert len({asked.messages[0]["content"][:20] for asked in server.asked}) == 3
    assert {asked.max_tokens for asked in server.asked} == {1}


@pytest.mark.parametrize("name", [prefill.NAME, turns.FIRST])
def test_a_prompt_that_was_known_is_thrown_away(name: str) -> None:
    server = PacedServer()
    measured(server, name)
    got = measured(server, name)
    assert got.values == ()
    assert re.search(r"thrown away: \d+ of \d+ prompt tokens came from the prefix cache, expected none", got.note)


def test_a_server_that_answers_for_another_prompt_is_not_believed() -> None:
    class Liar(PacedServer):
        async def ask(self, question: Question) -> Answer:
            answer = await super().ask(question)
            return replace(answer, prompt_tokens=2 * answer.prompt_tokens)

    got = measured(Liar(), prefill.NAME)
    assert got.values == ()
    assert "/metrics counted" in got.note


def test_a_restart_meanwhile_is_said() -> None:
    class Again(PacedServer):
        async def ask(self, question: Question) -> Answer:
            answer = await super().ask(question)
            self.prompts = 0.0
            return answer

    server = Again(prompts=1e6)
    assert measured(server, prefill.NAME) == Measure(prefill.NAME, "tokens/s", (), AGAIN)


@pytest.mark.parametrize(
    ("expected", "context", "tokens", "words"),
    [
        ({}, 131_072, 21_900, ""),
        ({"prefill_tokens": None}, 131_072, 21_900, ""),
        ({"prefill_tokens": 8000}, 131_072, 8000, ""),
        ({"prefill_tokens": 21_900}, 4096, 3584, "with about 3584 tokens, not 21900: the context is 4096"),
    ],
)
def test_the_prompt_fits_the_context(expected: dict[str, Any], context: int, tokens: int, words: str) -> None:
    task = replace(QUICK, expected=expected, context_tokens=context)
    assert prefill.length(task) == (tokens, words)
    got = measured(PacedServer(), prefill.NAME, task)
    assert got.values
    assert got.note == words


def test_turns() -> None:
    server = PacedServer(prefill_per_second=5000)
    first = measured(server, turns.FIRST, FULL)
    assert list(first.values) == pytest.approx([4.38] * 3, rel=0.02)
    second = measured(server, turns.SECOND, FULL)
    assert second.note == ""
    assert len(second.values) == 3
    assert max(second.values) < 0.1
    assert [message["role"] for message in server.asked[-1].messages] == ["user", "assistant", "user"]


def test_a_second_turn_without_a_cache_is_slow_and_says_why() -> None:
    got = measured(PacedServer(caches=False), turns.SECOND)
    assert got.values[0] > 4
    assert re.fullmatch(r"only 0 of \d+ prompt tokens came from the prefix cache", got.note)


# the pool and the long answer


def test_the_pool() -> None:
    assert measured(PacedServer(), "kv_tokens") == Measure("kv_tokens", "tokens", (4_241_096.0,))
    nothing = measured(PacedServer(kv_tokens=None), "kv_tokens")
    assert (nothing.values, "cache_config_info" in nothing.note) == ((), True)


def test_a_long_answer_is_as_long_as_the_time_allows() -> None:
    server = PacedServer(tokens_per_second=80)
    got = measured(server, long.NAME, replace(FULL, budget_seconds=900))
    assert list(got.values) == pytest.approx([80] * 3, rel=0.01)
    tokens = server.asked[-1].max_tokens
    assert tokens == pytest.approx(0.7 * 300 * 80, rel=0.05)
    assert got.note == f"{tokens} tokens, ended by length"
    assert "ignore_eos" not in server.asked[-1].extra


def test_a_long_answer_that_ends_at_once_has_no_rate() -> None:
    got = measured(PacedServer(short=100), long.NAME)
    assert got.values == ()
    assert got.note.startswith("100 tokens, ended by stop; 100 tokens generated, expected at least 256")


@pytest.mark.parametrize(
    ("quick", "context", "pace", "tokens"),
    [(True, 131_072, 80, 2048), (True, 1024, 80, 512), (False, 1_000_000, 1000, 65_536), (False, 4096, 0.1, 256)],
)
def test_the_longest_answer(quick: bool, context: int, pace: float, tokens: int) -> None:
    task = replace(QUICK, quick=quick, context_tokens=context, budget_seconds=600)
    assert long.limit(task, pace) == tokens
