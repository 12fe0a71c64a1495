# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Why the installed vLLM cannot serve a recipe."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import listing

from .case import Case
from .features import BY_NAME, KV_BLOCK_FIXES
from .nodes import Node

SAFE_SEQUENCES = 2
"""With at most two sequences the block zeroer has never hit a live block (the second article's finding 12)."""

SAME = ("version", "commit", "record_sha256", "content_sha256", "packages_sha256", "torch", "nccl", "flashinfer")


def refusals(case: Case) -> Iterator[str]:
    """All of them. A node whose vLLM nobody looked at is left to C(unchecked)."""
    seen = [(node, node.vllm) for node in case.nodes if node.vllm is not None]
    for node, build in seen:
        if not build.get("installed"):
            yield f"{node.host}: {build.get('detail') or 'no vLLM'}; install what the recipe names: {_wanted(case)}"
    there = [(node, build) for node, build in seen if build.get("installed")]
    for node, build in there:
        yield from _version(case, node, build)
        yield from _features(case, node, build)
        yield from _nccl(case, node, build)
    yield from _same(there)


def unchecked(case: Case) -> list[str]:
    """What could not be judged because nobody looked: no verdict, and not a good one."""
    found = [f"{node.host}: which vLLM is installed" for node in case.nodes if node.vllm is None]
    found += [f"{node.host}: memory" for node in case.nodes if node.memory_bytes is None]
    if case.recipe.sm:
        found += [f"{node.host}: compute capability" for node in case.nodes if node.sm is None]
    return found


def _wanted(case: Case) -> str:
    runtime = case.recipe.runtime
    return runtime.image or "" if runtime.kind == "container" else listing(runtime.requirements)


def _version(case: Case, node: Node, build: Mapping[str, Any]) -> Iterator[str]:
    runtime, version = case.recipe.runtime, str(build.get("version"))
    if runtime.versions and not version.startswith(runtime.versions):
        yield f"{node.host} has vLLM {version}: expected {' or '.join(runtime.versions)}; install {_wanted(case)}"
    kind = build.get("build")
    if kind is not None and kind != runtime.build:
        yield (
            f"{node.host} has a {kind} build of vLLM {version}: expected one for {runtime.build}; "
            f"install {_wanted(case)}"
        )


def _features(case: Case, node: Node, build: Mapping[str, Any]) -> Iterator[str]:
    has: Mapping[str, bool] = build.get("features") or {}
    whose = f"{node.host}: vLLM {build.get('version')}"
    missing = [name for name in case.recipe.runtime.features if not has.get(name)]
    if missing:
        yield f"{whose} lacks {_named(missing)}: install what the recipe names: {_wanted(case)}"
    dtype = case.dtype()
    if dtype in BY_NAME and dtype not in missing and not has.get(dtype):
        yield (
            f"{whose} does not know the KV cache's data type {dtype}: take fp8_ds_mla, which has the same bytes, "
            "or a vLLM that has the name"
        )
    unfixed = [name for name in KV_BLOCK_FIXES if not has.get(name)]
    sequences = case.count("max_num_seqs")
    if case.recipe.model.packed_kv and unfixed and (sequences is None or sequences > SAFE_SEQUENCES):
        yield (
            f"{whose} lacks {_named(unfixed)}: with three requests prefilled at once it wipes blocks of others, "
            "and answers are fluent and wrong; install a vLLM that has them, "
            f"or set engine.max_num_seqs to {SAFE_SEQUENCES}"
        )


def _named(names: list[str]) -> str:
    return "; ".join(f"{name} ({BY_NAME[name].what})" for name in names)


def _nccl(case: Case, node: Node, build: Mapping[str, Any]) -> Iterator[str]:
    least, has = case.recipe.expect.nccl, build.get("nccl")
    if least is not None and isinstance(has, str) and _numbers(has) < _numbers(least):
        yield f"{node.host} has NCCL {has}: expected {least} or newer, which finds the port to each neighbour"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(word) for word in re.findall(r"\d+", version)[:3])


def _same(there: list[tuple[Node, Mapping[str, Any]]]) -> Iterator[str]:
    for key in SAME:
        values: dict[str, list[str]] = {}
        for node, build in there:
            values.setdefault(str(build.get(key)), []).append(node.host)
        if len(values) > 1:
            seen = "; ".join(f"{value[:40]} on {listing(hosts)}" for value, hosts in values.items())
            yield f"the nodes differ in {key} of vLLM: {seen}; install the same everywhere, the ranks do not check it"
            return
