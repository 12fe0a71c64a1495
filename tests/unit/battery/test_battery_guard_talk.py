# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guards that judge what is said: count, corruption, tools, puzzles, pictures, and the acceptance of drafts."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from battery.guard.acceptance import DRAFTS, ENOUGH
from battery.guard.pictures import COLOURS, SIDE, png
from battery.guard.smoke import CASES
from battery.model import Answer, Call, Question

from tests.unit.battery.fake_engine import FakeEngine
from tests.unit.battery.fake_model import HUES, words
from tests.unit.battery.guard_bench import judged, proved, task

KNOWS = {words: right for words, right, _wrong in CASES}


class Saying(FakeEngine):
    """Says something else at one request."""

    at = 1
    said: dict[str, Any]

    async def ask(self, question: Question) -> Answer:
        answer = await super().ask(question)
        return replace(answer, **self.said) if len(self.asked) == self.at else answer


def saying(at: int, **said: Any) -> Saying:
    engine = Saying(knows=KNOWS)
    engine.at, engine.said = at, said
    return engine


def test_one_wrong_count_of_three_fails() -> None:
    result = judged("count", saying(2, content="1 2 3 5 6"))
    assert (result.verdict, result.summary) == ("failed", "2 of 3 exact, to 100")
    assert [finding.where for finding in result.findings] == ["answer 2 of 3"]
    assert "expected 4" in result.findings[0].evidence


def test_the_count_says_what_was_taken_of_the_drafts() -> None:
    assert judged("count", FakeEngine()).figures["acceptance"] == pytest.approx(0.88, abs=0.02)
    assert judged("count", FakeEngine(drafts=False)).figures == {}


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (
            "The sky is blue \N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER} because of the air.",
            "replacement characters",
        ),
        ("The sky is blue 하늘 because of the air.", "stray script"),
        ("The sky ################################ is blue.", "burst of one token"),
        ("The sky <\uff5cDSML\uff5ctool_calls> is blue.", "leaked markup"),
    ],
)
def test_corruption_is_named_with_its_place(content: str, what: str) -> None:
    result = judged("corruption", saying(11, content=content), task(quick=False, corruption_passes=2))
    assert result.verdict == "failed"
    assert (what, "pass 2, prompt 1") in {(finding.what, finding.where) for finding in result.findings}


def test_a_quick_run_has_one_pass_and_a_whole_one_as_many_as_the_recipe_says() -> None:
    many = {quick: FakeEngine() for quick in (True, False)}
    for quick, engine in many.items():
        assert judged("corruption", engine, task(quick=quick, corruption_passes=3)).verdict == "passed"
    assert len(many[False].asked) == 3 * len(many[True].asked)


def test_a_server_that_says_nothing_is_not_found_clean() -> None:
    class Silent(FakeEngine):
        async def ask(self, question: Question) -> Answer:
            return replace(await super().ask(question), content="")

    result = judged("corruption", Silent())
    assert (result.verdict, proved(result)["letters"]) == ("not exercised", False)


def test_calls_are_made_alone_in_a_talk_and_in_the_middle_of_a_long_text() -> None:
    engine = FakeEngine()
    assert judged("tools", engine).verdict == "passed"
    kinds = [(len(asked.messages), len(words(asked.messages[-1])) > 1000) for asked in engine.asked]
    assert kinds == [(1, False), (1, False), (5, False), (1, True), (1, False), (9, False), (13, False), (1, True)]
    asked = words(engine.asked[3].messages[0])
    assert 0.4 < asked.index("Use the tool") / len(asked) < 0.6
    call, said = engine.asked[2].messages[1], engine.asked[2].messages[2]
    assert call["tool_calls"][0]["id"] == said["tool_call_id"]
    assert set(json.loads(call["tool_calls"][0]["function"]["arguments"])) == {"city", "day"}


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ({"calls": (Call("weather", '{"city": "Rome", "day": 1}'),)}, "arguments of the tool call"),
        ({"calls": (Call("weather", '{"city": "Li'),)}, "arguments of the tool call"),
        ({"calls": ()}, "number of tool calls"),
        ({"content": "<\uff5cDSML\uff5cinvoke name=weather>"}, "markup in the content of a tool call"),
        ({"finish_reason": "stop"}, "finish_reason of a tool call"),
    ],
)
def test_a_call_that_is_not_right_is_named(said: dict[str, Any], what: str) -> None:
    result = judged("tools", saying(4, **said))
    assert [(finding.what, finding.where) for finding in result.findings] == [(what, "call 4 of 8, in a long text")]
    assert result.summary == "7 of 8 calls right"


