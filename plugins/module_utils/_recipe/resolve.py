# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""A recipe to what is run on each rank, what it takes, and what must be true of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import shown
from ansible_collections.switchless.spark.plugins.module_utils._fabric.plain import plain

from . import arguments, nodes, refusals, refusals_build
from .case import GIB, Case
from .model import Recipe
from .nodes import Node
from .schema import RecipeError, parse

TOKEN = re.compile(r"[A-Za-z0-9._:/@+-]+")


def resolve(
    raw: object,
    plan: object,
    facts: object,
    *,
    engine: object = None,
    model_path: object = None,
    drafter_path: object = None,
    program: object = "vllm",
    image: object = None,
    api_address: object = None,
    api_port: object = None,
    master_port: object = None,
    env_files: object = None,
) -> dict[str, object]:
    """All that a role needs. Raises RecipeError with every problem at once."""
    recipe = parse(raw)
    problems: list[str] = []
    layout, order = _plan(plan)
    found = nodes.parse(facts, order, problems)
    case = Case(
        recipe=recipe,
        layout=layout,
        nodes=found or tuple(Node(host, rank) for rank, host in enumerate(order)),
        engine=_changed(recipe, engine, problems),
        size=recipe.size(len(order)),
        model_path=_word("model_path", model_path, problems) or recipe.model.path,
        drafter_path=_word("drafter_path", drafter_path, problems) or (recipe.drafter.path if recipe.drafter else None),
        image=_word("image", image, problems),
        texts=_texts(env_files, problems),
    )
    ports = _ports(recipe, api_port, master_port, problems)
    problems += [*refusals.refusals(case), *refusals_build.refusals(case)]
    if problems or case.size is None:
        raise RecipeError(*problems)
    command = _word("program", program, problems) or "vllm"
    address = _word("api_address", api_address, problems) or case.nodes[0].address
    return {
        "schema": recipe.schema,
        "name": recipe.name,
        "layout": layout,
        "tensor_parallel": len(order),
        "served_name": recipe.model.served_name,
        "model_path": case.model_path,
        "api_port": ports[0],
        "master_port": ports[1],
        "engine": dict(case.engine),
        "ranks": [_rank(case, node, command, address, ports) for node in case.nodes],
        "memory": [_budget(case, node) for node in case.nodes],
        "expect": _expect(case),
        "guards": asdict(recipe.guards),
        "speed": asdict(recipe.speed),
        "boot": asdict(recipe.boot),
        "checkpoint": {"repository": recipe.model.repository, "revision": recipe.model.revision}
        | asdict(recipe.model.identity),
        "drafter": None if recipe.drafter is None else asdict(recipe.drafter) | {"path": case.drafter_path},
        "runtime": asdict(recipe.runtime) | {"image": case.image},
        "licences": _licences(recipe),
        "unchecked": refusals_build.unchecked(case),
    }


def _plan(plan: object) -> tuple[str, Sequence[str]]:
    value: Any = plain(plan)
    match value:
        case {"layout": str() as layout, "order": [str(), str(), *_] as order}:
            return layout, order
    raise RecipeError(f"the plan is {shown(value)}: expected what the filter fabric_plan gives")


def _changed(recipe: Recipe, engine: object, problems: list[str]) -> dict[str, object]:
    """The recipe's arguments with the user's changes; null takes one away."""
    changes: Any = plain(engine)
    if changes is None:
        changes = {}
    if not isinstance(changes, dict):
        problems.append(f"engine is {shown(changes)}: expected a mapping of vLLM's arguments")
        changes = {}
    changes = {name: arguments.typed(name, value) for name, value in changes.items()}
    problems += arguments.problems({name: value for name, value in changes.items() if value is not None}, "engine")
    return {name: value for name, value in (dict(recipe.engine) | changes).items() if value is not None}


def _word(what: str, raw: object, problems: list[str]) -> str | None:
    value = plain(raw)
    if value is None or value == "":
        return None
    if not isinstance(value, str) or not TOKEN.fullmatch(value):
        problems.append(f"{what} is {shown(value)}: expected letters, digits and . _ : / @ + - and no blanks")
        return None
    return value


