# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mixed traffic, as users make it: short and long, alone and together, with and without thinking."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass, field

from .model import Answer, Finding, Question, Result, Server, ServerError, Verdict
from .speed.text import text
from .stopping import stopped

NAME = "traffic"
MOST_AT_ONCE = 4
MOST_WORDS, MOST_TOKENS = 12_000, 1_024
MOST_FINDINGS = 20
GONE = 3  # times in a row that nothing was answered, after which nothing more is asked
PAUSE_SECONDS = 1.0
TOPICS = ("tides", "bridges", "bread", "glaciers", "clocks", "bees", "maps", "railways", "volcanoes", "chess")


@dataclass
class Traffic:
    """What was asked so far. Seconds are those in which something was asked."""

    requests: int = 0
    failed: int = 0
    tokens: int = 0
    thought: int = 0
    most_at_once: int = 0
    seconds: float = 0.0
    in_a_row: int = 0
    findings: list[Finding] = field(default_factory=list)

    @property
    def gone(self) -> bool:
        return self.in_a_row >= GONE

    def result(self) -> Result:
        """A request that fails while others are answered is a fault; a server that answers none is not there."""
        words = f"{self.requests} requests, {self.failed} failed, {self.tokens:,} tokens generated"
        figures = {
            "requests": float(self.requests),
            "requests_failed": float(self.failed),
            "tokens": float(self.tokens),
            "answers_with_thinking": float(self.thought),
            "requests_at_once": float(self.most_at_once),
        }
        if self.requests == self.failed:
            last = f": {self.findings[-1].evidence}" if self.findings else ""
            return Result(NAME, "unknown", words + last, figures=figures, seconds=self.seconds)
        verdict: Verdict = "failed" if self.failed else "passed"
        return Result(NAME, verdict, words, tuple(self.findings), figures=figures, seconds=self.seconds)


def question(chance: random.Random, context_tokens: int) -> Question:
    """A request that fits: a text takes less than half of the context, an answer less than a quarter."""
    thinking = chance.random() < 1 / 3
    extra = {"chat_template_kwargs": {"enable_thinking": thinking, "thinking": thinking}}
    topic = chance.choice(TOPICS)
    match chance.randrange(3):
        case 0:
            asked, tokens = f"In three sentences: what should everybody know about {topic}?", 96
        case 1:
            words = chance.randint(1, max(1, min(MOST_WORDS, context_tokens // 4)))
            long = text(f"traffic {chance.randrange(10**9)}", words)
            asked, tokens = f"{long}\n\nIn two sentences: what is this report about?", 96
        case _:
            asked, tokens = f"Write an article about {topic}, with an example and a short history.", MOST_TOKENS
    return Question.plain(asked, max(1, min(tokens, context_tokens // 4)), temperature=0.7, extra=extra)


async def flow(server: Server, traffic: Traffic, chance: random.Random, context_tokens: int, seconds: float) -> None:
    """One to four requests at once, again and again until the time is over. What is begun is waited for."""
    began = time.monotonic()
    while time.monotonic() < began + seconds and not traffic.gone:
        at = time.monotonic()
        asked = [question(chance, context_tokens) for _number in range(chance.randint(1, MOST_AT_ONCE))]
        tasks = [asyncio.create_task(_ask(server, each)) for each in asked]
        try:
            answers = await asyncio.gather(*tasks)
        finally:
            await stopped(*tasks)
        _count(traffic, answers)
        traffic.seconds += time.monotonic() - at
        if traffic.in_a_row:
            await asyncio.sleep(PAUSE_SECONDS)


async def _ask(server: Server, asked: Question) -> Answer | ServerError:
    try:
        return await server.ask(asked)
    except ServerError as error:
        return error


def _count(traffic: Traffic, answers: list[Answer | ServerError]) -> None:
    traffic.most_at_once = max(traffic.most_at_once, len(answers))
    errors = 0
    for answer in answers:
        traffic.requests += 1
        if isinstance(answer, ServerError):
            errors += 1
            if len(traffic.findings) < MOST_FINDINGS:
                traffic.findings.append(Finding("a request failed", f"request {traffic.requests}", str(answer)))
            continue
        traffic.tokens += answer.completion_tokens
        traffic.thought += bool(answer.reasoning)
    traffic.failed += errors
    traffic.in_a_row = traffic.in_a_row + 1 if errors == len(answers) else 0