@pytest.mark.parametrize(
    ("number", "content", "right"),
    [
        (1, "**391**", True),
        (1, "17 * 23 = 391.", True),
        (1, "1391", False),
        (1, "391.5", False),
        (2, "9.9", True),
        (2, "9.11 is larger than 9.9.", False),
        (5, "cy", True),
        (5, "Not Cy, but Ann", False),
        (7, "It arrives at 11:25.", True),
        (7, "11:255", False),
        (8, "W", True),
        (8, "Wo", False),
    ],
)
def test_puzzles_have_one_answer(number: int, content: str, right: bool) -> None:
    result = judged("smoke", saying(number, content=content))
    assert [finding.where for finding in result.findings] == ([] if right else [f"question {number}"])


def test_as_many_puzzles_as_the_recipe_says_and_no_more_than_there_are() -> None:
    assert judged("smoke", FakeEngine(knows=KNOWS), task(smoke_cases=2)).summary == "2 of 2 right"
    assert judged("smoke", FakeEngine(knows=KNOWS), task(smoke_cases=99)).verdict == "passed"


def test_puzzles_cannot_be_confused() -> None:
    assert len(KNOWS) == len(CASES)
    assert all(right not in wrong for _words, right, wrong in CASES)


@pytest.mark.parametrize(("images", "video", "seen"), [(True, False, 3), (False, True, 3), (True, True, 6)])
def test_pictures_are_shown_as_the_model_has_eyes(images: bool, video: bool, seen: int) -> None:
    engine = FakeEngine()
    result = judged("pictures", engine, task(images=images, video=video))
    assert (result.verdict, result.summary) == ("passed", f"{seen} of {seen} seen right")
    shown = {sum(part["type"] == "image_url" for part in asked.messages[0]["content"]) for asked in engine.asked}
    assert shown == ({1} if images else set()) | ({4} if video else set())


@pytest.mark.parametrize("content", ["blue, blue, blue, blue", "", "red and green"])
def test_wrong_colours_fail(content: str) -> None:
    result = judged("pictures", saying(2, content=content))
    assert [(finding.what, finding.where) for finding in result.findings] == [
        ("wrong colours", "frames of a video, try 1")
    ]


def test_a_picture_is_small_and_its_colours_are_far_apart() -> None:
    assert (set(COLOURS), SIDE % 4) == (set(HUES), 0)
    assert len(png(sorted(COLOURS))) < 1000


def test_a_collapse_is_said_with_its_positions() -> None:
    result = judged("acceptance", FakeEngine({"collapse"}))
    assert (result.verdict, result.findings[0].what) == ("failed", "drafts are not taken")
    assert result.figures["position_1"] < 0.12
    assert [result.figures[f"position_{place}"] for place in range(2, 6)] == [0, 0, 0, 0]


def test_few_drafts_that_were_taken_are_said_and_are_no_fault() -> None:
    result = judged("acceptance", FakeEngine({"unforeseen"}))
    assert (result.verdict, result.figures["acceptance"] < 0.3) == ("passed", True)
    assert result.summary.startswith("low: ")
    assert "the text alone can cause that" in result.summary


def test_acceptance_ends_when_it_has_drafts_enough() -> None:
    engine = FakeEngine()
    result = judged("acceptance", engine)
    assert DRAFTS < ENOUGH <= result.figures["drafts"] < 2 * ENOUGH
    assert len(engine.asked) < 24


def test_a_drafter_that_makes_no_draft_is_not_exercised() -> None:
    class Idle(FakeEngine):
        async def counters(self) -> Any:
            return replace(await super().counters(), drafts=0.0, draft_tokens=0.0, accepted_tokens=0.0, accepted_at=())

    result = judged("acceptance", Idle())
    assert (result.verdict, result.figures) == ("not exercised", {})


def test_counters_of_a_server_that_was_started_again_say_nothing() -> None:
    class Again(FakeEngine):
        async def counters(self) -> Any:
            counters = await super().counters()
            return replace(counters, generated_tokens=0.0, drafts=0.0) if len(self.asked) > 2 else counters

    async def used() -> FakeEngine:
        engine = Again()
        await engine.ask(Question.plain("Count from 1 to 50.", 100))
        engine.worker = None
        return engine

    assert judged("acceptance", asyncio.run(used())).verdict == "unknown"
