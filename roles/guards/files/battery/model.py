# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the parts of the battery hand to each other: questions, answers, the server's counters, and results.

Times are seconds of the monotonic clock, except those that are called `wall`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

# `not exercised`: it ran, and could not prove that it had what its fault needs. `not asked`: the recipe leaves it out.
# `unknown`: the server or its journals could not be asked.
Verdict = Literal["passed", "failed", "not exercised", "not asked", "unknown"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: what, where (document and block, pass, request), the text or figures that show it."""

    what: str
    where: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Proof:
    """What a guard needs to have had, so that it can see its fault: 3 requests at once, say, and how many it saw."""

    what: str
    seen: float
    needed: float

    @property
    def met(self) -> bool:
        return self.seen >= self.needed


@dataclass(frozen=True, slots=True)
class Result:
    """What a guard says. Figures carry their unit in the name: `reads`, `margin_alone`, `seconds_per_needle`."""

    guard: str
    verdict: Verdict
    summary: str
    findings: tuple[Finding, ...] = ()
    proofs: tuple[Proof, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0


def judged(
    guard: str,
    summary: str,
    findings: tuple[Finding, ...] = (),
    proofs: tuple[Proof, ...] = (),
    figures: Mapping[str, float] | None = None,
) -> Result:
    """The verdict from findings and proofs: a finding fails whatever was proved, and a pass needs every proof."""
    verdict: Verdict = "failed" if findings else "passed" if all(proof.met for proof in proofs) else "not exercised"
    return Result(guard, verdict, summary, findings, proofs, figures or {})


@dataclass(frozen=True, slots=True)
class Question:
    """A chat request. Temperature 0 unless sampling is what is asked about."""

    messages: tuple[Mapping[str, Any], ...]
    max_tokens: int
    temperature: float = 0.0
    tools: tuple[Mapping[str, Any], ...] = ()
    # How many alternatives of each token are asked for with their log-probabilities; none without.
    logprobs: int | None = None
    stream: bool = True
    # Whatever else belongs into the body: chat_template_kwargs, stop, seed.
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def plain(cls, text: str, max_tokens: int, **more: Any) -> Question:
        return cls(({"role": "user", "content": text},), max_tokens, **more)


@dataclass(frozen=True, slots=True)
class Score:
    """A token that was generated, its log-probability, and those of the best alternatives."""

    token: str
    logprob: float
    others: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as the server parsed it; `arguments` is the text, which should be JSON."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer, its parts joined. Token counts are those of the server's usage."""

    content: str
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    finish_reason: str | None = None
    prompt_tokens: int = 0
    # Of the prompt, those that the prefix cache had; none when the server does not say.
    cached_tokens: int | None = None
    completion_tokens: int = 0
    scores: tuple[Score, ...] = ()
    sent_at: float = 0.0
    # The first chunk that carried text, reasoning or a call; none when nothing came.
    first_at: float | None = None
    ended_at: float = 0.0
    # When each chunk that carried something came: one chunk may hold many tokens.
    arrivals: tuple[float, ...] = ()

    @property
    def ttft(self) -> float | None:
        """Seconds until the first token."""
        return None if self.first_at is None else self.first_at - self.sent_at

    @property
    def decode_seconds(self) -> float:
        """Seconds from the first token to the end."""
        return 0.0 if self.first_at is None else self.ended_at - self.first_at

    def overlaps(self, other: Answer) -> bool:
        """Whether both were generating tokens at the same time."""
        if self.first_at is None or other.first_at is None:
            return False
        return self.first_at < other.ended_at and other.first_at < self.ended_at


@dataclass(frozen=True, slots=True)
class Counters:
    """What /metrics says at one moment, summed over engines. Counts grow from the start of the server."""

    at: float
    running: float
    waiting: float
    generated_tokens: float
    prompt_tokens: float
    prefix_queries: float
    prefix_hits: float
    preemptions: float
    # Of speculative decoding; none without it. `accepted_at` is by position of the draft.
    drafts: float | None = None
    draft_tokens: float | None = None
    accepted_tokens: float | None = None
    accepted_at: tuple[float, ...] = ()
    # From vllm:cache_config_info; none where it is not said.
    kv_tokens: int | None = None
    block_tokens: int | None = None


class Server(Protocol):
    """The server that is judged. All three raise `ServerError` when it cannot be asked."""

    async def ask(self, question: Question) -> Answer:
        """The answer to a chat request."""

    async def counters(self) -> Counters:
        """What /metrics says now."""

    async def tokens(self, text: str) -> int:
        """How many tokens the server makes of a text."""


class ServerError(Exception):
    """The server could not be asked: what was asked, what came, and what to do, in one line."""


@dataclass(frozen=True, slots=True)
class Guards:
    """Thresholds of the recipe, by the names that recipes use (docs/recipes.md). Null or none leaves a guard out."""

    count_to: int
    count_runs: int
    acceptance_least: float | None
    acceptance_collapse: float | None
    corruption_passes: int
    documents: int
    documents_least: int
    block_tokens: int
    margin_least: float
    needle_tokens: tuple[int, ...]
    needles: int
    needle_depths_percent: tuple[int, ...]
    tool_calls: int
    smoke_cases: int | None
    images: bool
    video: bool
    preemptions_most: int
    stall_seconds: int


@dataclass(frozen=True, slots=True)
class Task:
    """What a guard is told: the recipe's thresholds, the longest context, how thorough, where its chance comes from.

    `quick` bounds what takes long: fewer documents' blocks, needles below 50,000 tokens, one pass. `salt` makes texts
    unique to a run, so that no prefix cache answers for the engine; the same salt makes the same texts.
    `budget_seconds` bounds the guard as a whole: what it did not come to is said, and is not passed.
    """

    guards: Guards
    context_tokens: int
    quick: bool
    salt: str
    budget_seconds: float
