# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tags of the weights that ranks keep: new when anything that matters changed, and only then."""

from __future__ import annotations

import copy
import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.filter.vllm_ranks import FilterModule
from ansible_collections.switchless.spark.plugins.filter.vllm_recipe import FilterModule as Recipes
from ansible_collections.switchless.spark.plugins.module_utils._recipe.arguments import KINDS
from ansible_collections.switchless.spark.plugins.module_utils._serving.snapshots import (
    ARGUMENTS_OF_NO_ACCOUNT,
    VARIABLES_OF_NO_ACCOUNT,
    tag,
)
from tests.unit.recipe import recipe_world as world
from tests.unit.recipe.recipe_world import GLM, LAB, MESH3

vllm_ranks: Any = FilterModule().filters()["vllm_ranks"]
vllm_recipe: Any = Recipes().filters()["vllm_recipe"]

MADE_WITH: dict[str, Any] = {"vllm": "1" * 64, "packages": "2" * 64, "checkpoint": "3" * 64}
LIMITS = dict.fromkeys(
    ("boot_seconds", "stall_seconds", "beat_seconds", "silence_seconds", "stop_seconds", "probe_seconds"), 20
)
TOLD: dict[str, Any] = {
    "control": {"address": "192.0.2.11", "port": 18610},
    "limits": LIMITS,
    "same": {},
    "api_address": "192.0.2.11",
}
TRANSPORT = {
    "NCCL_IB_HCA": "=rocep1s0f0,rocep1s0f1",
    "GLOO_SOCKET_IFNAME": "enp1s0f0np0",
    "VLLM_HOST_IP": "192.0.2.13",
    "ARX_RING_NEXT_HCAS": "rocep1s0f1,roceP2p1s0f1",
}


def chosen(name: str = GLM, **more: Any) -> Any:
    plan = world.HOME[name]
    return vllm_recipe(world.load(name), plan, world.nodes(name, plan), **(world.settings(name) | more))


CHOSEN = chosen()


def tagged(changes: Any = None, rank: int = 1, **made_with: Any) -> str:
    """The tag after a change of what is served."""
    served = copy.deepcopy(CHOSEN)
    if changes is not None:
        changes(served)
    return tag(served, served["ranks"][rank], MADE_WITH | made_with)


PLAIN = tagged()


def put(*place: Any) -> Any:
    """A change: the last is the value, those before it lead there."""

    def change(served: Any) -> None:
        where = served
        for key in place[:-2]:
            where = where[key]
        assert where.get(place[-2]) != place[-1]
        where[place[-2]] = place[-1]

    return change


MATTERS: dict[str, Any] = {
    "another checkpoint": put("checkpoint", "repository", "RedHatAI/GLM-5.3-Flash-NVFP4"),
    "another revision": put("checkpoint", "revision", "0" * 40),
    "another index": put("checkpoint", "index_sha256", "4" * 64),
    "another configuration": put("checkpoint", "config_sha256", "5" * 64),
    "another image": put("runtime", "image", "sha256:" + "6" * 64),
    "one rank more": put("tensor_parallel", 5),
    "no drafter": put("drafter", None),
    "another drafter": put("drafter", "revision", "7" * 40),
    "a drafter elsewhere": put("drafter", "path", "/data/draft"),
    "other drafts": put("drafter", "tokens", 5),
    "an option of the drafter": put("drafter", "options", {"quantization": "fp8"}),
    "quantization": put("engine", "quantization", "modelopt"),
    "dtype": put("engine", "dtype", "bfloat16"),
    "MoE backend": put("engine", "moe_backend", "marlin"),
    # The key of the kindlingai line has it: a scratch buffer has one row a token.
    "tokens of a step": put("engine", "max_num_batched_tokens", 8192),
    "an argument that nobody thought of": put("engine", "weights_upside_down", True),
    # Of the same shape, so that the build restores them without a word.
    "which layers become NVFP4": put("ranks", 1, "environment", "VLLM_DENSE_W4", "in_proj|o_proj"),
    "batch invariance": put("ranks", 1, "environment", "VLLM_BATCH_INVARIANT", "1"),
    "a variable that nobody thought of": put("ranks", 1, "environment", "UPSIDE_DOWN", "1"),
    "a variable whose name begins like one of no account": put("ranks", 1, "environment", "MAX_JOBS_OF_WEIGHTS", "1"),
}
OF_NO_ACCOUNT: dict[str, Any] = {
    "requests at once": put("engine", "max_num_seqs", 8),
    "size of the pool": put("engine", "kv_cache_memory_bytes", 1 << 30),
    "share of the memory": put("engine", "gpu_memory_utilization", 0.5),
    "parser": put("engine", "tool_call_parser", "glm45"),
    "port": put("api_port", 9000),
    "port of the rendezvous": put("master_port", 9001),
    "name": put("served_name", "another"),
    # The manifest says what is in it.
    "folder of the checkpoint": put("model_path", "/data/glm"),
    "words on the drafter's licence": put("drafter", "licence", "other words"),
    "shape of the cabling": put("layout", "switch"),
    "command line": put("ranks", 1, "argv", ["vllm", "serve"]),
    "host": put("ranks", 1, "host", "spark9"),
    "time-out": put("ranks", 1, "environment", "VLLM_ENGINE_READY_TIMEOUT_S", "60"),
    "log": put("ranks", 1, "environment", "VLLM_LOGGING_LEVEL", "DEBUG"),
    "thresholds": put("guards", "count_to", 5),
}


