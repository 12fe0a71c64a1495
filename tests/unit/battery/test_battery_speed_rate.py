# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rate is what client and server agree on: bursts, single chunks and wrong counts give none."""

from __future__ import annotations

import asyncio

import pytest
from battery.model import Answer, Counters, Question, ServerError
from battery.speed.rate import AGAIN, Rate, Watched, inside, rate, watched
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.battery.paced_server import PacedServer


def look(at: float, generated: float) -> Counters:
    return Counters(at, 1, 0, generated, 0, 0, 0, 0)


def steady(tokens: int, pace: float, prefill: float = 0.3, at: float = 10.0, every: float | None = 0.25) -> Watched:
    """An answer as a well-behaved server sends it, looked at every so many seconds."""
    first = at + prefill
    ended = first + (tokens - 1) / pace
    arrivals = tuple(first + number / pace for number in range(tokens))
    answer = Answer("x", completion_tokens=tokens, sent_at=at, first_at=first, ended_at=ended, arrivals=arrivals)
    looks = [look(at, 1000)]
    moment = at
    while every and (moment := moment + every) < ended:
        looks.append(look(moment, 1000 + sum(each <= moment for each in arrivals)))
    return Watched((answer,), (*looks, look(ended, 1000 + tokens)))


def spoilt(seen: Watched, **changes: object) -> Watched:
    answer = seen.answers[0]
    fields = {name: getattr(answer, name) for name in Answer.__slots__}
    return Watched((Answer(**{**fields, **changes}),), seen.looks)


def test_a_steady_answer_has_its_pace() -> None:
    got = rate(steady(384, 70))
    assert got.value == pytest.approx(70)
    assert got.note == ""


@given(st.integers(100, 2000), st.floats(5, 300), st.floats(0, 30))
def test_the_time_of_the_prefill_does_not_count(tokens: int, pace: float, prefill: float) -> None:
    """Whatever the prefill takes: where the server was looked at often enough it agrees."""
    seen = steady(tokens, pace, prefill, every=tokens / pace / 40)
    assert rate(seen).value == pytest.approx(pace, rel=0.001)


def test_chunks_that_come_at_once_have_no_rate() -> None:
    """The trap: 50,465 tokens/s of a model that makes 70."""
    fair = steady(384, 70)
    ended = fair.answers[0].ended_at
    got = rate(spoilt(fair, first_at=ended - 0.0076, arrivals=tuple(ended - 0.0076 + n / 1e5 for n in range(384))))
    assert got.value is None
    assert "50,394.7 tokens/s by the client's clock, 66.5 by" in got.note


def test_chunks_that_are_held_back_for_a_second_have_no_rate() -> None:
    fair = steady(384, 70)
    first = fair.answers[0].first_at or 0
    got = rate(spoilt(fair, first_at=first + 1.0, arrivals=tuple(first + 1.0 + n for n in range(5))))
    assert got.value is None
    assert "85.7 tokens/s by the client's clock, 70.0 by" in got.note


@pytest.mark.parametrize("chunks", [0, 1, 3])
def test_few_chunks_fall_back_to_the_whole_time(chunks: int) -> None:
    fair = steady(384, 70)
    arrivals = fair.answers[0].arrivals[:chunks]
    got = rate(spoilt(fair, arrivals=arrivals, first_at=arrivals[0] if arrivals else None))
    assert got.value == pytest.approx(384 / (0.3 + 383 / 70))
    assert f"over the whole time of the request: its tokens came in {chunks} chunks" in got.note


def test_a_usage_that_says_more_than_was_generated() -> None:
    fair = steady(384, 70)
    assert rate(spoilt(fair, completion_tokens=768)).value is None
    assert rate(spoilt(fair, completion_tokens=768, arrivals=())).value is None


def test_too_few_tokens_have_no_rate() -> None:
    assert rate(steady(31, 70)) == Rate(None, "31 tokens generated, expected at least 32: too few for a rate")


def test_a_new_start_meanwhile() -> None:
    fair = steady(384, 70)
    assert rate(Watched(fair.answers, (*fair.looks[:-1], look(99, 5)))) == Rate(None, AGAIN)


def test_others_beside_it_are_said() -> None:
    fair = steady(384, 70)
    busy = tuple(look(each.at, each.generated_tokens * 3) for each in fair.looks)
    got = rate(Watched(fair.answers, busy))
    assert got.value == pytest.approx(70)
    assert got.note == "others had 768 tokens generated beside it"


def test_two_streams_count_together() -> None:
    one = steady(384, 50)
    looks = tuple(look(each.at, 2 * each.generated_tokens) for each in one.looks)
    assert rate(Watched((one.answers[0], one.answers[0]), looks)).value == pytest.approx(100)


def test_two_streams_one_after_the_other_are_none() -> None:
    one, other = steady(384, 50), steady(384, 50, at=17.0)
    got = rate(Watched((one.answers[0], other.answers[0]), (one.looks[0], look(99, 1768))))
    assert got == Rate(None, "the streams did not run beside each other: the second began late")


@pytest.mark.parametrize(
    ("looks", "pace"),
    [
        ([(9, 0), (10, 5), (20, 105), (21, 110)], 10.0),
        ([(9, 0), (12, 20), (16, 60)], None),
        ([(15, 0)], None),
        ([], None),
        ([(10, 0), (14, 40), (15, 40)], 8.0),
    ],
)
def test_what_the_server_counted_between_two_moments(looks: list[tuple[float, float]], pace: float | None) -> None:
    assert inside([look(*each) for each in looks], 10, 20) == pace


def test_it_is_looked_at_while_it_runs() -> None:
    class Slow(PacedServer):
        async def ask(self, question: Question) -> Answer:
            await enough.wait()
            return await super().ask(question)

        async def counters(self) -> Counters:
            looked.append(None)
            if len(looked) >= 5:
                enough.set()
            return await super().counters()

    looked: list[None] = []
    enough = asyncio.Event()
    seen = asyncio.run(watched(Slow(), [Question.plain("a", 40)], every=0.001))
    assert len(seen.looks) >= 6


def test_the_other_stream_does_not_outlive_an_error() -> None:
    ended = []

    class Broken(PacedServer):
        async def ask(self, question: Question) -> Answer:
            if question.max_tokens == 1:
                raise ServerError("gone")
            try:
                await asyncio.sleep(60)
            finally:
                ended.append(question.max_tokens)
            raise AssertionError

    with pytest.raises(ServerError):
        asyncio.run(watched(Broken(), [Question.plain("a", 2), Question.plain("b", 1)]))
    assert ended == [2]
