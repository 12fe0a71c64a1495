# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""What a server resolved against what its recipe promises."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import shown
from ansible_collections.switchless.spark.plugins.module_utils._fabric.plain import plain
from ansible_collections.switchless.spark.plugins.module_utils._nccl.version import parse as version_of
from ansible_collections.switchless.spark.plugins.module_utils._nccl.version import too_old

from .journal import number
from .resolved_ranks import Chosen, chosen

FAIL, UNKNOWN = "fail", "unknown"
GIB = 2**30
TOLERANCE = 0.03
"""vLLM sizes a pool by the memory that it finds: two starts of one recipe differ by so much."""
OWN = ("auto", "bfloat16", "float16", "float32")
"""The data types of a KV cache that a model may have by itself."""


class ExpectError(ValueError):
    """An expectation that is none."""


@dataclass(frozen=True, slots=True)
class Difference:
    """C(seen) is null when it could not be read; the severity is then C(unknown)."""

    what: str
    seen: object
    expected: object
    remedy: str
    severity: str = FAIL


def differences(
    resolved: object,
    expect: object,
    *,
    nccl: object = None,
    attention_backend: object = None,
    journals: object = None,
) -> list[dict[str, Any]]:
    """All that differs, and all that nobody could read. C(expect) is vllm_recipe's, whole or its C(expect)."""
    given, wanted = plain(resolved), plain(expect)
    if not isinstance(wanted, dict):
        raise ExpectError(f"expect is {shown(wanted)}: expected what the filter vllm_recipe gives")
    whole = wanted if isinstance(wanted.get("expect"), dict) else {}
    inner = whole["expect"] if whole else wanted
    seen: Mapping[str, Any] = given if isinstance(given, dict) else {}
    logs = plain(journals)
    ranks = _count(whole.get("tensor_parallel"))
    return [
        asdict(one)
        for part in (
            _kv(seen, inner, _on_cpu(whole, inner)),
            _plainly(seen, inner, whole),
            _dtype(seen.get("cache_dtype"), inner.get("kv_cache_dtype")),
            _backend(chosen(plain(attention_backend), logs, "backend"), inner.get("attention_backend"), ranks),
            _nccl(chosen(plain(nccl), logs, "nccl"), inner.get("nccl"), ranks),
        )
        for one in part
    ]


def _count(value: object) -> int | None:
    found = None if value is None or isinstance(value, bool) else number(value)
    return int(found) if found is not None and math.isfinite(found) else None


def _on_cpu(whole: Mapping[str, Any], expect: Mapping[str, Any]) -> bool:
    """There a variable makes the pool, and its size is told as if it were an argument."""
    runtime = whole.get("runtime")
    built = runtime.get("build") if isinstance(runtime, dict) else None
    return built == "cpu" or str(expect.get("attention_backend")).startswith("CPU_")


def _kv(seen: Mapping[str, Any], expect: Mapping[str, Any], cpu: bool) -> Iterator[Difference]:
    """The pool has to hold one request of the greatest length in any case."""
    tokens, promised = _count(seen.get("kv_cache_size_tokens")), _count(expect.get("kv_tokens"))
    longest = max((_count(one.get("max_model_len")) or 0 for one in (seen, expect)), default=0)
    least = _least(promised, expect, _count(seen.get("block_size")) or _count(expect.get("block_size")) or 1)
    if tokens is None:
        wanted = max(least or 0, longest) or None
        text = None if wanted is None else f"at least {wanted}"
        yield Difference("KV tokens", None, text, "read vllm:cache_config_info of the server's /metrics", UNKNOWN)
    elif tokens < longest:
        yield Difference(
            "KV tokens",
            tokens,
            f"at least {longest}, which is max_model_len",
            f"{_lever(seen, tokens, longest, cpu)}, or lower max_model_len to {tokens} or less",
        )
    elif least is not None and tokens < least:
        less = f" less {TOLERANCE:.0%}" if expect.get("kv_tokens_how") == "measured" else ""
        yield Difference(
            "KV tokens", tokens, f"at least {least}, the recipe's {promised}{less}", _lever(seen, tokens, least, cpu)
        )


def _least(promised: int | None, expect: Mapping[str, Any], block: int) -> int | None:
    """A figure of arithmetic may lose one block to rounding, a measured one differs from start to start."""
    if promised is None:
        return None
    if expect.get("kv_tokens_how") == "measured":
        return math.ceil(promised * (1 - TOLERANCE))
    return max(promised - block, 0)