def _ports(recipe: Recipe, api: object, master: object, problems: list[str]) -> tuple[int, int]:
    ports: list[int] = []
    for what, raw, default in (("api_port", api, recipe.api_port), ("master_port", master, recipe.master_port)):
        value: Any = plain(raw)
        number = int(value) if isinstance(value, str) and value.isdecimal() else value
        if number is None or number == "":
            number = default
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 65535:
            problems.append(f"{what} is {shown(value)}: expected a port from 1 to 65535")
            number = default
        ports.append(number)
    if ports[0] == ports[1]:
        problems.append(f"api_port and master_port are both {ports[0]}: expected two ports, both are the head's")
    return ports[0], ports[1]


def _texts(raw: object, problems: list[str]) -> dict[str, str]:
    value: Any = plain(raw)
    if value is None:
        return {}
    if isinstance(value, dict) and all(isinstance(text, str) for text in value.values()):
        return {str(path): text for path, text in value.items()}
    problems.append(f"env_files is {shown(value)}: expected a mapping of paths to the texts of the files")
    return {}


def _rank(case: Case, node: Node, program: str, address: str | None, ports: tuple[int, int]) -> dict[str, object]:
    recipe, head = case.recipe, case.nodes[0]
    words = [program, "serve", case.model_path, "--served-model-name", recipe.model.served_name]
    words += arguments.argv(case.engine)
    if recipe.drafter is not None:
        words += ["--speculative-config", arguments.compact(_speculative(case))]
    words += ["--tensor-parallel-size", str(len(case.nodes)), "--nnodes", str(len(case.nodes))]
    words += ["--node-rank", str(node.rank), "--master-addr", head.address or head.host, "--master-port", str(ports[1])]
    words += ["--distributed-executor-backend", "mp"]
    words += ["--headless"] if node.rank else ["--host", address or head.host, "--port", str(ports[0])]
    # The transport's environment wins: it knows this rank's cables.
    environment = dict(recipe.environment) | dict(node.environment)
    return {"rank": node.rank, "host": node.host, "headless": node.rank > 0, "argv": words, "environment": environment}


def _speculative(case: Case) -> dict[str, object]:
    drafter = case.recipe.drafter
    if drafter is None:
        return {}
    own = {"method": drafter.method, "num_speculative_tokens": drafter.tokens}
    return dict(drafter.options) | own | ({"model": case.drafter_path} if case.drafter_path else {})


def _budget(case: Case, node: Node) -> dict[str, object]:
    """In bytes. Without a pin the KV cache is what vLLM finds left, which nobody knows before."""
    size = case.size
    if size is None:
        return {}
    weights, other, pin = round(size.weights_gib * GIB), round(size.other_gib * GIB), case.kv_bytes()
    left = None if node.memory_bytes is None else node.memory_bytes - weights - other - (pin or 0)
    return {
        "host": node.host,
        "total_bytes": node.memory_bytes,
        "weights_bytes": weights,
        "other_bytes": other,
        "kv_bytes": pin,
        "left_bytes": left,
    }


def _expect(case: Case) -> dict[str, object]:
    """The recipe's, but for what the user changed."""
    changed: dict[str, object] = {}
    if case.engine.get("block_size") != case.recipe.engine.get("block_size"):
        changed["block_size"] = case.engine.get("block_size")
    if case.engine.get("kv_cache_dtype") != case.recipe.engine.get("kv_cache_dtype"):
        changed["kv_cache_dtype"] = case.dtype()
    return (
        asdict(case.recipe.expect)
        | changed
        | {
            "kv_tokens": case.kv_tokens(),
            "kv_tokens_how": case.size.how if case.size else None,
            "max_model_len": case.count("max_model_len"),
        }
    )


def _licences(recipe: Recipe) -> list[dict[str, object]]:
    found: list[dict[str, object]] = [{"repository": recipe.model.repository, "licence": recipe.model.licence}]
    if recipe.drafter is not None and recipe.drafter.repository is not None:
        found.append({"repository": recipe.drafter.repository, "licence": recipe.drafter.licence})
    return found
