# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The judge of texts: what is wrong is found and named, and what only looks so is left alone."""

from __future__ import annotations

import random

import pytest
from battery.judge.text import SCRIPT, faults
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.battery.judge_case import Text
from tests.unit.battery.judge_clean import CLEAN, MORE
from tests.unit.battery.judge_spoilt import ARTICLE, RELATED, SPOILT

WORDS = [
    "about",
    "above",
    "after",
    "again",
    "against",
    "air",
    "all",
    "almost",
    "along",
    "animal",
    "answer",
    "apple",
    "autumn",
    "back",
    "bank",
    "bark",
    "because",
    "bell",
    "below",
    "best",
    "bird",
    "black",
    "blue",
    "boat",
    "book",
    "bread",
    "bridge",
    "bring",
    "brother",
    "brown",
    "build",
    "cable",
    "call",
    "candle",
    "carry",
    "chair",
    "child",
    "church",
    "city",
    "clean",
    "clear",
    "climb",
    "clock",
    "cloud",
    "coast",
    "cold",
    "come",
    "corner",
    "country",
    "cross",
    "dark",
    "day",
    "deep",
    "door",
    "down",
    "dream",
    "drive",
    "early",
    "earth",
    "east",
    "evening",
    "every",
    "eye",
    "face",
    "fall",
    "family",
    "far",
    "farm",
    "father",
    "field",
    "fire",
    "fish",
    "floor",
    "flower",
    "follow",
    "forest",
    "friend",
    "garden",
    "gate",
    "glass",
    "gold",
    "good",
    "grass",
    "great",
    "green",
    "grey",
    "hand",
    "harbour",
    "head",
    "hear",
    "heart",
    "hill",
    "home",
    "horse",
    "house",
    "hundred",
    "island",
    "journey",
    "keep",
    "keeper",
    "kitchen",
    "lamp",
    "land",
    "last",
    "late",
    "laugh",
    "leaf",
    "letter",
    "light",
    "line",
    "listen",
    "little",
    "long",
    "lost",
    "low",
    "market",
    "meadow",
    "middle",
    "milk",
    "moon",
    "morning",
    "mother",
    "mountain",
    "mouth",
    "music",
    "narrow",
    "near",
    "never",
    "night",
    "north",
    "old",
    "open",
    "orange",
    "other",
    "over",
    "paper",
    "path",
    "people",
    "place",
    "quiet",
    "rain",
    "read",
    "river",
    "road",
    "roof",
    "room",
    "rope",
    "round",
    "sail",
    "salt",
    "sand",
    "school",
    "sea",
    "season",
    "shadow",
    "shore",
    "silver",
    "simple",
    "sister",
    "sky",
    "sleep",
    "slow",
    "small",
    "snow",
    "song",
    "sound",
    "south",
    "spring",
    "stair",
    "star",
    "stone",
    "storm",
    "story",
    "street",
    "summer",
    "table",
    "tell",
    "thing",
    "tower",
    "tree",
    "valley",
    "village",
    "voice",
    "wait",
    "walk",
    "wall",
    "warm",
    "watch",
    "water",
    "west",
    "white",
    "wide",
    "wind",
    "window",
    "winter",
    "wood",
    "word",
    "yellow",
    "young",
]
ALL_SPOILT = [
    pytest.param(case, text, id=f"{case.id}-{number}")
    for case in (*SPOILT, *ARTICLE, *RELATED)
    for number, text in enumerate(case.texts)
]
ALL_CLEAN = [
    pytest.param(case, text, id=f"{case.id}-{number}")
    for case in (*CLEAN, *MORE)
    for number, text in enumerate(case.texts)
]


def kinds(case: Text, text: str) -> set[str]:
    return {finding.what for finding in faults(text, case.prompt, "here", case.temperature)}


def prose(seed: int, sentences: int) -> str:
    chance = random.Random(seed)  # noqa: S311
    said = (chance.sample(WORDS, chance.randint(4, 18)) for _number in range(sentences))
    return " ".join(f"{', '.join([words[0].capitalize(), ' '.join(words[1:])])}." for words in said)


@pytest.mark.parametrize(("case", "text"), ALL_SPOILT)
def test_what_is_wrong_is_found(case: Text, text: str) -> None:
    assert kinds(case, text) == case.kinds
    for finding in faults(text, case.prompt, "here", case.temperature):
        assert finding.where == "here"
        assert finding.evidence.isprintable()
        assert len(finding.evidence) < 400


@pytest.mark.parametrize(("case", "text"), ALL_CLEAN)
def test_what_looks_bad_is_left_alone(case: Text, text: str) -> None:
    assert faults(text, case.prompt, "", case.temperature) == ()


def test_a_foreign_word_is_the_models_own_only_when_it_is_sampled() -> None:
    case = next(case for case in CLEAN if case.id == "Q60")
    assert {finding.what for finding in faults(case.texts[0], case.prompt)} == {SCRIPT}


@pytest.mark.parametrize(
    ("text", "prompt"),
    [
        ("caf\ufffd and \ufffd", "Repair caf\ufffd."),
        ("<|im_end|> and <|im_start|>", "Say <|im_end|>."),
        ("ready set ready set " * 12, 'Write "ready" 12 times.'),
        ("He lit the lamp and waited. " * 20, "Write a song."),
    ],
)
def test_more_than_the_prompt_asked_for_is_found(text: str, prompt: str) -> None:
    assert len(faults(text, prompt)) == 1


def test_several_kinds_are_several_findings() -> None:
    text = "The keeper lit the 灯 lamp.\ufffd" + "!" * 30 + "<|im_end|>"
    assert len(faults(text, "Hi", "pass 2, request 3")) == 4


@given(
    case=st.sampled_from([each.values for each in ALL_SPOILT]),
    seed=st.integers(0, 10_000),
    before=st.integers(0, 4),
    after=st.integers(0, 4),
    between=st.sampled_from([" ", "\n", "\n\n"]),
)
def test_clean_prose_around_a_spoilt_text_hides_nothing(
    case: tuple[Text, str], seed: int, before: int, after: int, between: str
) -> None:
    spoilt, text = case
    whole = prose(seed, before) + between + text + between + prose(seed + 1, after)
    assert kinds(spoilt, whole) >= spoilt.kinds


@given(seed=st.integers(0, 100_000), sentences=st.integers(1, 60))
def test_prose_is_never_flagged(seed: int, sentences: int) -> None:
    assert faults(prose(seed, sentences), "Tell me a story.") == ()


@given(st.text(max_size=300), st.text(max_size=30))
def test_any_text_is_judged(text: str, prompt: str) -> None:
    for finding in faults(text, prompt):
        assert finding.evidence.isprintable()


def test_a_long_answer_is_judged_in_time_that_grows_with_it() -> None:
    """A pattern that looks back over the whole text would not come to an end here."""
    text = prose(1, 6000)
    assert faults(text, "Tell me a story.") == ()
    assert len(faults(text + "He lit the lamp and waited. " * 5000, "Tell me a story.")) == 1
