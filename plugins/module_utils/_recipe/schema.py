# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""A recipe file to a Recipe, or all that is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import shown
from ansible_collections.switchless.spark.plugins.module_utils._fabric.plain import plain

from . import arguments, features
from .model import SCHEMA, Recipe
from .read import read

_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_TRANSPORT = re.compile(r"(NCCL|GLOO|ARX|UCX|OMPI)_.*|TP_SOCKET_IFNAME|VLLM_HOST_IP|VLLM_ARX_RING|VLLM_BATCH_INVARIANT")


class RecipeError(ValueError):
    """Everything that is wrong, one line each: what was seen, what was expected, what to do."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


def parse(raw: object) -> Recipe:
    """Read a recipe. Raises RecipeError with all problems."""
    problems: list[str] = []
    value: Any = plain(raw)
    recipe: Recipe = read(Recipe, value, "", problems)
    if not problems:
        problems += _values(recipe)
    if problems:
        raise RecipeError(*problems)
    return recipe


def _values(recipe: Recipe) -> Iterator[str]:
    if recipe.schema != SCHEMA:
        yield f"schema is {recipe.schema}: this version of the collection reads {SCHEMA}"
    if not _NAME.fullmatch(recipe.name):
        yield f"name is {shown(recipe.name)}: expected small letters, digits, dots and dashes, as in a unit's name"
    for key in ("layouts", "sizes"):
        if not getattr(recipe, key):
            yield f"{key} is empty: expected at least one"
    yield from _counts(recipe)
    yield from arguments.problems(recipe.engine, "engine")
    yield from _needed(recipe)
    yield from _environment(recipe)
    yield from _runtime(recipe)
    yield from _snapshots(recipe)
    yield from _why(recipe)


def _counts(recipe: Recipe) -> Iterator[str]:
    positive = {"api_port": recipe.api_port, "master_port": recipe.master_port}
    for number, size in enumerate(recipe.sizes):
        at = f"sizes[{number}]"
        positive |= {f"{at}.tensor_parallel": size.tensor_parallel, f"{at}.kv_tokens": size.kv_tokens}
        if size.weights_gib <= 0 or size.other_gib < 0:
            yield f"{at} has weights_gib {size.weights_gib} and other_gib {size.other_gib}: expected GiB of one rank"
    shape = recipe.model.shape
    positive |= {"model.shape.attention_heads": shape.attention_heads, "model.shape.vocabulary": shape.vocabulary}
    if recipe.model.compress_ratio is not None:
        positive["model.compress_ratio"] = recipe.model.compress_ratio
    if recipe.drafter is not None:
        positive["drafter.tokens"] = recipe.drafter.tokens
    yield from (f"{name} is {value}: expected 1 or more" for name, value in positive.items() if value < 1)
    guards = recipe.guards
    if guards.documents < guards.documents_least:
        yield (
            f"guards.documents is {guards.documents}, guards.documents_least {guards.documents_least}: "
            "with fewer than the least the fault cannot show"
        )


def _needed(recipe: Recipe) -> Iterator[str]:
    for name in ("max_model_len", "max_num_seqs", "kv_cache_dtype"):
        if name not in recipe.engine:
            yield f"engine.{name} is missing: a recipe leaves it to nobody's default"


def _environment(recipe: Recipe) -> Iterator[str]:
    for name in recipe.environment:
        if not _VARIABLE.fullmatch(name):
            yield f"environment.{name} is not a variable's name: expected capitals, digits and underscores"
        elif _TRANSPORT.fullmatch(name):
            yield f"environment.{name} differs by rank and cable: remove it, the role transport sets it"


def _runtime(recipe: Recipe) -> Iterator[str]:
    runtime = recipe.runtime
    for name in runtime.features:
        if name not in features.BY_NAME:
            yield f"runtime.features has {shown(name)}: expected names that vllm_build_info knows" + features.near(name)
    if runtime.kind == "container" and not (runtime.image and runtime.image_variable):
        yield "runtime.image or runtime.image_variable is null: a container needs an image and a variable that pins it"
    if runtime.kind == "venv" and not runtime.requirements:
        yield "runtime.requirements is empty: a virtual environment needs at least vllm, with its version"


def _snapshots(recipe: Recipe) -> Iterator[str]:
    kept = recipe.runtime.snapshots
    if kept is None:
        return
    names = {"directory_variable": kept.directory_variable, "tag_variable": kept.tag_variable}
    for key, name in names.items():
        if not _VARIABLE.fullmatch(name):
            yield f"runtime.snapshots.{key} is {shown(name)}: expected a variable's name, in capitals"
        elif name in recipe.environment:
            yield f"environment.{name} is runtime.snapshots.{key}: remove it, the role vllm sets it"
    if kept.directory_variable == kept.tag_variable:
        yield f"runtime.snapshots has {kept.tag_variable} for the directory and for the tag: expected two variables"
    if not kept.gib > 0:
        yield f"runtime.snapshots.gib is {kept.gib}: expected the GiB that one rank writes"


def _why(recipe: Recipe) -> Iterator[str]:
    """Every argument and variable has a reason, and no reason is for one that is not there."""
    there = [f"engine.{name}" for name in recipe.engine] + [f"environment.{name}" for name in recipe.environment]
    for name in there:
        if name not in recipe.why:
            yield f"why.{name} is missing: expected the reason for {name} and its source"
    for name in recipe.why:
        if name.startswith(("engine.", "environment.")) and name not in there:
            yield f"{name} is missing: why.{name} gives a reason for it; add it, or remove the reason"
        elif not name.startswith(("engine.", "environment.")):
            yield f"why.{name} is not the name of an argument or a variable: expected engine.… or environment.…"
