# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What rank.json says, checked before anything is started."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, fields
from pathlib import Path
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

    @property
    def rank(self) -> int:
        return self.me.rank


class _Reader:
    """One object of the file. Every refusal names the place."""

    def __init__(self, data: object, place: str) -> None:
        if not isinstance(data, dict):
            raise ConfigError(f"{place}: seen {type(data).__name__}, expected an object")
        self.data: dict[str, Any] = data
        self.place = place

    def _take(self, name: str, good: bool, wanted: str) -> None:
        if not good:
            seen = repr(self.data[name]) if name in self.data else "nothing"
            raise ConfigError(
                f"{self.place}: {name}: seen {seen}, expected {wanted}; run the play that writes it again"
            )

    def text(self, name: str) -> str:
        value = self.data.get(name)
        self._take(name, isinstance(value, str) and value != "", "text")
        return str(value)

    def number(self, name: str) -> float:
        value = self.data.get(name)
        good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0
        self._take(name, good, "a number above 0")
        return float(self.data[name])

    def whole(self, name: str, most: int) -> int:
        value = self.data.get(name)
        good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most
        self._take(name, good, f"a whole number from 0 to {most}")
        return int(self.data[name])

    def words(self, name: str) -> tuple[str, ...]:
        value = self.data.get(name)
        self._take(name, isinstance(value, list) and all(isinstance(word, str) for word in value), "a list of texts")
        return tuple(self.data[name])

    def inner(self, name: str) -> _Reader:
        return _Reader(self.data.get(name), f"{self.place}: {name}")

    def secret(self, name: str) -> bytes:
        """What a key file holds. It is never part of a message."""
        path = self.text(name)
        try:
            secret = Path(path).read_bytes().strip()
        except OSError as error:
            raise ConfigError(f"{self.place}: {name}: {path} cannot be read: {error.strerror}") from None
        if len(secret) < LEAST_KEY_BYTES or not all(0x21 <= byte <= 0x7E for byte in secret):
            raise ConfigError(
                f"{path}: expected one word of at least {LEAST_KEY_BYTES} printable characters; write a new key"
            )
        return secret


def _ranks(top: _Reader) -> tuple[Member, ...]:
    found = [_Reader(entry, f"{top.place}: ranks") for entry in top.data.get("ranks") or []]
    ranks = tuple(Member(entry.whole("rank", 1023), entry.text("host")) for entry in found)
    if [member.rank for member in ranks] != list(range(len(ranks))) or not ranks:
        seen = [member.rank for member in ranks]
        raise ConfigError(f"{top.place}: ranks: seen {seen}, expected 0, 1, … without a gap and in this order")
    return ranks


def parse(data: object, place: str) -> Config:
    """All of rank.json, with the keys read from their files."""
    top = _Reader(data, place)
    if top.data.get("schema") != 1:
        raise ConfigError(
            f"{place}: schema: seen {top.data.get('schema')!r}, expected 1; run the play that writes it again"
        )
    ranks = _ranks(top)
    me = Member(top.whole("rank", len(ranks) - 1), top.text("host"))
    if ranks[me.rank] != me:
        raise ConfigError(f"{place}: this is {me}, but the list of ranks has {ranks[me.rank]}")
    control, limits = top.inner("control"), top.inner("limits")
    api = None
    if me.rank == 0:
        served = top.inner("api")
        api = Api(served.text("url").rstrip("/"), served.text("model"), served.secret("key_file").decode("ascii"))
        if not api.url.startswith(("http://", "https://")):
            raise ConfigError(f"{place}: api: url: seen {api.url!r}, expected http://… or https://…")
    argv = top.words("argv")
    if not argv:
        raise ConfigError(f"{place}: argv: seen an empty list, expected the command that the rank runs")
    limit = Limits(**{entry.name: limits.number(entry.name) for entry in fields(Limits)})
    if limit.silence_seconds < 3 * limit.beat_seconds:
        seen = f"{limit.silence_seconds:g}, expected at least 3 times beat_seconds ({limit.beat_seconds:g})"
        raise ConfigError(f"{place}: limits: silence_seconds: seen {seen}")
    return Config(
        recipe=top.text("recipe"),
        me=me,
        ranks=ranks,
        group=top.text("group"),
        address=control.text("address"),
        port=control.whole("port", 65535),
        key=top.secret("key_file"),
        argv=argv,
        kill_argv=top.words("kill_argv"),
        gone_argv=top.words("gone_argv"),
        api=api,
        limits=limit,
        state_file=Path(top.text("state_file")),
        end_file=Path(top.text("end_file")),
    )


def read(path: Path) -> Config:
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{path} is not JSON: {error}") from None
    return parse(data, str(path))
