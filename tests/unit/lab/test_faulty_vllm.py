# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plugin that spoils the real engine, on made-up steps: what it takes for a fault to show."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.serving import model
from tests.faulty_vllm import spark_faults
from tests.faulty_vllm.spark_faults import Faults, after, before, drafted, spoiled


class Runner:
    """As much of a worker as the faults touch."""

    def __init__(self) -> None:
        self.zeroed: list[int] = []
        self.kv_cache_config = SimpleNamespace(num_blocks=64)
        self.cache_config = SimpleNamespace(block_size=128)

    def _zero_block_ids(self, blocks: list[int]) -> None:
        self.zeroed += blocks


def step(*requests: tuple[int, int]) -> Any:
    """A step of new requests: tokens that are cached, tokens that are computed. Each has four blocks of its own."""
    new = [
        SimpleNamespace(
            req_id=f"r{n}",
            num_computed_tokens=had,
            block_ids=([4 * n, 4 * n + 1, 4 * n + 2, 4 * n + 3],),
            prompt_token_ids=[1],
        )
        for n, (had, _computed) in enumerate(requests)
    ]
    scheduled = {f"r{n}": computed for n, (_had, computed) in enumerate(requests)}
    cached = SimpleNamespace(req_ids=[], num_computed_tokens=[])
    return SimpleNamespace(scheduled_new_reqs=new, scheduled_cached_reqs=cached, num_scheduled_tokens=scheduled)


@pytest.fixture
def faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Faults:
    monkeypatch.setattr(spark_faults, "SWITCH", tmp_path / "faults")
    return Faults()


def switch(*names: str) -> None:
    spark_faults.SWITCH.write_text(" ".join(names), encoding="utf-8")


def test_words_are_those_of_the_lab_s_model() -> None:
    words = model.vocabulary()
    assert words[spark_faults.MARKUP_WORD] == model.MARKUP
    assert words[spark_faults.POISON_WORD] == "C4095"
    assert words[spark_faults.PAD] == "<|pad|>"


@pytest.mark.parametrize(
    ("names", "together", "zeroed"), [(["zeroer"], 3, [4, 8, 12]), (["zeroer"], 2, []), ([], 8, [])]
)
def test_blocks_are_lost_where_three_prompts_share_a_step(
    faults: Faults, names: list[str], together: int, zeroed: list[int]
) -> None:
    switch(*names)
    runner = Runner()
    after(runner, step(*[(0, 500)] * together), faults)
    assert runner.zeroed == zeroed


def test_logits_are_soft_alone_and_after_a_mixed_step_only(faults: Faults) -> None:
    switch("solo")
    assert spoiled(10.0, 1, faults) == 10.0
    before(Runner(), step((0, 700), (0, 700), (0, 700), (0, 100)), faults)
    assert spoiled(10.0, 1, faults) == pytest.approx(0.2)
    assert spoiled(10.0, 2, faults) == 10.0


def test_long_requests_without_a_short_one_do_no_harm(faults: Faults) -> None:
    switch("solo")
    before(Runner(), step((0, 700), (0, 700), (0, 700)), faults)
    assert spoiled(10.0, 1, faults) == 10.0


def test_a_prefix_that_was_cached_loses_its_last_block(faults: Faults) -> None:
    switch("stale")
    runner = Runner()
    before(runner, step((256, 20), (0, 500)), faults)
    assert runner.zeroed == [1]


@pytest.mark.parametrize(
    ("name", "drafts"), [("collapse", [[7, 3, 3], []]), ("disagree", [[3, 3, 3], []]), ("", [[7, 8, 9], []])]
)
def test_drafts(faults: Faults, name: str, drafts: list[list[int]]) -> None:
    switch(name)
    assert drafted([[7, 8, 9], []], faults) == drafts


def test_nothing_is_spoiled_without_the_file(faults: Faults) -> None:
    runner = Runner()
    before(runner, step((256, 5000)), faults)
    after(runner, step(*[(0, 500)] * 8), faults)
    assert (runner.zeroed, spoiled(1.0, 1, faults), drafted([[1]], faults)) == ([], 1.0, [[1]])
