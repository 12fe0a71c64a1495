# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the settings file says, checked before anything is asked. All that is wrong is said at once."""

from __future__ import annotations

import json
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from .failure import Api
from .model import Guards

SCHEMA = 1
AGAIN = "run the role guards, which writes it"


class SettingsError(Exception):
    """The settings cannot be used. The text is for people and holds no secret."""


@dataclass(frozen=True, slots=True)
class Speed:
    """The recipe's speed: null is not known. Fields as in the recipe."""

    count_tokens_per_second: float | None
    code_tokens_per_second: float | None
    prose_en_tokens_per_second: float | None
    prose_es_tokens_per_second: float | None
    two_streams_tokens_per_second: float | None
    prefill_tokens_per_second: float | None
    prefill_tokens: int | None
    turn1_ttft_seconds: float | None
    turn2_ttft_seconds: float | None
    needle_seconds: float | None
    long_tokens_per_second: float | None


@dataclass(frozen=True, slots=True)
class Settings:
    """`tolerance` is the part by which a speed may be worse than expected; `records` is the folder of this recipe."""

    schema: int
    recipe: str
    url: str
    model: str
    key_file: Path
    context_tokens: int
    guards: Guards
    speed: Speed
    # What a pass is worth nothing without: versions and the like.
    fingerprint: Mapping[str, str]
    unit: str
    state_file: Path
    records: Path
    quick_seconds: int
    full_seconds: int
    # The longest silence of the server that is no failure: a long prefill says nothing until its end.
    timeout_seconds: float
    keep_runs: int
    tolerance: float
    speed_is_gate: bool
    # Others' benchmarks, which `full` runs beside its own, and the folder whose tokenizer they count with.
    vllm_program: Path | None
    benchy_program: Path | None
    checkpoint: Path | None
    history: Path | None = None

    def expected(self) -> dict[str, float | None]:
        """The recipe's speed by field name."""
        return {entry.name: getattr(self.speed, entry.name) for entry in fields(Speed)}

    def api(self) -> Api:
        """With the key, which is kept nowhere else. SettingsError when it cannot be read."""
        try:
            key = self.key_file.read_bytes().strip()
        except OSError as error:
            raise SettingsError(f"key_file: {self.key_file} cannot be read: {error.strerror}; {AGAIN}") from None
        if not key or not all(0x21 <= byte <= 0x7E for byte in key):
            raise SettingsError(f"key_file: {self.key_file}: expected one word of printable characters; make a new key")
        return Api(self.url, self.model, key.decode("ascii"), str(self.key_file), self.unit, self.timeout_seconds)


Rule = tuple[str, Callable[[Any], bool]]
ABOVE_0: Rule = ("a number above 0", lambda value: value > 0)
WEB: Rule = ("http://… or https://…", lambda value: value.startswith(("http://", "https://")) and len(value) > 8)
PART: Rule = ("a part from 0 up to, not including, 1", lambda value: 0 <= value < 1)
# Beside the types, which say the rest.
RULES: Mapping[str, Rule] = {
    "schema": (str(SCHEMA), lambda value: value == SCHEMA),
    "url": WEB,
    "tolerance": PART,
    **dict.fromkeys(("context_tokens", "quick_seconds", "full_seconds", "timeout_seconds", "keep_runs"), ABOVE_0),
}
WORDS: Mapping[Any, str] = {
    int: "a whole number",
    float: "a number",
    str: "text",
    bool: "true or false",
    Path: "an absolute path",
    type(None): "null",
}


def read(path: Path) -> Settings:
    """SettingsError with all that is wrong with the file."""
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}; {AGAIN}") from None
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{path} is not JSON: {error}; {AGAIN}") from None
    return parse(data, str(path))


def parse(data: object, place: str) -> Settings:
    wrong: list[str] = []
    settings = _record(Settings, data, "", wrong)
    if settings is None or wrong:
        raise SettingsError(f"{place}: {'; '.join(wrong)}. To put it right, {AGAIN}")
    return settings


def _record[T](kind: type[T], data: object, place: str, wrong: list[str]) -> T | None:
    """One object of the file; none, and words in `wrong`, when it is not what is expected."""
    before = len(wrong)
    if not isinstance(data, dict):
        wrong.append(f"{place or 'the file'}: seen {_seen(data)}, expected an object")
        return None
    hints, values = get_type_hints(kind), {}
    dot = f"{place}." if place else ""
    for entry in fields(kind):  # type: ignore[arg-type]
        if entry.name in data:
            values[entry.name] = _value(hints[entry.name], data[entry.name], dot + entry.name, wrong)
        elif entry.default is MISSING:
            wrong.append(f"{dot}{entry.name} is missing")
    wrong += [f"{dot}{name} is unknown" for name in sorted(data.keys() - hints.keys())]
    return kind(**values) if len(wrong) == before else None


def _value(hint: Any, data: object, place: str, wrong: list[str]) -> Any:
    if hint in (Guards, Speed):
        return _record(hint, data, place, wrong)
    if not _fits(hint, data):
        wrong.append(f"{place}: seen {_seen(data)}, expected {_words(hint)}")
        return None
    wanted, good = RULES.get(place, ("", lambda _value: True))
    if not good(data):
        wrong.append(f"{place}: seen {_seen(data)}, expected {wanted}")
    if hint is Path or (Path in get_args(hint) and data is not None):
        return Path(str(data))
    return (
        tuple(data)
        if isinstance(data, list)
        else data.rstrip("/")
        if isinstance(data, str) and place == "url"
        else data
    )


def _fits(hint: Any, data: object) -> bool:
    """Whether what JSON gave is of a type of this module's fields."""
    if hint is float:
        return isinstance(data, int | float) and not isinstance(data, bool) and -math.inf < data < math.inf
    if hint is int:
        return isinstance(data, int) and not isinstance(data, bool)
    if hint is str:
        return isinstance(data, str) and data != ""
    if hint is Path:
        return isinstance(data, str) and data.startswith("/")
    if get_origin(hint) in (Union, types.UnionType):
        return any(_fits(one, data) for one in get_args(hint))
    if get_origin(hint) is tuple:
        return isinstance(data, list) and all(_fits(get_args(hint)[0], each) for each in data)
    if get_origin(hint) is Mapping:
        return isinstance(data, dict) and all(isinstance(value, str) for value in data.values())
    return isinstance(data, hint)


def _words(hint: Any) -> str:
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(_words(one) for one in get_args(hint))
    if get_origin(hint) is tuple:
        return f"a list, each {_words(get_args(hint)[0])}"
    return WORDS.get(hint, "an object of texts")


def _seen(data: object) -> str:
    text = json.dumps(data, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:60]}…"
