# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Why a recipe cannot be served like this: layout, model and memory. Each is one clear line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import listing

from . import lookalikes
from .case import GIB, Case, gib

_PINNED = re.compile(r"(?:[^@\s]+@)?sha256:[0-9a-f]{64}")
_CAPABILITY = {"12.1": "a GB10"}


def refusals(case: Case) -> Iterator[str]:
    """All of them."""
    yield from _layout(case)
    yield from _divides(case)
    yield from _block(case)
    yield from _dtype(case)
    yield from _memory(case)
    yield from _context(case)
    yield from _hardware(case)
    yield from _image(case)
    yield from lookalikes.in_path(case.recipe.model, case.model_path)
    yield from lookalikes.in_texts(case.recipe.model, case.texts)


def _layout(case: Case) -> Iterator[str]:
    recipe, nodes = case.recipe, len(case.nodes)
    wanted = [size.tensor_parallel for size in recipe.sizes]
    layouts, sizes = " or ".join(recipe.layouts), " or ".join(map(str, wanted))
    if case.layout in recipe.layouts and case.size is not None:
        return
    seen = f"{recipe.name} is for a {layouts} of {sizes} nodes, the plan is a {case.layout} of {nodes}"
    if case.layout == "ring" and 3 in wanted and "triangle" in recipe.layouts:
        yield (
            f"{seen}: any three nodes of a ring form a line, and a collective needs it closed; "
            "recable to a triangle, with one cable between each two of them, or take a recipe for the ring"
        )
    else:
        yield f"{seen}: change fabric_cables and the cables, or take a recipe for a {case.layout} of {nodes}"


def _divides(case: Case) -> Iterator[str]:
    shape, drafter, ranks = case.recipe.model.shape, case.recipe.drafter, len(case.nodes)
    parts = {
        "attention heads": shape.attention_heads,
        "linear attention heads": shape.linear_attention_heads,
        "expert columns": shape.expert_columns,
        "words of the vocabulary": shape.vocabulary,
        "heads of the drafter": drafter.heads if drafter else None,
        "KV heads of the drafter": drafter.kv_heads if drafter else None,
    }
    broken = [f"{number} {what}" for what, number in parts.items() if number is not None and number % ranks]
    if broken:
        yield (
            f"{listing(broken)} of {case.recipe.model.repository} do not divide by {ranks}, the number of nodes: "
            "take a number of nodes that divides them, or a recipe with a padded checkpoint"
        )


def _block(case: Case) -> Iterator[str]:
    ratio, block = case.recipe.model.compress_ratio, case.count("block_size")
    if ratio is None or block is None:
        return
    if block // ratio == 0:
        yield (
            f"engine.block_size is {block}: {block} // {ratio} = 0, since the checkpoint compresses {ratio} tokens "
            f"into one, and vLLM divides by it; expected a multiple, such as {case.recipe.expect.block_size}. "
            "The window's own block of 64 is not this one"
        )
    elif block % ratio:
        yield (
            f"engine.block_size is {block}: expected a multiple of {ratio}, "
            "the tokens that the checkpoint compresses into one"
        )


def _dtype(case: Case) -> Iterator[str]:
    model, dtype = case.recipe.model, case.dtype()
    if dtype in model.kv_cache_dtypes:
        return
    where = _CAPABILITY.get(next(iter(case.recipe.sm), ""), "these nodes")
    reason = model.kv_cache_dtypes_refused.get(dtype, f"nobody has shown it to work with {model.repository} on {where}")
    yield f"engine.kv_cache_dtype is {dtype}: {reason}; expected {' or '.join(model.kv_cache_dtypes)}"


def _memory(case: Case) -> Iterator[str]:
    if case.size is None:
        return
    weights, other, pin = case.size.weights_gib * GIB, case.size.other_gib * GIB, case.kv_bytes()
    for node in case.nodes:
        if node.memory_bytes is None:
            continue
        left = node.memory_bytes - weights - other
        if left < (pin or 0) or left <= 0:
            what = f"the KV cache is pinned to {gib(pin)}" if pin else "the model does not fit"
            yield (
                f"{node.host}: {what}, and of {gib(node.memory_bytes)} of memory {gib(weights)} of weights and "
                f"{gib(other)} of all else leave {gib(max(left, 0))}: lower engine.kv_cache_memory_bytes, "
                "or spread the model over more nodes"
            )


def _context(case: Case) -> Iterator[str]:
    context, tokens = case.count("max_model_len"), case.kv_tokens()
    if context is None or tokens is None or case.size is None or context <= tokens:
        return
    pin = case.kv_bytes()
    lever = "raise engine.gpu_memory_utilization"
    if pin is not None:
        # What the context needs in proportion, rounded up to whole MiB.
        lever = f"raise engine.kv_cache_memory_bytes to {-(-pin * context // tokens >> 20) << 20} or more"
    yield (
        f"engine.max_model_len is {context}, and the KV pool is expected to hold {tokens} tokens ({case.size.how}): "
        f"{lever}, or lower engine.max_model_len to {tokens}"
    )


def _hardware(case: Case) -> Iterator[str]:
    for node in case.nodes:
        if node.sm is not None and case.recipe.sm and node.sm not in case.recipe.sm:
            yield (
                f"{node.host} has compute capability {node.sm}: {case.recipe.name} was tuned for "
                f"{' or '.join(case.recipe.sm)}; take a recipe for this machine"
            )


def _image(case: Case) -> Iterator[str]:
    runtime = case.recipe.runtime
    if runtime.kind != "container":
        return
    if not case.image:
        yield (
            f"{runtime.image_variable} is not set: {case.recipe.name} runs in {runtime.image}; "
            f"set it to name@sha256:… or to the ID of an image that is the same on all nodes"
        )
    elif not _PINNED.fullmatch(case.image):
        yield (
            f"{runtime.image_variable} is {case.image!r}: a tag can move; "
            "expected name@sha256:… or an image's ID sha256:…"
        )
