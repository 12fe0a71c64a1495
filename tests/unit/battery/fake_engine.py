# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An engine in memory, for the guards: steps, a prefix cache of blocks, drafts, counters, and faults that come and go.

It has a time of its own: `played` runs a coroutine in it, and nothing waits.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from battery.model import Answer, Call, Counters, Question, Score, ServerError

from tests.unit.battery.fake_model import answered, called, pieces, rendered

STEP_SECONDS, PREFILL_A_SECOND = 0.02, 20_000
DRAFTED = 5
ACCEPTED = {"collapse": (1, *[0] * 11), "disagree": (0,), "unforeseen": (1, 2, 0, 0, 3), "": (5, 4, 5, 3, 5)}
PROMPT, TOGETHER, LONG, SHORT = 64, 3, 600, 200  # tokens and prompts from which the faults are, as in the lab's
SHARP, SOFT = -0.0001, (-0.74, -1.49)
MARKUP = "<|DSML|tool_calls>"


class _Skipping(selectors.DefaultSelector):
    """Waits for nothing: the time goes on instead."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return super().select(0)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.skipping = _Skipping()
        super().__init__(self.skipping)

    def time(self) -> float:
        return self.skipping.now


def played[T](coroutine: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(coroutine)


@dataclass(eq=False)
class _Request:
    question: Question
    tokens: list[str]
    blocks: list[int]
    sent_at: float
    done: asyncio.Future[Answer]
    cached: int = 0
    first_at: float | None = None
    call: Call | None = None
    answer: list[str] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)
    arrivals: list[float] = field(default_factory=list)


@dataclass(eq=False)
class FakeEngine:
    """`faults` are looked at in every step. `prompts_a_step` is how many prompts are taken in at a time."""

    faults: set[str] = field(default_factory=set)
    knows: Mapping[str, str] = field(default_factory=dict)
    most_running: int = 12
    prompts_a_step: int = 12
    block: int = 128
    caches: bool = True
    drafts: bool = True
    scores: bool = True
    context: int = 10**9
    fails_at: int | None = None
    asked: list[Question] = field(default_factory=list)
    waiting: list[_Request] = field(default_factory=list)
    running: list[_Request] = field(default_factory=list)
    cache: dict[int, bool] = field(default_factory=dict)  # whether a block's content is lost
    mixed: bool = False
    steps: int = 0
    counts: dict[str, float] = field(default_factory=lambda: dict.fromkeys(("generated", "prompts", "hits"), 0.0))
    accepted_at: list[float] = field(default_factory=lambda: [0.0] * DRAFTED)
    drafted: float = 0.0
    worker: asyncio.Task[None] | None = None

    async def tokens(self, text: str) -> int:
        return len(pieces(text))

    async def counters(self) -> Counters:
        on = self.drafts
        return Counters(
            at=asyncio.get_running_loop().time(),
            running=float(len(self.running)),
            waiting=len(self.waiting),
            generated_tokens=self.counts["generated"],
            prompt_tokens=self.counts["prompts"],
            prefix_queries=self.counts["prompts"],
            prefix_hits=self.counts["hits"],
            preemptions=0,
            drafts=self.drafted if on else None,
            draft_tokens=self.drafted * DRAFTED if on else None,
            accepted_tokens=sum(self.accepted_at) if on else None,
            accepted_at=tuple(self.accepted_at) if on else (),
        )

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question)
        loop = asyncio.get_running_loop()
        tokens = pieces(rendered(question.messages))
        if len(self.asked) == self.fails_at:
            raise ServerError("no connection; systemctl status vllm@lab.service says whether it serves")
        if len(tokens) + question.max_tokens > self.context:
            raise ServerError(f"status 400: {len(tokens)} tokens, the context is {self.context}")
        blocks, name = [], 0
        for start in range(0, len(tokens) - self.block, self.block):
            name = hash((name, *tokens[start : start + self.block]))
            blocks.append(name)
        request = _Request(question, tokens, blocks, loop.time(), loop.create_future())
        self.waiting.append(request)
        if self.worker is None or self.worker.done():
            self.worker = loop.create_task(self._work())
        try:
            return await request.done
        finally:
            for queue in (self.waiting, self.running):
                if request in queue:
                    queue.remove(request)

    async def _work(self) -> None:
        while self.waiting or self.running:
            new = self.waiting[: min(self.prompts_a_step, self.most_running - len(self.running))]
            del self.waiting[: len(new)]
            self.running += new
            for request in new:
                self._take_in(request)
            fresh = sum(len(request.tokens) - request.cached for request in new)
            await asyncio.sleep(STEP_SECONDS + fresh / PREFILL_A_SECOND)
            self._step([request for request in new if not request.done.done()])

    def _take_in(self, request: _Request) -> None:
        """What the prefix cache has of a prompt."""
        held = 0
        while self.caches and held < len(request.blocks) and request.blocks[held] in self.cache:
            held += 1
        request.cached = held * self.block
        self.counts["prompts"] += len(request.tokens)
        self.counts["hits"] += request.cached
        if held and "stale" in self.faults:
            self.cache[request.blocks[held - 1]] = True

    def _step(self, new: list[_Request]) -> None:
        self.steps += 1
        for request in new:
            for name in request.blocks:
                self.cache.setdefault(name, False)
        fresh = [request for request in new if len(request.tokens) - request.cached >= PROMPT and request.blocks]
        if "zeroer" in self.faults and len(fresh) >= TOGETHER:
            for request in fresh[1:]:
                self.cache[request.blocks[len(request.blocks) // 2]] = True
        contexts = [len(request.tokens) + len(request.arrivals) for request in self.running]
        if sum(length > LONG for length in contexts) >= TOGETHER and any(length < SHORT for length in contexts):
            self.mixed = True
        for request in new:
            self._read(request)
        for request in list(self.running):
            self._emit(request)

    def _read(self, request: _Request) -> None:
        """The answer, from what is left of the prompt."""
        lost = [self.cache.get(name, False) for name in request.blocks]
        seen = [
            "" if place // self.block < len(lost) and lost[place // self.block] else token
            for place, token in enumerate(request.tokens)
        ]
        request.call = None if "no call" in self.faults else called(request.question)
        request.answer = [""] if request.call else answered(request.question, seen, self.knows, self.faults)
        if "cut prose" in self.faults and len(request.answer) > 3:
            request.answer[2] += "\N{REPLACEMENT CHARACTER} "
        if request.question.extra.get("ignore_eos"):
            request.answer += [" on"] * request.question.max_tokens
        del request.answer[request.question.max_tokens :]

    def _emit(self, request: _Request) -> None:
        """The tokens of a step: one, and the drafts that were right."""
        many = 1
        if self.drafts and request.first_at is not None:
            kind = next((name for name in ACCEPTED if name in self.faults), "")
            right = ACCEPTED[kind][self.steps % len(ACCEPTED[kind])]
            self.drafted += 1
            for place in range(right):
                self.accepted_at[place] += 1
            many += right
        now = asyncio.get_running_loop().time()
        request.first_at = now if request.first_at is None else request.first_at
        request.arrivals.append(now)
        for place in range(len(request.scores), min(len(request.scores) + many, len(request.answer))):
            if "markup" in self.faults and (self.steps + place) % 7 == 0:
                request.answer[place] = MARKUP
            alone = len(self.running) == 1 and self.mixed and "solo" in self.faults
            lowest = SOFT[place % 2] if alone else SHARP
            others = ((request.answer[place], lowest), ("other", lowest - 1.0)) if self.scores else ()
            request.scores.append(Score(request.answer[place], lowest, others))
            self.counts["generated"] += 1
        if len(request.scores) >= len(request.answer):
            self.running.remove(request)
            request.done.set_result(self._answer(request, now))

    def _answer(self, request: _Request, now: float) -> Answer:
        cut = len(request.answer) == request.question.max_tokens
        return Answer(
            content="".join(request.answer),
            calls=(request.call,) if request.call else (),
            finish_reason="tool_calls" if request.call else "length" if cut else "stop",
            prompt_tokens=len(request.tokens),
            completion_tokens=len(request.scores),
            scores=tuple(request.scores) if request.question.logprobs else (),
            sent_at=request.sent_at,
            first_at=request.first_at,
            ended_at=now,
            arrivals=tuple(request.arrivals),
        )
