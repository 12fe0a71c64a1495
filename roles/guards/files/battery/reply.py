# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pieces of an answer, as the server sends them, joined to one. Nothing here reads or writes.

Every function raises KeyError, TypeError, ValueError or AttributeError for what does not have the shape of a chat
completion.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .model import Answer, Call, Question, Score


def body(model: str, question: Question) -> dict[str, Any]:
    """What is posted to /v1/chat/completions."""
    asked: dict[str, Any] = {
        "model": model,
        "messages": [dict(message) for message in question.messages],
        "max_tokens": question.max_tokens,
        "temperature": question.temperature,
        "stream": question.stream,
    }
    if question.stream:
        asked["stream_options"] = {"include_usage": True}
    if question.tools:
        asked["tools"] = [dict(tool) for tool in question.tools]
    if question.logprobs is not None:
        asked |= {"logprobs": True, "top_logprobs": question.logprobs}
    return asked | dict(question.extra)


def complaint(data: Any) -> str | None:
    """What an error object says, in both shapes that vLLM has had; none for anything else."""
    if not isinstance(data, dict):
        return None
    error = data.get("error")
    if error is None and data.get("object") == "error":
        error = data
    if isinstance(error, dict):
        return str(error.get("message") or error)
    return None if error is None else str(error)


@dataclass
class Joined:
    """An answer that is coming in."""

    sent_at: float
    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: dict[int, tuple[str, str]] = field(default_factory=dict)
    scores: list[Score] = field(default_factory=list)
    arrivals: list[float] = field(default_factory=list)
    finish_reason: str | None = None
    usage: Mapping[str, Any] | None = None

    def take(self, data: Mapping[str, Any], now: float) -> None:
        """A chunk of a stream, or a whole answer."""
        for choice in data["choices"]:
            if self._say(choice.get("delta") or choice.get("message") or {}):
                self.arrivals.append(now)
            self.scores += [_score(entry) for entry in (choice.get("logprobs") or {}).get("content") or ()]
            self.finish_reason = choice.get("finish_reason") or self.finish_reason
        self.usage = data.get("usage") or self.usage

    def _say(self, said: Mapping[str, Any]) -> bool:
        """Whether there was anything in it. vLLM may send the same reasoning under both of its names."""
        content = said.get("content") or ""
        reasoning = said.get("reasoning_content") or said.get("reasoning") or ""
        calls = said.get("tool_calls") or ()
        self.content.append(content)
        self.reasoning.append(reasoning)
        for place, piece in enumerate(calls):
            function = piece.get("function") or {}
            index = piece.get("index", place)
            name, arguments = self.calls.get(index, ("", ""))
            self.calls[index] = (name + (function.get("name") or ""), arguments + (function.get("arguments") or ""))
        return bool(content or reasoning or calls)

    def answer(self, ended_at: float) -> Answer:
        """ValueError without usage: token counts are the server's, never guessed."""
        if self.usage is None:
            raise ValueError("no usage")
        return Answer(
            content="".join(self.content),
            reasoning="".join(self.reasoning),
            calls=tuple(Call(*self.calls[index]) for index in sorted(self.calls)),
            finish_reason=self.finish_reason,
            prompt_tokens=int(self.usage["prompt_tokens"]),
            cached_tokens=(self.usage.get("prompt_tokens_details") or {}).get("cached_tokens"),
            completion_tokens=int(self.usage["completion_tokens"]),
            scores=tuple(self.scores),
            sent_at=self.sent_at,
            first_at=self.arrivals[0] if self.arrivals else None,
            ended_at=ended_at,
            arrivals=tuple(self.arrivals),
        )


def _score(entry: Mapping[str, Any]) -> Score:
    others = tuple((str(other["token"]), _logprob(other)) for other in entry.get("top_logprobs") or ())
    return Score(str(entry["token"]), _logprob(entry), others)


def _logprob(entry: Mapping[str, Any]) -> float:
    """JSON has no NaN: a server whose logits are NaN says null."""
    value = entry["logprob"]
    return math.nan if value is None else float(value)
