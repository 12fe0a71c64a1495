# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guards that read back what an engine keeps: concurrent prefills, margin, prefix reuse, needles."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from battery.course import server_error
from battery.guard.concurrent_prefill import together
from battery.guard.needles import planned
from battery.model import Answer, Counters, Question, ServerError
from battery.speed.rate import Watched

from tests.unit.battery.fake_engine import FakeEngine, played
from tests.unit.battery.guard_bench import CALLS, judged, proved, task


def test_a_lost_block_is_named_with_what_came_and_what_was_expected() -> None:
    result = judged("concurrent_prefill", FakeEngine({"zeroer"}))
    assert (result.figures["wrong"], result.figures["sticky"], result.figures["missing"]) == (7, 7, 0)
    assert result.figures["together"] == 8
    assert {finding.where for finding in result.findings} == {f"document {n}, block 3" for n in range(2, 9)}
    for finding in result.findings:
        assert finding.what == "a block is wrong"
        assert "expected C" in finding.evidence
        assert "it said 'C" in finding.evidence
        assert "again when asked later" in finding.evidence


def test_two_documents_lose_nothing_and_prove_nothing() -> None:
    result = judged("concurrent_prefill", FakeEngine({"zeroer"}), task(documents=2))
    assert (result.verdict, result.findings) == ("not exercised", ())
    assert not proved(result)["documents prefilled together"]


def test_a_block_that_is_wrong_once_does_not_stick() -> None:
    class Once(FakeEngine):
        async def ask(self, question: Question) -> Answer:
            answer = await super().ask(question)
            return replace(answer, content="none") if len(self.asked) == 12 else answer

    result = judged("concurrent_prefill", Once())
    assert (result.verdict, result.figures["missing"], result.figures["sticky"]) == ("failed", 1, 0)
    assert result.findings[0].evidence.endswith("; once")


def test_a_whole_run_has_long_documents_too() -> None:
    result = judged("concurrent_prefill", FakeEngine(), task(quick=False, context=8192, documents=4))
    assert (result.verdict, result.figures["blocks"]) == ("passed", 4 * (7 + 7 + 7 + 32))
    assert result.figures["reads"] == 2 * result.figures["blocks"]


def watched(firsts: list[float], running: float) -> Watched:
    answers = [Answer("", sent_at=0.0, first_at=first, ended_at=9.0) for first in firsts]
    look = Counters(5.0, running, 0, 0, 0, 0, 0, 0)
    return Watched(tuple(answers), (look,))


@pytest.mark.parametrize(
    ("firsts", "running", "expected"),
    [
        ([4.0, 4.01, 4.02, 4.05], 5, 4),
        # The first is taken in alone, the others together.
        ([1.0, 4.0, 4.01, 4.05], 5, 3),
        # One after the other: their first tokens come in even steps, although all run in the end.
        ([1.0, 2.0, 3.0, 4.0], 5, 1),
        # First tokens that come together, of a server that runs two at a time.
        ([4.0, 4.01, 4.02, 4.05], 3, 2),
        # Nothing but the stream was seen to run.
        ([0.01, 0.02, 0.03, 0.04], 1, 0),
    ],
)
def test_how_many_were_prefilled_together(firsts: list[float], running: float, expected: int) -> None:
    stream = Answer("", sent_at=-1.0, first_at=-0.5, ended_at=8.0)
    assert together(watched(firsts, running), stream) == (expected, True)


@pytest.mark.parametrize(("first", "ended"), [(None, 8.0), (5.0, 8.0), (-0.5, 1.0)])
def test_a_stream_that_was_not_beside_them_proves_nothing(first: float | None, ended: float) -> None:
    stream = Answer("", sent_at=-1.0, first_at=first, ended_at=ended)
    assert together(watched([4.0, 4.0, 4.0], 4), stream)[1] is False


def test_soft_logits_are_found_alone_and_only_after_a_mixed_batch() -> None:
    result = judged("margin", FakeEngine({"solo"}))
    soft = {name for name, value in result.figures.items() if value < -0.05}
    assert (result.verdict, soft) == ("failed", {"margin_alone_after"})
    assert [(finding.what, finding.where) for finding in result.findings] == [
        ("soft logits", "alone, after a mixed batch")
    ]


def test_an_engine_that_is_soft_already_is_found_before_the_mixed_batch() -> None:
    result = judged("margin", FakeEngine({"solo"}, mixed=True))
    assert {finding.where for finding in result.findings} == {"alone", "alone, after a mixed batch"}


def test_answers_beside_others_traffic_do_not_count_as_alone() -> None:
    async def busy() -> tuple[str, dict[str, bool], float]:
        engine = FakeEngine()
        stop = asyncio.Event()

        async def others() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                await engine.ask(Question.plain(f"Count from 1 to {100 + number}.", 200))

        async with asyncio.TaskGroup() as group:
            group.create_task(others())
            result = await CALLS["margin"](engine, task())
            stop.set()
        return result.verdict, proved(result), result.figures.get("margin_alone", 0.0)

    verdict, proofs, margin_alone = played(busy())
    assert (verdict, margin_alone) == ("not exercised", 0.0)
    assert not proofs["answers while nothing else ran, before and after"]


