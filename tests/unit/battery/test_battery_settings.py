# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings file: all that is wrong is said at once, and never with the key."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from battery import model, settings
from battery.__main__ import main
from battery.settings import Settings, SettingsError, Speed, parse, read

from ansible_collections.switchless.spark.plugins.module_utils._recipe import model as recipe

KEY = "hiddenhiddenhidden"
Change = Callable[[dict[str, Any]], Any]


def written(folder: Path) -> dict[str, Any]:
    """What the role writes."""
    (folder / "api.key").write_text(KEY + "\n")
    return {
        "schema": 1,
        "recipe": "lab",
        "url": "http://127.0.0.1:9/",
        "model": "copy",
        "key_file": str(folder / "api.key"),
        "context_tokens": 4096,
        "guards": {
            "count_to": 100,
            "count_runs": 3,
            "acceptance_least": 0.78,
            "acceptance_collapse": None,
            "corruption_passes": 1,
            "documents": 8,
            "documents_least": 3,
            "block_tokens": 256,
            "margin_least": -1,
            "needle_tokens": [1000, 2000],
            "needles": 3,
            "needle_depths_percent": [],
            "tool_calls": 3,
            "smoke_cases": None,
            "images": False,
            "video": False,
            "preemptions_most": 0,
            "stall_seconds": 60,
        },
        "speed": {entry.name: None for entry in fields(Speed)}
        | {"code_tokens_per_second": 100, "prefill_tokens": 21900},
        "fingerprint": {"vllm": "0.27.1"},
        "unit": "vllm@lab.service",
        "state_file": "/run/vllm/lab/state.json",
        "records": str(folder / "records"),
        "quick_seconds": 600,
        "full_seconds": 7200,
        "timeout_seconds": 900.5,
        "keep_runs": 20,
        "tolerance": 0.1,
        "speed_is_gate": False,
        "vllm_program": None,
        "benchy_program": None,
        "checkpoint": "/srv/models/copy",
    }


def settings_of(folder: Path, **changes: Any) -> Settings:
    return parse(written(folder) | changes, "settings.json")


def test_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(written(tmp_path)))
    seen = read(path)
    assert (seen.url, seen.records, seen.timeout_seconds) == ("http://127.0.0.1:9", tmp_path / "records", 900.5)
    assert seen.guards.needle_tokens == (1000, 2000)
    assert (seen.guards.margin_least, seen.guards.acceptance_collapse) == (-1, None)
    assert seen.expected()["code_tokens_per_second"] == 100
    assert seen.expected()["needle_seconds"] is None
    assert seen.history is None
    api = seen.api()
    assert (api.key, api.model, api.seconds) == (KEY, "copy", 900.5)
    assert KEY not in repr(api)
    assert settings_of(tmp_path, history="/var/lib/x").history == Path("/var/lib/x")


@pytest.mark.parametrize(("ours", "recipes"), [(Speed, recipe.Speed), (model.Guards, recipe.Guards)])
def test_fields_are_those_of_recipes(ours: type, recipes: type) -> None:
    assert [(entry.name, entry.type) for entry in fields(ours)] == [
        (entry.name, entry.type) for entry in fields(recipes)
    ]


@pytest.mark.parametrize("name", [entry.name for entry in fields(Settings) if entry.name != "history"])
def test_every_key_is_required(tmp_path: Path, name: str) -> None:
    data = written(tmp_path)
    del data[name]
    with pytest.raises(SettingsError, match=rf"settings\.json: {name} is missing\. To put it right"):
        parse(data, "settings.json")


