# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The recipe files, and what is refused in a file."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._recipe.schema import RecipeError, parse
from tests.unit.recipe import recipe_world as world
from tests.unit.recipe.recipe_world import DEEPSEEK, GLM, LAB

FREE = ("lookalikes", "kv_cache_dtypes_refused", "options")
"""Mappings whose keys are data: one more or less is another recipe, not a broken one."""


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all keys that a recipe must have."""
    for key in value if isinstance(value, dict) else ():
        yield (*at, key)
        if key not in FREE and key not in ("engine", "environment", "why"):
            yield from places(value[key], (*at, key))
        elif key in ("engine", "environment", "why"):
            yield from ((*at, key, name) for name in value[key])
    for number, item in enumerate(value if isinstance(value, list) else ()):
        yield from places(item, (*at, number))


PLACES = [(name, place) for name in world.NAMES for place in places(world.load(name))]


def holder(recipe: Any, place: tuple[Any, ...]) -> Any:
    for key in place[:-1]:
        recipe = recipe[key]
    return recipe


def problems(recipe: Any) -> str:
    with pytest.raises(RecipeError) as caught:
        parse(recipe)
    return str(caught.value)


@pytest.mark.parametrize("name", world.NAMES)
def test_a_file_is_a_recipe_of_its_name(name: str) -> None:
    assert parse(world.load(name)).name == name


def test_the_recipes() -> None:
    assert set(world.NAMES) == {"deepseek-v4-flash-0731", "glm-5.3-flash-nvfp4", "glm-5.3-flash-nvfp4-mesh3", "lab"}


@settings(deadline=None)
@given(st.sampled_from(PLACES))
def test_a_key_that_is_missing_is_named(case: tuple[str, tuple[Any, ...]]) -> None:
    name, place = case
    recipe = world.load(name)
    del holder(recipe, place)[place[-1]]
    assert str(place[-1]) in problems(recipe)


@settings(deadline=None)
@given(st.sampled_from(PLACES))
def test_a_key_that_is_mistyped_is_named_and_so_is_what_was_meant(case: tuple[str, tuple[Any, ...]]) -> None:
    name, place = case
    recipe = world.load(name)
    where, key = holder(recipe, place), place[-1]
    where[f"{key}X"] = where.pop(key)
    said = problems(recipe)
    assert f"{key}X" in said
    assert any(str(key) in line and f"{key}X" not in line.split(" ")[0] for line in said.splitlines())


WRONG = st.sampled_from([["a", "list"], {"a": "mapping"}, True, "", 12.5, float("nan"), "word"])


@settings(deadline=None)
@given(st.sampled_from(PLACES), WRONG)
def test_a_value_of_another_type_is_named_or_was_of_the_right_one(
    case: tuple[str, tuple[Any, ...]], wrong: Any
) -> None:
    name, place = case
    recipe = world.load(name)
    where, key = holder(recipe, place), place[-1]
    right, where[key] = where[key], wrong
    said = ""
    try:
        parse(recipe)
    except RecipeError as exc:
        said = str(exc)
    # Null may stand for any type: whether text was meant, nobody can tell from it.
    kinds = (float, int) if isinstance(right, (int, float)) else type(right)
    fits = right is None or place[-2:-1] == ("options",) or isinstance(wrong, kinds)
    assert str(key) in said or (not said and fits)


BROKEN: list[tuple[str, tuple[Any, ...], Any, str]] = [
    (GLM, ("schema",), 2, "schema is 2"),
    (GLM, ("name",), "GLM 5", "name is 'GLM 5'"),
    (GLM, ("layouts",), [], "layouts is empty"),
    (
        GLM,
        ("layouts",),
        ["rings"],
        "layouts[0] is 'rings': expected one of pair, triangle, ring, switch (did you mean 'ring'",
    ),
    (GLM, ("layouts",), "ring", "layouts is 'ring': expected a list"),
    (GLM, ("sizes", 0, "kv_tokens"), 0, "sizes[0].kv_tokens is 0"),
    (GLM, ("sizes", 0, "weights_gib"), -1, "weights_gib -1.0"),
    (GLM, ("sizes", 0, "kv_bytes"), "26G", "sizes[0].kv_bytes is '26G': expected an integer"),
    (GLM, ("runtime", "features"), ["dflsh"], "runtime.features has 'dflsh'"),
    (GLM, ("runtime", "image_variable"), None, "runtime.image_variable is null"),
    (GLM, ("runtime", "snapshots", "gib"), 0, "runtime.snapshots.gib is 0.0: expected the GiB that one rank writes"),
    (GLM, ("runtime", "snapshots", "tag_variable"), "tag", "runtime.snapshots.tag_variable is 'tag': expected"),
    (GLM, ("runtime", "snapshots", "tag_variable"), "VLLM_WEIGHT_SNAPSHOT_DIR", "expected two variables"),
    (GLM, ("environment", "VLLM_WEIGHT_SNAPSHOT_DIR"), "/x", "is runtime.snapshots.directory_variable: remove it"),
    (DEEPSEEK, ("runtime", "requirements"), [], "runtime.requirements is empty"),
    (DEEPSEEK, ("runtime", "kind"), "vnv", "runtime.kind is 'vnv'"),
    (DEEPSEEK, ("runtime", "cuda"), 13.3, "runtime.cuda is the number 13.3: expected text; put it in quotes"),
    (DEEPSEEK, ("environment", "NCCL_IB_GID_INDEX"), "", "environment.NCCL_IB_GID_INDEX"),
    (DEEPSEEK, ("environment", "NCCL_ALGO"), "Ring", "NCCL_ALGO differs by rank and cable"),
    (DEEPSEEK, ("environment", "VLLM_HOST_IP"), "192.0.2.1", "VLLM_HOST_IP differs by rank and cable"),
    (DEEPSEEK, ("environment", "lower"), "1", "environment.lower is not a variable's name"),
    (DEEPSEEK, ("environment", "HF_HUB_OFFLINE"), 1, "environment.HF_HUB_OFFLINE is the number 1: expected text"),
    (DEEPSEEK, ("engine", "headless"), True, "engine.headless is not for a recipe"),
    (DEEPSEEK, ("engine", "max_model_len"), None, "engine.max_model_len is nothing"),
    (DEEPSEEK, ("why", "model.path"), "x", "why.model.path is not the name of an argument"),
    (DEEPSEEK, ("guards", "documents"), 2, "guards.documents is 2, guards.documents_least 3"),
    (LAB, ("drafter", "tokens"), 0, "drafter.tokens is 0"),
    (LAB, ("drafter",), "ngram", "drafter is 'ngram': expected a mapping"),
    (LAB, ("model", "lookalikes"), {1: "one"}, "model.lookalikes has the key the number 1"),
]


@pytest.mark.parametrize(("name", "place", "value", "words"), BROKEN)
def test_what_is_wrong_is_said(name: str, place: tuple[Any, ...], value: Any, words: str) -> None:
    recipe = world.load(name)
    holder(recipe, place)[place[-1]] = value
    if place[0] == "environment":
        recipe["why"].setdefault(f"environment.{place[-1]}", "a reason")
    assert words in problems(recipe)


@pytest.mark.parametrize("raw", [None, [], "lab", 1])
def test_no_recipe_at_all(raw: Any) -> None:
    assert "the recipe is" in problems(raw)


def test_a_recipe_without_a_drafter() -> None:
    recipe = world.load(LAB)
    recipe["drafter"] = None
    assert parse(recipe).drafter is None


def test_snapshots_are_for_the_build_that_has_them() -> None:
    kept = {name: parse(world.load(name)).runtime.snapshots for name in world.NAMES}
    assert [name for name, snapshots in kept.items() if snapshots] == [GLM, world.MESH3]


def test_reading_changes_nothing() -> None:
    recipe = world.load(GLM)
    before = copy.deepcopy(recipe)
    parse(recipe)
    assert recipe == before
