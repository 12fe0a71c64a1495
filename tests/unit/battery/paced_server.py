# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server of a fixed pace, in a time of its own: nothing waits, and every figure is known beforehand."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from battery.model import Answer, Counters, Question, ServerError

BLOCK = 16


@dataclass(eq=False)
class PacedServer:
    """Decodes and prefills at a pace. A word is a token. `fails_at` are the numbers of requests that fail."""

    tokens_per_second: float = 50.0
    prefill_per_second: float = 5000.0
    caches: bool = True
    chunks: int | None = None  # of an answer; each token is one without
    burst: bool = False  # all chunks come at the end
    short: int | None = None  # tokens after which the model ends by itself
    says_more: float = 1.0  # by what the usage is wrong
    kv_tokens: int | None = 4_241_096
    fails_at: frozenset[int] = frozenset()
    now: float = 100.0
    generated: float = 0.0
    prompts: float = 0.0
    hits: float = 0.0
    running: int = 0
    asked: list[Question] = field(default_factory=list)
    known: list[list[str]] = field(default_factory=list)

    async def tokens(self, text: str) -> int:
        return len(text.split())

    async def counters(self) -> Counters:
        return Counters(
            at=self.now,
            running=self.running,
            waiting=0,
            generated_tokens=self.generated,
            prompt_tokens=self.prompts,
            prefix_queries=self.prompts,
            prefix_hits=self.hits,
            preemptions=0,
            kv_tokens=self.kv_tokens,
        )

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question)
        if len(self.asked) in self.fails_at:
            raise ServerError("no connection; systemctl status vllm@lab.service says whether it serves")
        self.running += 1
        sent = self.now
        await asyncio.sleep(0)
        words = [word for message in question.messages for word in str(message["content"]).split()]
        cached = max((common(words, known) for known in self.known), default=0) // BLOCK * BLOCK
        cached = cached if self.caches else 0
        self.known.append(words)
        made = question.max_tokens if self.short is None else min(question.max_tokens, self.short)
        first = sent + (len(words) - cached) / self.prefill_per_second
        ended = first + (made - 1) / self.tokens_per_second
        self.prompts, self.hits, self.generated = self.prompts + len(words), self.hits + cached, self.generated + made
        self.now, self.running = max(self.now, ended), self.running - 1
        chunks = min(made, self.chunks or made)
        came = [
            ended if self.burst else first + (ended - first) * place / max(1, chunks - 1) for place in range(chunks)
        ]
        return Answer(
            content="word " * made,
            finish_reason="length" if made == question.max_tokens else "stop",
            prompt_tokens=len(words),
            completion_tokens=int(made * self.says_more),
            sent_at=sent,
            first_at=came[0] - (1e-3 if self.burst else 0.0),
            ended_at=ended,
            arrivals=tuple(came),
        )


def common(one: list[str], other: list[str]) -> int:
    length = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        length += 1
    return length