@pytest.mark.parametrize("change", MATTERS.values(), ids=MATTERS)
def test_what_matters_makes_another_tag(change: Any) -> None:
    assert tagged(change) != PLAIN


@pytest.mark.parametrize("change", OF_NO_ACCOUNT.values(), ids=OF_NO_ACCOUNT)
def test_what_is_of_no_account_leaves_the_tag(change: Any) -> None:
    assert tagged(change) == PLAIN


@pytest.mark.parametrize("what", MADE_WITH)
def test_what_the_weights_were_made_with_matters(what: str) -> None:
    other: Any = {what: "8" * 64}
    unknown: Any = {what: None}
    assert len({PLAIN, tagged(**other), tagged(**unknown)}) == 3


def test_without_a_manifest_the_folder_stands_for_the_files() -> None:
    assert tagged(checkpoint=None) != tagged(put("model_path", "/data/glm"), checkpoint=None)


def test_a_tag_says_which_rank_it_is_of() -> None:
    seen = [tagged(rank=rank) for rank in range(4)]
    assert [one.split("-")[0] for one in seen] == [f"rank{rank}of4" for rank in range(4)]
    assert len({one.split("-")[1] for one in seen}) == 4


def test_the_lists_name_arguments_and_variables_that_there_are() -> None:
    assert set(KINDS) >= set(ARGUMENTS_OF_NO_ACCOUNT)
    for name in TRANSPORT:
        assert VARIABLES_OF_NO_ACCOUNT.fullmatch(name)


@given(st.sampled_from(sorted(KINDS)), st.one_of(st.integers(), st.text(), st.booleans()))
@settings(deadline=None)
def test_an_argument_matters_unless_it_is_on_the_list(name: str, value: Any) -> None:
    before = CHOSEN["engine"].get(name)
    after = tagged(lambda served: served["engine"].update({name: value}))
    same = json.dumps(before) == json.dumps(value) or name in ARGUMENTS_OF_NO_ACCOUNT
    assert (after == PLAIN) == same


@given(st.permutations(sorted(CHOSEN["engine"])), st.dictionaries(st.sampled_from(sorted(TRANSPORT)), st.text()))
@settings(deadline=None)
def test_equal_inputs_have_equal_tags_whatever_their_order_and_the_cables(order: Any, cables: dict[str, str]) -> None:
    def change(served: Any) -> None:
        served["engine"] = {name: served["engine"][name] for name in order}
        served["ranks"][1]["environment"] = cables | served["ranks"][1]["environment"] | cables

    assert tagged(change) == PLAIN


def test_a_rank_is_told_where_its_snapshot_is_and_its_tag() -> None:
    told = vllm_ranks(CHOSEN, **TOLD, snapshots=MADE_WITH)
    assert list(told) == ["spark1", "spark2", "spark3", "spark4"]
    second = told["spark2"]
    folder = f"/var/lib/vllm/{GLM}/snapshots/{PLAIN}"
    assert second["snapshot"] == second["environment"]["VLLM_WEIGHT_SNAPSHOT_DIR"] == folder
    assert second["environment"]["VLLM_WEIGHT_SNAPSHOT_TAG"] == PLAIN
    pairs = list(itertools.pairwise(second["file"]["argv"]))
    assert ("--env", "VLLM_WEIGHT_SNAPSHOT_DIR") in pairs
    assert ("--env", "VLLM_WEIGHT_SNAPSHOT_TAG") in pairs
    # The folder is in one that the container has.
    assert ("--volume", f"/var/lib/vllm/{GLM}:/var/lib/vllm/{GLM}") in pairs


@pytest.mark.parametrize(("name", "made_with"), [(GLM, None), (MESH3, None), (LAB, MADE_WITH), (LAB, None)])
def test_no_snapshots_where_nobody_wants_them_or_the_build_has_none(name: str, made_with: Any) -> None:
    for told in vllm_ranks(chosen(name), **TOLD, snapshots=made_with).values():
        assert told["snapshot"] == ""
        assert not [variable for variable in told["environment"] if "SNAPSHOT" in variable]


def test_another_tag_is_another_group_which_is_started_anew() -> None:
    groups = [
        vllm_ranks(CHOSEN, **TOLD, snapshots=made_with)["spark1"]["file"]["group"]
        for made_with in (MADE_WITH, MADE_WITH, MADE_WITH | {"checkpoint": "9" * 64}, None)
    ]
    assert groups[0] == groups[1]
    assert len(set(groups)) == 3
