# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rounds of a soak: traffic, then the guards, and what all rounds of a guard come to."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from .course import Course
from .model import Finding, Result, Server, Verdict
from .outcome import Measure
from .run import Guard
from .settings import Settings
from .status import Status, say, warn
from .traffic import Traffic, flow

# Of a guard's rounds the worst says how it went. One that could not be exercised once was so at other times.
WORST: tuple[Verdict, ...] = ("failed", "unknown", "passed", "not exercised", "not asked")


@dataclass
class Soak:
    """How far it is. Times of the monotonic clock."""

    settings: Settings
    server: Server
    status: Status
    salt: str
    guards: Sequence[Guard]
    began: float
    ends_at: float
    interval: float
    traffic: Traffic = field(default_factory=Traffic)
    rounds: dict[str, list[Result]] = field(default_factory=dict)
    rates: list[float] = field(default_factory=list)
    stalled: Result | None = None
    gone: bool = False

    def show(self) -> None:
        """One result for each guard, whatever the number of rounds."""
        results = [merged(some) for some in self.rounds.values() if some]
        asked = [self.traffic.result()] if self.traffic.requests else []
        self.status.results[:] = [*asked, *([self.stalled] if self.stalled else []), *results]
        rates = tuple(self.rates)
        self.status.measures[:] = [Measure("soak_tokens_per_second", "tokens/s", rates)] if rates else []
        self.status.show()

    def age(self) -> str:
        return f"{(time.monotonic() - self.began) / 3600:.2f} h"


async def go_on(course: Soak) -> None:
    """Until the time is over, a guard fails or the server is gone."""
    chance = random.Random(course.salt)  # noqa: S311 (which request comes next, not a secret)
    number = 0
    while time.monotonic() < course.ends_at and not course.gone:
        number += 1
        traffic, at = course.traffic, time.monotonic()
        course.status.step = f"round {number}: traffic"
        course.show()
        tokens, seconds = traffic.tokens, min(course.interval, course.ends_at - at)
        await flow(course.server, traffic, chance, course.settings.context_tokens, seconds)
        course.rates.append((traffic.tokens - tokens) / max(time.monotonic() - at, 1e-3))
        course.gone = traffic.gone
        failed = not course.gone and await _guards(course, number)
        course.show()
        say(_line(course, number))
        if failed:
            warn("a guard failed: the soak ends here, with what it has found")
            return
    if course.gone:
        warn("the server answers no more: nothing more is asked, what was found is kept")


async def _guards(course: Soak, number: int) -> bool:
    """Whether one failed. The others of the round are asked nevertheless: they say what else is wrong."""
    settings, status = course.settings, course.status
    budget = settings.quick_seconds
    steps = Course(settings, course.server, status, f"{course.salt}-{number}", budget, time.monotonic() + budget)
    failed = False
    for name, guard in course.guards:
        # A step's share of the time is that of the steps that are left.
        status.total = len(status.results) + len(status.measures) + len(course.guards)
        result = await steps.guard(name, guard)
        status.results.pop()
        course.rounds.setdefault(name, []).append(result)
        course.show()
        failed = failed or result.verdict == "failed"
        if steps.over:
            course.gone = True
            break
    return failed


def merged(rounds: Sequence[Result]) -> Result:
    """One result for all rounds of a guard: the first of the worst, and how often it was how."""
    worst = min((result.verdict for result in rounds), key=WORST.index)
    first = next(number for number, result in enumerate(rounds) if result.verdict == worst)
    chosen = rounds[first]
    counts = {verdict: sum(result.verdict == verdict for result in rounds) for verdict in WORST}
    words = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    findings = tuple(Finding(each.what, f"round {first + 1}, {each.where}", each.evidence) for each in chosen.findings)
    return Result(
        chosen.guard,
        worst,
        f"{len(rounds)} rounds: {words}; round {first + 1}: {chosen.summary}",
        findings,
        chosen.proofs,
        chosen.figures,
        sum(result.seconds for result in rounds),
    )


def _line(course: Soak, number: int) -> str:
    guards = ", ".join(f"{name} {some[-1].verdict}" for name, some in course.rounds.items()) or "no guard"
    of = f"{course.age()} of {(course.ends_at - course.began) / 3600:.3g} h"
    return f"soak, {of}, round {number}: {course.traffic.result().summary}, {course.rates[-1]:.4g} tokens/s; {guards}"
