# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents: one fact in each block, never the same text twice, and questions that the lab's model answers."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from pathlib import Path

import pytest
from battery.material import Document, document, documents, facts, haystack
from battery.speed.text import text
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.serving import model
from lab.serving.llama import Checkpoint
from tests.unit.battery.fake_engine import FakeEngine
from tests.unit.battery.fake_model import pieces, rendered

FACT = re.compile(r"K\d{4} C\d{4}")


def made(salt: str, count: int = 3, blocks: int = 7, block_tokens: int = 128) -> list[Document]:
    return asyncio.run(documents(FakeEngine(), salt, count, blocks, block_tokens))


@pytest.mark.parametrize(("blocks", "block_tokens"), [(1, 128), (7, 128), (7, 256), (32, 256), (25, 64)])
def test_each_block_holds_one_fact(blocks: int, block_tokens: int) -> None:
    for one in made("a", blocks=blocks, block_tokens=block_tokens):
        words = pieces(one.text)
        assert abs(len(words) - blocks * block_tokens) <= block_tokens / 8
        places = [number for number, word in enumerate(words) if re.fullmatch(r"K\d{4}", word)]
        assert [place // block_tokens for place in places] == list(range(blocks))


@settings(max_examples=20, deadline=None)
@given(st.text(min_size=1, max_size=12))
def test_the_same_salt_makes_the_same_texts_and_no_other_does(salt: str) -> None:
    one, other = made(salt, 2, 2), made(f"{salt}.", 2, 2)
    assert one == made(salt, 2, 2)
    assert len({each.text for each in (*one, *other)}) == 4
    assert all(each.text.count(fact.key) == 1 for each in one for fact in each.facts)


def test_the_facts_of_a_run_are_all_different() -> None:
    pairs = list(facts("a"))
    assert len(pairs) == len({key for key, _code in pairs}) == len({code for _key, code in pairs}) == 4095
    assert pairs != list(facts("b"))
    # Its engine ends when it reads this one.
    assert "C4095" not in {code for _key, code in pairs}


def test_the_filler_is_varied_and_has_no_capital_k() -> None:
    filler = text("a", 3000)
    assert "K" not in filler
    words = filler.split()
    assert Counter(words).most_common(1)[0][1] < len(words) / 8
    phrases = Counter(zip(*(words[start:] for start in range(8)), strict=False))
    assert phrases.most_common(1)[0][1] < 12


def test_documents_differ_from_their_first_block_on() -> None:
    one, other, third = made("a")
    assert len({each.text[:200] for each in (one, other, third)}) == 3


def test_nothing_stands_behind_the_key_that_lab_templates_would_take_for_it() -> None:
    for one in made("Kurt K0001"):
        for fact in one.facts:
            asked = str(one.asks(fact).messages[0]["content"])
            assert asked.rpartition("K")[2][:4] == fact.key[1:]


@pytest.mark.parametrize("longer", range(8))
def test_a_question_is_longer_by_as_many_tokens_as_it_is_told(longer: int) -> None:
    one = made("a")[0]
    lengths = [len(pieces(str(one.asks(one.facts[0], longer=more).messages[0]["content"]))) for more in (0, longer)]
    assert lengths[1] - lengths[0] == min(longer, 7)


@pytest.mark.parametrize("tokens", [400, 1000, 20_000])
def test_a_haystack_has_its_length_and_its_facts_at_their_depths(tokens: int) -> None:
    one = asyncio.run(haystack(FakeEngine(), "a", tokens, (90, 10, 50)))
    words = pieces(one.text)
    # One that were longer than what was asked for would not fit into the context.
    assert 0.8 * tokens <= len(words) <= tokens
    depths = [100 * words.index(fact.key) / len(words) for fact in one.facts]
    assert depths == [pytest.approx(depth, abs=6) for depth in (10, 50, 90)]
    assert len(FACT.findall(one.text)) == 3


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    folder: Path = tmp_path_factory.mktemp("copy")
    model.write(folder)
    return Checkpoint.read(folder)


def test_the_labs_model_answers_a_question(checkpoint: Checkpoint) -> None:
    one = document("document 1", "a", 2, 12, facts("a"))
    fact = one.facts[0]
    found = checkpoint.answer(rendered(one.asks(fact).messages))
    assert found.word == fact.code
    assert found.log_probability == pytest.approx(0, abs=0.01)
