# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""rank.json: refused with what was seen and expected, and never with a secret."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from vllm_rank.__main__ import main
from vllm_rank.config import ConfigError, parse

from tests.unit.vllm_rank.rank_world import API_KEY, KEY, World

Change = Callable[[dict[str, Any]], Any]


def test_what_is_read(tmp_path: Path) -> None:
    world = World(tmp_path)
    head, worker = (parse(world.config(rank), "rank.json") for rank in (0, 1))
    assert head.api is not None
    assert (head.api.key, head.key) == (API_KEY, KEY.encode())
    assert worker.api is None
    assert str(worker.me) == "rank 1 (spark2)"
    assert worker.limits.silence_seconds == 20.0
    assert API_KEY not in repr(head)
    assert KEY not in repr(head)


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        (lambda data: data.update(schema=2), "schema: seen 2, expected 1"),
        (lambda data: data.pop("argv"), "argv: seen nothing, expected the command"),
        (lambda data: data.update(argv=[]), "argv: seen [], expected the command"),
        (lambda data: data.update(argv="vllm serve"), "argv: seen 'vllm serve', expected the command"),
        (lambda data: data.update(rank=3), "rank: seen 3, expected a whole number from 0 to 2"),
        (lambda data: data.update(rank=True), "rank: seen True"),
        (lambda data: data.update(host="spark2"), "this is rank 0 (spark2), but the list of ranks has rank 0 (spark1)"),
        (lambda data: data["ranks"].reverse(), "ranks: seen [2, 1, 0], expected 0, 1"),
        (lambda data: data.update(ranks=[]), "ranks: seen []"),
        (lambda data: data.update(ranks=3), "ranks: seen 3, expected a list"),
        (lambda data: data.update(ranks=[0]), "ranks: seen int, expected an object"),
        (lambda data: data.update(kill_argv=[1]), "kill_argv: seen [1], expected a list of texts"),
        (lambda data: data.update(control="10.0.0.1"), "control: seen str, expected an object"),
        (lambda data: data["control"].update(port=70000), "control: port: seen 70000"),
        (lambda data: data["limits"].update(stall_seconds="60"), "limits: stall_seconds: seen '60', expected a number"),
        (lambda data: data["limits"].update(beat_seconds=0), "limits: beat_seconds: seen 0, expected a number above 0"),
        (lambda data: data["limits"].update(beat_seconds=8), "silence_seconds: seen 20, expected at least 3 times"),
        (lambda data: data.update(api=None), "api: seen NoneType, expected an object"),
        (lambda data: data["api"].update(url="file:///etc/passwd"), "expected http://"),
        (lambda data: data.update(key_file="/nonexistent"), "/nonexistent cannot be read: No such file"),
        (lambda data: Path(data["key_file"]).write_text("hidden\n"), "expected one word of at least 16"),
        (
            lambda data: Path(data["key_file"]).write_text("hidden hidden hidden hidden"),
            "expected one word of at least",
        ),
        (
            lambda data: Path(data["api"]["key_file"]).write_text("hiddenhidden\nhidden"),
            "expected one word of at least",
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, change: Change, refusal: str) -> None:
    data = json.loads(json.dumps(World(tmp_path).config(0)))
    change(data)
    with pytest.raises(ConfigError) as refused:
        parse(data, "rank.json")
    assert refusal in str(refused.value)
    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize("text", [None, "{", "[]", "\udcff"])
def test_the_program_exits_2_and_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None) -> None:
    path = tmp_path / "rank.json"
    if text is not None:
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert main([str(path)]) == 2
    assert str(path) in capsys.readouterr().err
    assert main([]) == 2
