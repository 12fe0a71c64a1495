# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pure judge of the API, as stories: what was answered when, and what it says then."""

from __future__ import annotations

import pytest
from vllm_rank.config import Limits
from vllm_rank.probe import Answer, Figures, Judge, Sick, figures

LIMITS = Limits(
    boot_seconds=300, stall_seconds=60, beat_seconds=2, silence_seconds=10, stop_seconds=20, probe_seconds=10
)
RECORDED = """# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a } b"} 2.0
vllm:num_requests_waiting{engine="0",model_name="a } b"} 1.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="copy",reason="capacity"} 7.0
vllm:generation_tokens_total{engine="0",model_name="copy"} 1.2e+03
vllm:generation_tokens_total{engine="1",model_name="copy"} 4.0
vllm:generation_tokens_created{engine="0",model_name="copy"} 1.7e+09
vllm:prompt_tokens_total 848.0
vllm:prompt_tokens_by_source_total{engine="0",source="local_compute"} 99.0
vllm:iteration_tokens_total_bucket{engine="0",le="1.0"} 12.0
vllm:iteration_tokens_total_sum{engine="0"} 2052.0
vllm:iteration_tokens_total_count{engine="0"} 31.0
"""


def test_the_figures_of_metrics() -> None:
    assert figures(RECORDED) == Figures((1204.0, 848.0, 2052.0, 31.0), 3.0)
    assert figures("") == Figures((0.0, 0.0, 0.0, 0.0), 0.0)
    with pytest.raises(ValueError, match="could not convert"):
        figures("vllm:prompt_tokens_total many\n")


class Story:
    """An API that is looked at. `moving`: counters move at each look; `open`: requests of others."""

    def __init__(self) -> None:
        self.judge, self.now = Judge(LIMITS), 0.0
        self.tokens, self.asked = 0.0, 0
        self.judge.begin(0.0)

    def go(
        self, seconds: float, *, moving: bool = False, others: float = 0, answers: str = "token", look: str = ""
    ) -> Sick | None:
        """Time goes by; a question is answered at once, except a token that is `none`."""
        end = self.now + seconds
        while self.now < end:
            self.now += 0.5
            for question in self.judge.due(self.now):
                sick = None
                if question == "token":
                    self.asked += 1
                    if answers != "none":
                        self.tokens += answers == "token"
                        sick = self.judge.answered(Answer("token", answers, answers), self.now)
                elif look != "none":
                    self.tokens += moving
                    seen = Figures((self.tokens,), others)
                    sick = self.judge.answered(
                        Answer("look", look or "figures", look, None if look else seen), self.now
                    )
                if sick:
                    return sick
            sick = self.judge.tick(self.now)
            if sick:
                return sick
        return None


def test_an_idle_group_is_asked_for_a_token_now_and_then() -> None:
    story = Story()
    assert story.go(100) is None
    assert 7 <= story.asked <= 10


def test_a_busy_group_is_not_asked() -> None:
    story = Story()
    assert story.go(1000, moving=True, others=12) is None
    assert story.asked == 0


def test_a_long_queue_is_no_stall_while_counters_move() -> None:
    story = Story()
    story.go(20, answers="none")
    assert story.asked == 1
    assert story.go(1000, moving=True, others=40, answers="none") is None


def test_a_hang_of_an_idle_group_is_seen_by_its_own_request() -> None:
    story = Story()
    sick = story.go(200, answers="none")
    assert sick == Sick("stalled", "no counter moved for 60 s although the keeper's own request waits")
    assert story.now <= 10 + 2 + 60 + 2


def test_a_hang_under_load_is_seen() -> None:
    story = Story()
    story.go(20, moving=True, others=3)
    sick = story.go(200, others=3, answers="none")
    assert sick is not None
    assert sick.reason == "stalled"
    assert story.now <= 20 + 60 + 5


def test_a_hang_is_seen_when_the_clients_give_up() -> None:
    story = Story()
    story.go(20, moving=True, others=3)
    story.go(30, others=3, answers="none")
    sick = story.go(200, answers="none")
    assert sick is not None
    assert sick.reason == "stalled"


def test_a_gauge_that_is_stuck_is_no_stall_while_tokens_come() -> None:
    story = Story()
    assert story.go(1000, others=1) is None
    assert story.asked > 5


def test_an_api_that_says_nothing_has_stalled() -> None:
    story = Story()
    sick = story.go(200, look="none")
    assert sick == Sick("stalled", "the API has not said how it is for 60 s")
    story = Story()
    sick = story.go(200, look="late", answers="none")
    assert sick is not None
    assert sick.reason == "stalled"


@pytest.mark.parametrize(
    ("answers", "dead"),
    [
        (["failed", "failed"], True),
        (["failed", "token", "failed"], False),
        (["failed", "other", "failed"], False),
        (["failed", "late", "failed"], True),
        (["other", "other", "other"], False),
    ],
)
def test_two_failures_in_a_row_are_death(answers: list[str], dead: bool) -> None:
    story = Story()
    seen = [story.judge.answered(Answer("token", answer, "500"), 1.0) for answer in answers]
    assert seen[:-1] == [None] * (len(answers) - 1)
    assert seen[-1] == (Sick("engine_dead", "the API failed 2 times in a row: 500") if dead else None)


def test_the_second_question_follows_soon_after_a_failure() -> None:
    story = Story()
    sick = story.go(200, answers="failed")
    assert sick is not None
    assert sick.reason == "engine_dead"
    assert story.now <= 10 + 2 + 4


def test_a_look_that_fails_twice_is_death_also_under_load() -> None:
    story = Story()
    story.go(20, moving=True, others=3)
    sick = story.go(20, look="failed")
    assert sick is not None
    assert sick.reason == "engine_dead"
    assert story.now <= 20 + 5


def test_before_the_first_token_nothing_is_judged() -> None:
    judge = Judge(LIMITS)
    assert judge.due(0.0) == ["token"]
    assert judge.due(5.0) == []
    for now in (5.0, 6.0, 7.0):
        assert judge.answered(Answer("token", "failed", "refused"), now) is None
    assert judge.tick(1e6) is None
    assert judge.due(1e6) == ["token"]


def test_time_in_which_the_keeper_stood_still_is_forgiven() -> None:
    story = Story()
    story.go(20, answers="none")
    story.now += 3600
    assert story.go(30, answers="none") is None
    assert story.go(60, answers="none") is not None
