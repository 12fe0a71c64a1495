# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What rank.json says, checked before anything is started."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import UnionType
from typing import Any

LEAST_KEY_BYTES = 16


class ConfigError(Exception):
    """The settings cannot be used. The text is for people and holds no secret."""


@dataclass(frozen=True)
class Limits:
    boot_seconds: float  # from the start of the ranks to the first token
    stall_seconds: float  # something is asked and no counter moves
    beat_seconds: float  # how often keepers say that they live, and the API is looked at
    silence_seconds: float  # without a word from a keeper: it is lost
    stop_seconds: float  # from SIGTERM to SIGKILL
    probe_seconds: float  # how often an idle group is asked for a token, and how long a look may take


@dataclass(frozen=True)
class Member:
    rank: int
    host: str

    def __str__(self) -> str:
        return f"rank {self.rank} ({self.host})"


@dataclass(frozen=True)
class Api:
    url: str
    model: str
    key: str = field(repr=False)


@dataclass(frozen=True)
class Config:
    recipe: str
    me: Member
    ranks: tuple[Member, ...]
    group: str
    address: str
    port: int
    key: bytes = field(repr=False)
    argv: tuple[str, ...]
    kill_argv: tuple[str, ...]
    gone_argv: tuple[str, ...]
    api: Api | None
    limits: Limits
    state_file: Path
    end_file: Path
    origin: tuple[Path, tuple[int, int]] | None = None  # the file that was read, and which one it was

    @property
    def rank(self) -> int:
        return self.me.rank

    def changed(self) -> bool:
        """Whether another rank.json has taken the place of the one that was read."""
        try:
            return self.origin is not None and stamp(self.origin[0]) != self.origin[1]
        except OSError:
            return False


def stamp(path: Path) -> tuple[int, int]:
    seen = path.stat()
    return seen.st_ino, seen.st_mtime_ns


Rule = tuple[str, Callable[[Any], bool]]
TEXT: Rule = ("text", lambda value: isinstance(value, str) and value != "")
LIST: Rule = ("a list", lambda value: isinstance(value, list))
WORDS: Rule = (
    "a list of texts",
    lambda value: isinstance(value, list) and all(isinstance(each, str) for each in value),
)
COMMAND: Rule = ("the command that the rank runs, a list of texts", lambda value: WORDS[1](value) and len(value) > 0)
NUMBER: Rule = ("a number above 0", lambda value: _number(value, int | float) and 0 < value < math.inf)


def _number(value: object, kind: type | UnionType) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _up_to(most: int) -> Rule:
    return (f"a whole number from 0 to {most}", lambda value: _number(value, int) and 0 <= value <= most)


class _Reader:
    """One object of the file. Every refusal names the place."""

    def __init__(self, data: object, place: str) -> None:
        if not isinstance(data, dict):
            raise ConfigError(f"{place}: seen {type(data).__name__}, expected an object")
        self.data: dict[str, Any] = data
        self.place = place

    def take(self, name: str, rule: Rule) -> Any:
        wanted, good = rule
        if not good(self.data.get(name)):
            seen = repr(self.data[name]) if name in self.data else "nothing"
            raise ConfigError(
                f"{self.place}: {name}: seen {seen}, expected {wanted}; run the play that writes it again"
            )
        return self.data[name]

    def inner(self, name: str) -> _Reader:
        return _Reader(self.data.get(name), f"{self.place}: {name}")

    def secret(self, name: str) -> bytes:
        """What a key file holds. It is never part of a message."""
        path = self.take(name, TEXT)
        try:
            secret = Path(path).read_bytes().strip()
        except OSError as error:
            raise ConfigError(f"{self.place}: {name}: {path} cannot be read: {error.strerror}") from None
        if len(secret) < LEAST_KEY_BYTES or not all(0x21 <= byte <= 0x7E for byte in secret):
            raise ConfigError(
                f"{path}: expected one word of at least {LEAST_KEY_BYTES} printable characters; make a new key"
            )
        return secret


def _ranks(top: _Reader) -> tuple[Member, ...]:
    found = [_Reader(entry, f"{top.place}: ranks") for entry in top.take("ranks", LIST)]
    ranks = tuple(Member(entry.take("rank", _up_to(1023)), entry.take("host", TEXT)) for entry in found)
    seen = [member.rank for member in ranks]
    if seen != list(range(len(ranks))) or not ranks:
        raise ConfigError(f"{top.place}: ranks: seen {seen}, expected 0, 1, … without a gap and in this order")
    return ranks


def _limits(read: _Reader) -> Limits:
    limits = Limits(**{entry.name: float(read.take(entry.name, NUMBER)) for entry in fields(Limits)})
    if limits.silence_seconds < 3 * limits.beat_seconds:
        wanted = f"at least 3 times beat_seconds ({limits.beat_seconds:g})"
        raise ConfigError(f"{read.place}: silence_seconds: seen {limits.silence_seconds:g}, expected {wanted}")
    return limits


def _api(read: _Reader) -> Api:
    url = read.take("url", TEXT).rstrip("/")
    if not url.startswith(("http://", "https://")):
        raise ConfigError(f"{read.place}: url: seen {url!r}, expected http://… or https://…")
    return Api(url, read.take("model", TEXT), read.secret("key_file").decode("ascii"))


def parse(data: object, place: str) -> Config:
    """All of rank.json, with the keys read from their files."""
    top = _Reader(data, place)
    top.take("schema", ("1", lambda value: value == 1))
    ranks = _ranks(top)
    me = Member(top.take("rank", _up_to(len(ranks) - 1)), top.take("host", TEXT))
    if ranks[me.rank] != me:
        raise ConfigError(f"{place}: this is {me}, but the list of ranks has {ranks[me.rank]}")
    control = top.inner("control")
    return Config(
        recipe=top.take("recipe", TEXT),
        me=me,
        ranks=ranks,
        group=top.take("group", TEXT),
        address=control.take("address", TEXT),
        port=control.take("port", _up_to(65535)),
        key=top.secret("key_file"),
        argv=tuple(top.take("argv", COMMAND)),
        kill_argv=tuple(top.take("kill_argv", WORDS)),
        gone_argv=tuple(top.take("gone_argv", WORDS)),
        api=_api(top.inner("api")) if me.rank == 0 else None,
        limits=_limits(top.inner("limits")),
        state_file=Path(top.take("state_file", TEXT)),
        end_file=Path(top.take("end_file", TEXT)),
    )


def read(path: Path) -> Config:
    try:
        origin = path, stamp(path)
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{path} is not JSON: {error}") from None
    return replace(parse(data, str(path)), origin=origin)