def _lever(seen: Mapping[str, Any], tokens: int, wanted: int, cpu: bool) -> str:
    """What makes the pool larger, and how large it has to be."""
    pin = _count(seen.get("kv_cache_memory_bytes"))
    if pin and tokens:
        needed = math.ceil(pin * wanted / tokens)
        if cpu:
            return f"raise VLLM_CPU_KVCACHE_SPACE from {pin // GIB} to {math.ceil(needed / GIB)} or more"
        return f"raise kv_cache_memory_bytes from {pin} to {needed} or more"
    labels = seen.get("labels")
    share = labels.get("gpu_memory_utilization") if isinstance(labels, dict) else None
    now = f" from {share}" if share else ""
    return f"free memory on the node that has least, raise gpu_memory_utilization{now}, or set kv_cache_memory_bytes"


def _plainly(seen: Mapping[str, Any], expect: Mapping[str, Any], whole: Mapping[str, Any]) -> Iterator[Difference]:
    """What is equal or not."""
    other = "the server runs with other arguments: run the role vllm, which restarts the group with the recipe's"
    block, longest = _count(seen.get("block_size")), _count(seen.get("max_model_len"))
    rows: tuple[tuple[str, object, object, str], ...] = (
        ("block size", block, _count(expect.get("block_size")), "/metrics"),
        ("max_model_len", longest, _count(expect.get("max_model_len")), "/v1/models"),
        ("model", seen.get("id"), whole.get("served_name"), "/v1/models"),
        ("folder of the model", seen.get("root"), whole.get("model_path"), "/v1/models"),
    )
    for what, found, wanted, place in rows:
        if found is None and (wanted is not None or what == "max_model_len"):
            yield Difference(what, None, wanted, f"read {place} of the server", UNKNOWN)
        elif wanted is not None and found != wanted:
            yield Difference(what, found, wanted, other)


def _dtype(seen: object, wanted: object) -> Iterator[Difference]:
    """Whatever auto became is the model's own, and right."""
    what = "data type of the KV cache"
    if wanted in (None, "", "auto"):
        return
    if seen is None:
        yield Difference(what, None, wanted, "read vllm:cache_config_info of the server's /metrics", UNKNOWN)
    elif seen == "auto" and wanted in OWN:
        yield Difference(what, seen, wanted, f"see that the model's own data type is {wanted}", UNKNOWN)
    elif seen != wanted:
        yield Difference(what, seen, wanted, f"start it with --kv-cache-dtype {wanted}: run the role vllm")


def _backend(seen: Chosen, wanted: object, ranks: int | None) -> Iterator[Difference]:
    """A model may use several backends; the recipe's has to be among them."""
    if wanted in (None, ""):
        return
    what = "attention backend"
    yield from _unread(what, seen, wanted, ranks)
    for rank, names in seen.items():
        if names and wanted not in names:
            remedy = (
                f"set the argument attention_backend to {wanted}, and see why the journal says that it was passed over"
            )
            yield Difference(_of(what, rank), ", ".join(names), wanted, remedy)


def _nccl(seen: Chosen, wanted: object, ranks: int | None) -> Iterator[Difference]:
    """Of what is really loaded. Ranks with different ones hang, whatever the recipe says."""
    what = "NCCL"
    remedy = (
        "load the same NCCL on all ranks: see vllm_build_info and transport_info of the node, and VLLM_NCCL_SO_PATH"
    )
    versions = sorted({name for names in seen.values() for name in names})
    if len({version_of(name) for name in versions}) > 1:
        yield Difference(what, ", ".join(versions), "one version on all ranks", remedy)
    if wanted in (None, ""):
        return
    yield from _unread(what, seen, wanted, ranks)
    least = version_of(str(wanted))
    for rank, names in seen.items():
        old = [name for name in names if least is not None and too_old(name, least)]
        if old:
            yield Difference(_of(what, rank), ", ".join(old), f"{wanted} or newer", remedy)


def _unread(what: str, seen: Chosen, wanted: object, ranks: int | None) -> Iterator[Difference]:
    """The ranks of which nothing is known."""
    if "all" in seen:
        return
    needed = {*seen, *range(ranks or 0)}
    silent = sorted((rank for rank in needed if not seen.get(rank)), key=str)
    if silent or not needed:
        names = ", ".join(str(rank) for rank in silent)
        place = f"{what} of rank {names}" if silent else what
        remedy = "give the journal of each rank, of its last start, from vllm_journal_info"
        yield Difference(place, None, wanted, remedy, UNKNOWN)


def _of(what: str, rank: int | str) -> str:
    return what if rank == "all" else f"{what} of rank {rank}"