@pytest.mark.parametrize("part", ["guards", "speed"])
def test_every_key_of_a_part_is_required(tmp_path: Path, part: str) -> None:
    for name in written(tmp_path)[part]:
        data = written(tmp_path)
        del data[part][name]
        with pytest.raises(SettingsError, match=rf": {part}\.{name} is missing"):
            parse(data, "settings.json")


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        (lambda data: data.update(schema=2), "schema: seen 2, expected 1"),
        (lambda data: data.update(schema=True), "schema: seen true, expected a whole number"),
        (lambda data: data.update(recipe=""), 'recipe: seen "", expected text'),
        (lambda data: data.update(url="file:///etc/passwd"), 'url: seen "file:///etc/passwd", expected http'),
        (lambda data: data.update(url="https://"), "url: seen"),
        (lambda data: data.update(key_file="api.key"), 'key_file: seen "api.key", expected an absolute path'),
        (lambda data: data.update(context_tokens="4096"), 'context_tokens: seen "4096", expected a whole number'),
        (lambda data: data.update(context_tokens=0), "context_tokens: seen 0, expected a number above 0"),
        (lambda data: data.update(timeout_seconds=float("inf")), "timeout_seconds: seen Infinity, expected a number"),
        (lambda data: data.update(quick_seconds=1.5), "quick_seconds: seen 1.5, expected a whole number"),
        (lambda data: data.update(tolerance=1), "tolerance: seen 1, expected a part from 0"),
        (lambda data: data.update(tolerance=10**400), "tolerance: seen 1000"),
        (lambda data: data.update(speed_is_gate="yes"), 'speed_is_gate: seen "yes", expected true or false'),
        (lambda data: data.update(speed_is_gate=1), "speed_is_gate: seen 1, expected true or false"),
        (lambda data: data.update(fingerprint={"vllm": None}), 'seen {"vllm": null}, expected an object of texts'),
        (lambda data: data.update(fingerprint=["vllm"]), 'fingerprint: seen ["vllm"], expected an object of texts'),
        (lambda data: data.update(guards=None), "guards: seen null, expected an object"),
        (lambda data: data["guards"].update(images=None), "guards.images: seen null, expected true or false"),
        (lambda data: data["guards"].update(smoke_cases=1.5), "smoke_cases: seen 1.5, expected a whole number or null"),
        (lambda data: data["guards"].update(needle_tokens=[1, "2"]), "expected a list, each a whole number"),
        (lambda data: data["guards"].update(more=1), "guards.more is unknown"),
        (lambda data: data["speed"].update(needle_seconds="x"), 'seen "x", expected a number or null'),
        (lambda data: data.update(history=False), "history: seen false, expected an absolute path or null"),
        (lambda data: data.update(colour="x" * 1000), "colour is unknown"),
        (lambda data: data.update(unit=["x" * 1000]), "unit: seen"),
    ],
)
def test_what_is_refused(tmp_path: Path, change: Change, refusal: str) -> None:
    data = written(tmp_path)
    change(data)
    with pytest.raises(SettingsError) as refused:
        parse(data, "settings.json")
    assert refusal in str(refused.value)
    assert str(refused.value).count(";") == 0
    assert len(str(refused.value)) < 300


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    data = written(tmp_path) | {"recipe": 1, "more": 2}
    del data["unit"], data["guards"]["needles"]
    with pytest.raises(SettingsError) as refused:
        parse(data, "settings.json")
    assert str(refused.value) == (
        "settings.json: recipe: seen 1, expected text; guards.needles is missing; unit is missing; more is unknown. "
        f"To put it right, {settings.AGAIN}"
    )


@pytest.mark.parametrize("key", [None, "", "hidden hidden", "hidden\nhidden", "hiddén"])
def test_a_key_that_cannot_be_used(tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str | None) -> None:
    data, path = written(tmp_path), tmp_path / "settings.json"
    path.write_text(json.dumps(data))
    (tmp_path / "api.key").unlink()
    if key is not None:
        (tmp_path / "api.key").write_text(key, encoding="utf-8")
    assert main(["quick", "--settings", str(path)]) == 2
    said = capsys.readouterr().err
    assert "key_file" in said
    assert data["key_file"] in said
    assert "hidden" not in said


@pytest.mark.parametrize("text", [None, "{", "[]", "\udcff", "[" * 100_000])
def test_the_program_exits_2_and_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None) -> None:
    path = tmp_path / "settings.json"
    if text is not None:
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert main(["full", "--settings", str(path)]) == 2
    said = capsys.readouterr().err
    assert str(path) in said
    assert "run the role guards" in said
