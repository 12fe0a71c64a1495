# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Data to frozen dataclasses, strictly, with every mistake noted by its key."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import did_you_mean, listing, shown

WORDS = {str: "text", int: "an integer", float: "a number", bool: "true or false"}


def read(kind: Any, value: Any, at: str, problems: list[str]) -> Any:
    """The value as C(kind). What does not fit is in C(problems), and what comes back must not be used then."""
    origin = get_origin(kind)
    if is_dataclass(kind):
        return _record(kind, value, at, problems)
    if origin in (Union, types.UnionType):
        inner = next(part for part in get_args(kind) if part is not types.NoneType)
        return None if value is None else read(inner, value, at, problems)
    if origin is Literal:
        if value not in get_args(kind):
            words = [str(word) for word in get_args(kind)]
            problems.append(f"{at} is {shown(value)}: expected one of {listing(words)}" + did_you_mean(value, words))
        return value
    if origin is tuple:
        return _list(get_args(kind)[0], value, at, problems)
    if origin is not None:
        return _mapping(get_args(kind)[1], value, at, problems)
    return _scalar(kind, value, at, problems)


def _record(kind: Any, value: Any, at: str, problems: list[str]) -> Any:
    what = at or "the recipe"
    if not isinstance(value, Mapping):
        problems.append(f"{what} is {shown(value)}: expected a mapping with {listing(_names(kind), 30)}")
        return None
    names = _names(kind)
    problems += [
        f"{_join(at, str(key))} is not a key of {what}: remove it" + did_you_mean(key, names)
        for key in value
        if key not in names
    ]
    hints = get_type_hints(kind)
    read_values: dict[str, Any] = {}
    for name in names:
        if name in value:
            read_values[name] = read(hints[name], value[name], _join(at, name), problems)
        else:
            problems.append(f"{_join(at, name)} is missing: expected {_expected(hints[name])}")
            read_values[name] = None
    return kind(**read_values)


def _list(kind: Any, value: Any, at: str, problems: list[str]) -> tuple[Any, ...]:
    if not isinstance(value, list):
        problems.append(f"{at} is {shown(value)}: expected a list")
        return ()
    return tuple(read(kind, item, f"{at}[{number}]", problems) for number, item in enumerate(value))


def _mapping(kind: Any, value: Any, at: str, problems: list[str]) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        problems.append(f"{at} is {shown(value)}: expected a mapping")
        return {}
    problems += [
        f"{at} has the key {shown(key)}: expected text; put it in quotes" for key in value if not isinstance(key, str)
    ]
    return {str(key): read(kind, item, _join(at, str(key)), problems) for key, item in value.items()}


def _scalar(kind: Any, value: Any, at: str, problems: list[str]) -> Any:
    if kind is object:
        return value
    good = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    if kind is float:
        good = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not good:
        quotes = "; put it in quotes" if kind is str and isinstance(value, (int, float)) else ""
        problems.append(f"{at} is {shown(value)}: expected {WORDS[kind]}{quotes}")
        return value
    if kind is str and not value.strip():
        problems.append(f"{at} is an empty string: expected text")
    return float(value) if kind is float else value


def _names(kind: Any) -> list[str]:
    return [field.name for field in fields(kind)]


def _join(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def _expected(kind: Any) -> str:
    words = list(_words(kind))
    return " or ".join(words)


def _words(kind: Any) -> Iterator[str]:
    if get_origin(kind) in (Union, types.UnionType):
        for part in get_args(kind):
            yield from ("null",) if part is types.NoneType else _words(part)
    elif get_origin(kind) is Literal:
        yield listing(str(word) for word in get_args(kind))
    elif get_origin(kind) is tuple:
        yield "a list"
    else:
        yield WORDS.get(kind, "a mapping")