def test_a_neighbour_that_is_over_too_soon_counts_for_nothing() -> None:
    class Hasty(FakeEngine):
        async def ask(self, question: Question) -> Answer:
            short = replace(question, max_tokens=min(question.max_tokens, 2))
            return await super().ask(short if question.max_tokens == 400 else question)

    result = judged("margin", Hasty())
    assert result.verdict == "not exercised"
    assert not proved(result)["answers beside a neighbour that generated, before and after"]
    assert "margin_neighbour" not in result.figures


def test_one_log_probability_for_all_is_no_margin() -> None:
    assert judged("margin", FakeEngine(scores=False)).summary.startswith("no log-probability")


def test_turn_two_is_faster_and_computes_less() -> None:
    figures = judged("prefix_reuse", FakeEngine()).figures
    assert figures["ttft_turn2_seconds"] < figures["ttft_turn1_seconds"] / 2
    assert figures["cached_part"] > 0.9


def test_the_same_question_gets_the_same_answer() -> None:
    class Fickle(FakeEngine):
        async def ask(self, question: Question) -> Answer:
            answer = await super().ask(question)
            return replace(answer, content=f"{answer.content}, as I said") if len(self.asked) == 5 else answer

    result = judged("prefix_reuse", Fickle())
    assert [finding.what for finding in result.findings] == ["another answer to the same question"]
    assert result.findings[0].where.startswith("turn 2, asked again")


def test_a_stale_block_is_named() -> None:
    result = judged("prefix_reuse", FakeEngine({"stale"}))
    assert "turn 2, block 11" in [finding.where for finding in result.findings]


@pytest.mark.parametrize(
    ("tokens", "needles", "room", "quick", "lengths", "skipped"),
    [
        ((1000, 3000), 3, 3584, True, [1000, 3000, 3584], []),
        ((300_000, 620_000, 1_000_000), 3, 1_048_064, False, [44_000, 300_000, 620_000, 1_000_000], []),
        ((300_000, 620_000, 1_000_000), 3, 1_048_064, True, [44_000], [300_000, 620_000, 1_000_000]),
        ((300_000, 620_000), 0, 400_000, False, [300_000], [620_000]),
        ((300_000,), 0, 400_000, True, [], [300_000]),
    ],
)
def test_which_texts_are_searched(
    tokens: tuple[int, ...], needles: int, room: int, quick: bool, lengths: list[int], skipped: list[int]
) -> None:
    guards = task(needle_tokens=tokens, needles=needles).guards
    plan, left = planned(guards, room, quick)
    assert ([length for length, _depths in plan], left) == (lengths, skipped)
    assert all(depths in ((10, 50, 90), (25, 50, 75)) for _length, depths in plan)


def test_lengths_that_are_left_out_are_said() -> None:
    result = judged("needles", FakeEngine(), task(needle_tokens=(1000, 60_000), context=100_000))
    assert (result.verdict, "not in a quick run: 60000 tokens" in result.summary) == ("passed", True)


def test_no_text_that_fits_is_no_pass() -> None:
    result = judged("needles", FakeEngine(), task(needle_tokens=(60_000,), needles=0))
    assert (result.verdict, result.figures["needles"]) == ("not exercised", 0)


def test_one_digit_is_enough() -> None:
    result = judged("needles", FakeEngine({"digit"}))
    assert {finding.what for finding in result.findings} == {"a needle is wrong"}
    assert any("at 50 %" in finding.where for finding in result.findings)


def test_one_of_four_adjacent_lengths_is_found_whichever_it_is() -> None:
    class Every(FakeEngine):
        shift = 0

        async def ask(self, question: Question) -> Answer:
            answer = await super().ask(question)
            return replace(answer, content="C9999") if answer.prompt_tokens % 4 == self.shift else answer

    for shift in range(4):
        engine = Every()
        engine.shift = shift
        # One needle of one text would have every fourth length only by chance.
        assert judged("needles", engine, task(needle_depths_percent=(50,), needles=0)).verdict == "failed"


@pytest.mark.parametrize("name", ["concurrent_prefill", "margin", "prefix_reuse", "needles"])
@pytest.mark.parametrize("fails_at", [1, 3, 6])
def test_a_server_that_fails_is_said_and_nothing_is_left_running(name: str, fails_at: int) -> None:
    async def left() -> int:
        engine = FakeEngine(fails_at=fails_at)
        with pytest.raises((ServerError, ExceptionGroup)) as caught:
            await CALLS[name](engine, task())
        assert server_error(caught.value) is not None
        await asyncio.sleep(0)
        return len(engine.running) + len(engine.waiting)

    assert played(left()) == 0
