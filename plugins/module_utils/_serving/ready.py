# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Waits until a group generated a token for us, or until the life that was waited for is over.

Whose token it is counts: a request that the group before answered says nothing of the one that is awaited.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .group_look import LIVE, Look, end_words, stale
from .ready_answer import Generated, Http, generated, resolved

LEAST = 5.0
"""Seconds that a request gets at least, and after which a unit that is down stays down."""
POLL = 1.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked. C(obstacle) is why nothing can be, such as a key that cannot be read.

    C(not_these) are lives that do not count; null when nobody said which.
    """

    url: str
    model: str
    prompt: str
    max_tokens: int
    seconds: float
    obstacle: str = ""
    not_these: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Now:
    """The head at one look."""

    state: str
    life: str | None
    detail: str
    ended: Mapping[str, Any] | None = None
    ranks: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of the wait."""

    now: Now
    ready: bool = False
    failed: bool = False
    detail: str = ""
    said: Generated = field(default_factory=Generated)
    end: Mapping[str, Any] | None = None
    resolved: Mapping[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "ready": self.ready,
            "state": self.now.state,
            "life": self.now.life,
            "detail": self.detail,
            "answer": self.said.text or None,
            "usage": dict(self.said.usage) or None,
            "resolved": None if self.resolved is None else dict(self.resolved),
            "failed_life": self.failed,
            "end": None if self.end is None else dict(self.end),
        }


def now(seen: Look) -> Now:
    """What the head does. A state of the past does not count."""
    data = seen.state.data
    old, why = stale(data, seen.unit, seen.boot)
    if data is None or old:
        shown = str(seen.unit.get("active") or "unknown")
        return Now(shown, None, seen.state.detail or f"{seen.state.path}: {why}")
    life, ended, ranks = data.get("life"), data.get("ended"), data.get("ranks")
    return Now(
        str(data.get("state") or "unknown"),
        str(life) if life else None,
        str(data.get("detail") or ""),
        ended if isinstance(ended, Mapping) else None,
        tuple(one for one in ranks if isinstance(one, Mapping)) if isinstance(ranks, list) else (),
    )


class Waiter:
    """One call's wait."""

    def __init__(
        self,
        look: Callable[[], Look],
        http: Http,
        wanted: Wanted,
        clock: Callable[[], float],
        pause: Callable[[float], None],
    ) -> None:
        self._look = look
        self._http = http
        self._wanted = wanted
        self._clock = clock
        self._pause = pause
        self._until = clock() + wanted.seconds
        self._awaited: str | None = None
        self._down: float | None = None
        self._missed = False
        self._old: frozenset[str] = wanted.not_these or frozenset()

    def wait(self) -> Outcome:
        """Until there is a token, the life is over, or the time is."""
        seen = self._look()
        if self._wanted.not_these is None and seen.end.data:
            # Nobody said what was before: what had ended when we came is not what we wait for.
            self._old = frozenset({str(seen.end.data.get("life"))})
        while True:
            outcome = self._step(seen)
            if outcome.ready or outcome.failed:
                return outcome
            left = self._until - self._clock()
            if left <= 0:
                return self._ending(outcome)
            self._pause(min(POLL, left))
            seen = self._look()

    def _step(self, seen: Look) -> Outcome:
        here = now(seen)
        over = self._over(seen, here)
        if over is not None:
            return over
        if here.life in self._old:
            return Outcome(here, detail=f"life {here.life} is {here.state}, and it is not the one that is waited for")
        self._awaited = here.life or self._awaited
        if here.state != "serving":
            return Outcome(here, detail=here.detail or f"the group is {here.state}")
        return self._ask(here)

    def _ask(self, here: Now) -> Outcome:
        """The head's word is not enough: a token has to be generated for us, by the life that is still there then."""
        wanted = self._wanted
        if wanted.obstacle:
            return Outcome(here, detail=wanted.obstacle)
        url = f"{wanted.url}/v1/completions"
        data = {
            "model": wanted.model,
            "prompt": wanted.prompt,
            "max_tokens": wanted.max_tokens,
            "temperature": 0,
        }
        said = generated(
            self._http.ask(url, max(self._until - self._clock(), LEAST), data),
            url,
            wanted.model,
        )
        if said.detail:
            return Outcome(here, detail=said.detail)
        after = now(self._look())
        if (after.life, after.state) != (here.life, here.state):
            text = f"a token was generated, and meanwhile life {here.life} became {after.state}, life {after.life}"
            return Outcome(after, detail=text)
        found = resolved(self._http, wanted.url, wanted.model, LEAST)
        return Outcome(here, ready=True, said=said, resolved=found)

    def _over(self, seen: Look, here: Now) -> Outcome | None:
        """Whether the life that is waited for has ended, or none can come."""
        end = seen.end.data
        if end is not None and end.get("life") and str(end["life"]) not in self._old:
            return Outcome(here, failed=True, end=end, detail=_words(end))
        active = seen.unit.get("active")
        if active == "failed":
            own = end if end is not None and _same_start(end, seen.unit) else None
            text = f"the unit failed ({seen.unit.get('result')}, exit status {seen.unit.get('exit_status')})"
            return Outcome(here, failed=True, end=own, detail=f"{text}. {_words(own)}" if own else text)
        if active and active not in LIVE:
            self._down = self._clock() if self._down is None else self._down
            load = seen.unit.get("load")
            text = f"the unit is {active}" + (f" ({load})" if load != "loaded" else "")
            if self._clock() - self._down >= min(LEAST, self._wanted.seconds):
                return Outcome(here, failed=True, detail=f"{text}: nothing starts it")
            return Outcome(here, detail=text)
        self._down = None
        gone = here.state in ("gathering", "waiting") or (here.life is not None and here.life != self._awaited)
        if self._awaited is None or not gone:
            self._missed = False
            return None
        # A keeper that was killed has no last word: the next one writes it, in a moment.
        failed, self._missed = self._missed, True
        text = f"life {self._awaited} ended, and the head left no word of it"
        return Outcome(here, failed=failed, detail=text)

    def _ending(self, outcome: Outcome) -> Outcome:
        """The time is over. A life that ends by now will not come to serve."""
        here = outcome.now
        if self._missed:
            return replace(outcome, failed=True)
        if here.state != "ending" or here.life is None or here.life in self._old:
            return outcome
        ended = dict(here.ended or {})
        return Outcome(
            here,
            failed=True,
            detail=_words(ended),
            end={"life": here.life} | ended | {"ranks": list(here.ranks)},
        )


def _same_start(end: Mapping[str, Any], unit: Mapping[str, Any]) -> bool:
    """Whether the last start of the head wrote it."""
    listed = end.get("ranks")
    rows = listed if isinstance(listed, list) else []
    head = next((row for row in rows if isinstance(row, Mapping) and row.get("rank") == 0), {})
    return bool(head.get("invocation")) and head.get("invocation") == unit.get("invocation")


def _words(end: Mapping[str, Any]) -> str:
    return f"the life ended, {end_words(end)}"
