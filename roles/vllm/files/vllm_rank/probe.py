# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does it still generate? A pure judge, and two questions to the API that it is told the answers of."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from dataclasses import dataclass

from .config import Api, Limits

MOVING = (
    "vllm:generation_tokens_total",
    "vllm:prompt_tokens_total",
    "vllm:iteration_tokens_total_sum",
    "vllm:iteration_tokens_total_count",
)
OPEN = ("vllm:num_requests_running", "vllm:num_requests_waiting")
MOST_BYTES = 16 * 1024 * 1024
STRIKES = 2
LAPSE_SECONDS = 1.0  # between two ticks


@dataclass(frozen=True)
class Figures:
    """Of /metrics: sums over the engines."""

    counters: tuple[float, ...]
    open: float  # requests that run or wait


@dataclass(frozen=True)
class Answer:
    """token: one was generated. figures: /health is well, /metrics was read. failed: 5xx, or nobody answers.
    late: nothing within the limit. other: it answers, and not with a token."""

    question: str  # look or token
    kind: str
    detail: str = ""
    figures: Figures | None = None


@dataclass(frozen=True)
class Sick:
    reason: str
    detail: str


def figures(text: str) -> Figures:
    """Read the Prometheus text."""
    sums: dict[str, float] = dict.fromkeys((*MOVING, *OPEN), 0.0)
    for line in text.splitlines():
        name = line.split("{", 1)[0].split(" ", 1)[0]
        if name in sums:
            sums[name] += float(line.rsplit("}", 1)[-1].removeprefix(name).split()[0])
    return Figures(tuple(sums[name] for name in MOVING), sum(sums[name] for name in OPEN))


class Judge:
    """Says what to ask, and when it is enough. Nothing here reads or writes."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.serving = False
        self._asked = {"look": float("-inf"), "token": float("-inf")}
        self._open: set[str] = set()  # questions without an answer
        self._strikes = {"look": 0, "token": 0}
        self._figures: Figures | None = None
        self._idle = False  # at the last look nothing had moved, and nothing was asked of it
        self._ticked = float("inf")
        self._still: float | None = None  # since when something is asked and nothing moves

    def begin(self, now: float) -> None:
        """The first token is there: from now on a stall is one."""
        self.serving = True
        self._asked["token"] = now
        self._strikes = {"look": 0, "token": 0}

    def due(self, now: float) -> list[str]:
        """Questions for now. They count as asked."""
        wanted = {
            "look": self.serving and self._after("look", now, self.limits.beat_seconds),
            "token": self._token_due(now),
        }
        due = [question for question, want in wanted.items() if want and question not in self._open]
        for question in due:
            self._asked[question] = now
            self._open.add(question)
        return due

    def _token_due(self, now: float) -> bool:
        if not self.serving or self._strikes["token"]:
            return self._after("token", now, self.limits.beat_seconds)
        if self._still is not None:  # halfway to a stall, ask for a token: if that moves anything, it is none
            return now - self._still >= self.limits.stall_seconds / 2 and self._asked["token"] < self._still
        return self._idle and self._after("token", now, self.limits.probe_seconds)

    def _after(self, question: str, now: float, seconds: float) -> bool:
        return now - self._asked[question] >= seconds

    def answered(self, answer: Answer, now: float) -> Sick | None:
        self._open.discard(answer.question)
        if not self.serving:
            return None
        if answer.kind == "failed":
            self._strikes[answer.question] += 1
            if self._strikes[answer.question] >= STRIKES:
                return Sick("engine_dead", f"the API failed {STRIKES} times in a row: {answer.detail}")
            return None
        if answer.kind != "late":
            self._strikes[answer.question] = 0
        if answer.kind == "token":
            self._still = None
        elif answer.question == "look":
            self._looked(answer.figures)
        return self.tick(now)

    def _looked(self, seen: Figures | None) -> None:
        """A look that came too late shows no movement, and does not show that nothing is asked."""
        before, self._figures = self._figures, seen or self._figures
        moved = seen is not None and (before is None or seen.counters != before.counters)
        busy = seen is None or seen.open > 0 or "token" in self._open
        self._idle = not moved and not busy
        if moved or not busy:
            self._still = None
        elif self._still is None:
            self._still = self._asked["look"]

    def _forgive(self, now: float) -> None:
        """Time in which this program itself stood still is nobody's stall."""
        lapse, self._ticked = now - self._ticked, now
        if lapse > LAPSE_SECONDS:
            self._asked = {question: at + lapse for question, at in self._asked.items()}
            self._still = None if self._still is None else self._still + lapse

    def tick(self, now: float) -> Sick | None:
        """The clock runs also while a look has no answer."""
        self._forgive(now)
        if not self.serving:
            return None
        since = self._still
        if since is None and "look" in self._open and self._after("look", now, self.limits.probe_seconds):
            since = self._asked["look"]
        if since is None or now - since < self.limits.stall_seconds:
            return None
        if self._still is None:
            return Sick("stalled", f"the API has not said how it is for {now - since:.0f} s")
        asked = "the keeper's own" if "token" in self._open else "a"
        return Sick("stalled", f"no counter moved for {now - since:.0f} s although {asked} request waits")


def look(api: Api, seconds: float) -> Answer:
    """/health, then /metrics. The first knows of some deaths, the second shows whether anything moves."""
    failed = _get("look", api, "/health", None, seconds)
    if isinstance(failed, Answer):
        return failed
    text = _get("look", api, "/metrics", None, seconds)
    if isinstance(text, Answer):
        return text
    try:
        return Answer("look", "figures", figures=figures(text.decode("utf-8", "replace")))
    except (ValueError, IndexError):
        return Answer("look", "other", "/metrics is not what Prometheus reads")


def ask_token(api: Api, seconds: float) -> Answer:
    """One token."""
    body = json.dumps({"model": api.model, "prompt": "1", "max_tokens": 1, "temperature": 0}).encode()
    said = _get("token", api, "/v1/completions", body, seconds)
    if isinstance(said, Answer):
        return said
    try:
        made = json.loads(said)["usage"]["completion_tokens"]
        if isinstance(made, int) and made >= 1:
            return Answer("token", "token")
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    return Answer("token", "other", "/v1/completions answered without a token")


def _get(question: str, api: Api, path: str, body: bytes | None, seconds: float) -> bytes | Answer:
    """What it says, or why not. No proxy of the environment comes between, and the key goes into no message."""
    headers = {"Authorization": f"Bearer {api.key}"} | ({"Content-Type": "application/json"} if body else {})
    request = urllib.request.Request(api.url + path, data=body, headers=headers)  # noqa: S310 (config.py allows http and https)
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=seconds) as answer:
            said: bytes = answer.read(MOST_BYTES)
            return said
    except urllib.error.HTTPError as error:
        with error:
            return Answer(question, "failed" if error.code >= 500 else "other", f"{path} answered {error.code}")
    except (OSError, http.client.HTTPException) as error:
        cause = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(cause, TimeoutError):
            return Answer(question, "late", f"{path} did not answer within {seconds:g} s")
        text = cause.strerror if isinstance(cause, OSError) and cause.strerror else type(cause).__name__
        return Answer(question, "failed", f"{path}: {text}")
