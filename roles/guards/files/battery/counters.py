# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What /metrics of vLLM says, read with Prometheus' own parser."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping

from prometheus_client.parser import text_string_to_metric_families

from .model import Counters, ServerError

# By the fields of Counters. vLLM has all of them from its start, at 0.
ALWAYS: Mapping[str, str] = {
    "running": "vllm:num_requests_running",
    "waiting": "vllm:num_requests_waiting",
    "generated_tokens": "vllm:generation_tokens",
    "prompt_tokens": "vllm:prompt_tokens",
    "prefix_queries": "vllm:prefix_cache_queries",
    "prefix_hits": "vllm:prefix_cache_hits",
    "preemptions": "vllm:num_preemptions",
}
# Only with speculative decoding.
DRAFTING: Mapping[str, str] = {
    "drafts": "vllm:spec_decode_num_drafts",
    "draft_tokens": "vllm:spec_decode_num_draft_tokens",
    "accepted_tokens": "vllm:spec_decode_num_accepted_tokens",
}
ACCEPTED_AT = "vllm:spec_decode_num_accepted_tokens_per_pos"
CACHE = "vllm:cache_config_info"
WANTED = frozenset((*ALWAYS.values(), *DRAFTING.values(), ACCEPTED_AT, CACHE))
MANY = 5


def counters(text: str, at: float) -> Counters:
    """Sums over the engines. Histograms and others' metrics are left out before the parser, which is slow."""
    sums: dict[str, float] = defaultdict(float)
    accepted_at: dict[int, float] = defaultdict(float)
    caches: list[Mapping[str, str]] = []
    try:
        for family in text_string_to_metric_families("".join(f"{line}\n" for line in text.split("\n") if wanted(line))):
            for sample in family.samples:
                name = sample.name.removesuffix("_total")
                if not math.isfinite(sample.value):
                    raise ValueError(f"{name} is {sample.value}")  # noqa: TRY301
                sums[name] += sample.value
                if name == ACCEPTED_AT:
                    accepted_at[int(sample.labels["position"])] += sample.value
                elif name == CACHE:
                    caches.append(sample.labels)
    except Exception as error:  # the parser promises no kind of error
        raise ServerError(
            f"GET /metrics: what came is not what Prometheus reads ({type(error).__name__}: {_line(error)}), "
            "expected the metrics of vLLM: look at what listens on this port"
        ) from error
    missing = [name for name in ALWAYS.values() if name not in sums]
    if missing:
        more = f" and {len(missing) - MANY} more" if len(missing) > MANY else ""
        raise ServerError(
            f"GET /metrics: {', '.join(missing[:MANY])}{more} missing, expected the metrics of vLLM: "
            "start it without --disable-log-stats, and look at what listens on this port"
        )
    return Counters(
        at=at,
        **{field: sums[name] for field, name in ALWAYS.items()},
        drafts=sums.get(DRAFTING["drafts"]),
        draft_tokens=sums.get(DRAFTING["draft_tokens"]),
        accepted_tokens=sums.get(DRAFTING["accepted_tokens"]),
        accepted_at=tuple(accepted_at[position] for position in range(max(accepted_at, default=-1) + 1)),
        kv_tokens=_kv_tokens(caches),
        block_tokens=next(filter(None, (_whole(cache, "block_size") for cache in caches)), None),
    )


def wanted(line: str) -> bool:
    """Whether a line of /metrics is a sample that is read here."""
    return line.startswith("vllm:") and line.split("{", 1)[0].split(" ", 1)[0].removesuffix("_total") in WANTED


def _kv_tokens(caches: list[Mapping[str, str]]) -> int | None:
    """All engines' caches. The server's own figure, else blocks times their size."""
    sizes = []
    for cache in caches:
        blocks, block = _whole(cache, "num_gpu_blocks"), _whole(cache, "block_size")
        size = _whole(cache, "kv_cache_size_tokens") or (blocks * block if blocks and block else None)
        if size is None:
            return None
        sizes.append(size)
    return sum(sizes) if sizes else None


def _whole(labels: Mapping[str, str], name: str) -> int | None:
    """A label that is a whole number: vLLM writes `None` for what it did not resolve."""
    text = labels.get(name, "")
    return int(text) if text.isdecimal() else None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
