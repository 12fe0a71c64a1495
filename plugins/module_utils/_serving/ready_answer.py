# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""What a server answered: whether a token was generated, and what the server resolved."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from .metrics import meaning, samples

CACHE = "vllm:cache_config_info"
LABELS = (
    "block_size",
    "cache_dtype",
    "num_gpu_blocks",
    "kv_cache_size_tokens",
    "kv_cache_max_concurrency",
    "kv_cache_memory_bytes",
    "enable_prefix_caching",
)
"""Of the metric's labels those that are always returned."""
LONGEST = 400


@dataclass(frozen=True, slots=True)
class Answer:
    """Of HTTP. C(status) is 0 when there was none; C(error) then says why."""

    status: int = 0
    body: str = ""
    error: str = ""


class Http(Protocol):
    """Asks a server; every failure is an answer."""

    def ask(self, url: str, seconds: float, data: Mapping[str, Any] | None = None) -> Answer: ...


@dataclass(frozen=True, slots=True)
class Generated:
    """What the model said. C(detail) is why it does not count; then C(text) is empty."""

    text: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)
    detail: str = ""


def generated(answer: Answer, url: str, model: str) -> Generated:
    """Judge the answer to a completion."""
    data, why = parsed(answer, url)
    if data is None:
        return Generated(detail=why)
    choices = data.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    text = first.get("text") if isinstance(first, Mapping) else None
    usage = data.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    if data.get("model") != model:
        return Generated(detail=f"{url} answered as the model {data.get('model')!r}, expected {model!r}")
    if not isinstance(text, str) or not text or usage.get("completion_tokens", 1) in (0, None):
        return Generated(detail=f"{url} answered without a token: {' '.join(answer.body.split())[:LONGEST]}")
    return Generated(text, usage)


def parsed(answer: Answer, url: str) -> tuple[Mapping[str, Any] | None, str]:
    """The object in an answer, or why there is none."""
    words = " ".join(answer.body.split())[:LONGEST]
    if not answer.status:
        return None, f"{url} did not answer: {answer.error or 'nobody knows why'}"
    if answer.status in (401, 403):
        return None, f"{url} refused the API key (HTTP {answer.status}): {words or 'no more'}"
    if answer.status != 200:
        return None, f"{url} answered HTTP {answer.status}: {words or 'no more'}"
    try:
        data = json.loads(answer.body)
    except ValueError:
        data = None
    if not isinstance(data, Mapping):
        return None, f"{url} answered what is no JSON object: {words or 'nothing'}"
    return data, ""


def resolved(http: Http, url: str, model: str, seconds: float) -> dict[str, Any]:
    """What the server made of its arguments. Unknown values are null, and C(unread) says why."""
    unread: list[str] = []
    labels = _cache(http.ask(f"{url}/metrics", seconds), f"{url}/metrics", unread)
    models, why = parsed(http.ask(f"{url}/v1/models", seconds), f"{url}/v1/models")
    version, other = parsed(http.ask(f"{url}/version", seconds), f"{url}/version")
    unread += [one for one in (why, other) if one]
    listed = (models or {}).get("data")
    rows = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    row = next((one for one in rows if one.get("id") == model), {})
    if models is not None and not row:
        unread.append(f"{url}/v1/models does not list {model!r}")
    return {
        **{name: labels.get(name) for name in LABELS},
        "id": row.get("id"),
        "root": row.get("root"),
        "max_model_len": row.get("max_model_len"),
        "version": (version or {}).get("version"),
        "labels": labels,
        "unread": unread,
    }


def _cache(answer: Answer, url: str, unread: list[str]) -> dict[str, Any]:
    """The labels of the first engine: a recipe is one."""
    if answer.status != 200:
        unread.append(f"{url} answered HTTP {answer.status}" if answer.status else f"{url}: {answer.error}")
        return {}
    found = [one.labels for one in samples(answer.body) if one.name == CACHE]
    if not found:
        unread.append(f"{url} has no {CACHE}")
        return {}
    return {name: meaning(text) for name, text in min(found, key=lambda one: one.get("engine", "")).items()}
