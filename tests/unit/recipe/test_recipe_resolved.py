# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a recipe becomes: command lines, environments, memory, expectations."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.switchless.spark.plugins.filter.vllm_recipe import FilterModule
from ansible_collections.switchless.spark.plugins.module_utils._recipe.arguments import argv
from ansible_collections.switchless.spark.plugins.module_utils._recipe.nodes import capability
from tests.unit.recipe import recipe_world as world
from tests.unit.recipe.recipe_world import DEEPSEEK, GIB, GLM, LAB, MESH3

vllm_recipe: Any = FilterModule().filters()["vllm_recipe"]


def served(name: str, home: dict[str, Any] | None = None, **more: Any) -> Any:
    plan = home or world.HOME[name]
    return vllm_recipe(world.load(name), plan, world.nodes(name, plan), **(world.settings(name) | more))


def option(words: list[str], name: str) -> str:
    assert words.count(name) == 1
    return words[words.index(name) + 1]


def test_the_whole_command_line_of_the_lab() -> None:
    ranks = served(LAB, world.plan("pair", 2), program="/opt/vllm/bin/vllm")["ranks"]
    common = [
        "/opt/vllm/bin/vllm",
        *("serve", "/srv/models/copy", "--served-model-name", "copy", "--block-size", "128"),
        *("--disable-access-log-for-endpoints", "/health,/metrics", "--dtype", "float32"),
        *("--enable-prefix-caching", "--enforce-eager", "--kv-cache-dtype", "auto", "--max-model-len", "4096"),
        *("--max-num-batched-tokens", "8192", "--max-num-seqs", "12", "--speculative-config"),
        '{"method":"ngram","num_speculative_tokens":5,"prompt_lookup_max":4,"prompt_lookup_min":2}',
        *("--tensor-parallel-size", "2", "--nnodes", "2", "--node-rank"),
    ]
    rest = ["--master-addr", "192.0.2.11", "--master-port", "29511", "--distributed-executor-backend", "mp"]
    assert ranks[0]["argv"] == [*common, "0", *rest, "--host", "192.0.2.11", "--port", "8000"]
    assert ranks[1]["argv"] == [*common, "1", *rest, "--headless"]
    assert [(rank["rank"], rank["host"], rank["headless"]) for rank in ranks] == [
        (0, "spark1", False),
        (1, "spark2", True),
    ]


@pytest.mark.parametrize("name", world.NAMES)
def test_ranks_differ_in_rank_and_role_only(name: str) -> None:
    ranks = served(name)["ranks"]
    assert [rank["host"] for rank in ranks] == world.HOME[name]["order"]
    for number, rank in enumerate(ranks):
        words = rank["argv"]
        assert option(words, "--node-rank") == str(number)
        assert option(words, "--nnodes") == option(words, "--tensor-parallel-size") == str(len(ranks))
        assert ("--headless" in words, "--port" in words) == (number > 0, number == 0)
        assert option(words, "--master-addr") == "192.0.2.11"
        assert not any("key" in word for word in words)
    bare = [
        [word for word in rank["argv"][: rank["argv"].index("--distributed-executor-backend")] if not word.isdigit()]
        for rank in ranks
    ]
    assert all(words == bare[0] for words in bare)


def test_the_second_articles_command_line() -> None:
    words = served(DEEPSEEK)["ranks"][0]["argv"]
    assert {
        name: option(words, name)
        for name in (
            "--block-size",
            "--kv-cache-dtype",
            "--max-num-seqs",
            "--max-num-batched-tokens",
            "--max-model-len",
        )
    } == {
        "--block-size": "256",
        "--kv-cache-dtype": "fp8_ds_mla",
        "--max-num-seqs": "12",
        "--max-num-batched-tokens": "8192",
        "--max-model-len": "1048576",
    }
    assert json.loads(option(words, "--compilation-config")) == {"cudagraph_mode": "FULL_AND_PIECEWISE"}
    assert json.loads(option(words, "--speculative-config")) == {"method": "dspark", "num_speculative_tokens": 5}
    assert option(words, "--moe-backend") == "marlin"


def test_the_drafter_of_its_own_path() -> None:
    words = served(GLM, drafter_path="/data/draft")["ranks"][3]["argv"]
    assert json.loads(option(words, "--speculative-config")) == {
        "method": "dflash",
        "model": "/data/draft",
        "num_speculative_tokens": 7,
    }


def test_the_transports_environment_wins() -> None:
    nodes = world.nodes(LAB)
    nodes["spark3"]["environment"] = {"VLLM_HOST_IP": "192.0.2.13", "TORCHDYNAMO_DISABLE": "0"}
    ranks = vllm_recipe(world.load(LAB), world.HOME[LAB], nodes)["ranks"]
    assert ranks[2]["environment"]["TORCHDYNAMO_DISABLE"] == "0"
    assert ranks[1]["environment"] == {
        "DO_NOT_TRACK": "1",
        "HF_HUB_OFFLINE": "1",
        "TORCHDYNAMO_DISABLE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_HOST_IP": "192.0.2.12",
    }


# (recipe, pin in GiB, tokens, how far from it the figure may be)
POOLS: list[tuple[str, int, int, float]] = [
    # What the articles and the author's triangle measured: the recipes' own figures.
    (GLM, 26, 4_241_096, 0.0),
    (MESH3, 12, 1_849_306, 0.0),
    # Other people's pools of the same model and block, which the proportion must come near.
    (GLM, 24, 4_065_684, 0.04),
]


@pytest.mark.parametrize(("name", "pin", "tokens", "off"), POOLS)
def test_pools_that_were_measured(name: str, pin: int, tokens: int, off: float) -> None:
    expected = served(name, engine={"kv_cache_memory_bytes": pin * GIB})["expect"]["kv_tokens"]
    assert abs(expected - tokens) <= off * tokens


@pytest.mark.parametrize(("size", "layout"), [(4, "ring"), (2, "pair")])
def test_the_labs_pool_is_arithmetic(size: int, layout: str) -> None:
    layers, heads, head_dim, number_bytes = 2, 4, 64, 4
    token = layers * 2 * heads // size * head_dim * number_bytes
    assert served(LAB, world.plan(layout, size))["expect"]["kv_tokens"] == GIB // token


def test_four_requests_of_a_million_fit_the_ring() -> None:
    expect = served(GLM)["expect"]
    assert expect["kv_tokens"] >= 4 * expect["max_model_len"] == 4 * 1048576


def test_memory() -> None:
    head = served(GLM)["memory"][0]
    assert head["kv_bytes"] == 26 * GIB == 27917287424
    # What the head had free at the needle of a million tokens.
    assert round(head["left_bytes"] / GIB, 1) == 3.2
    assert head["total_bytes"] == sum(head[f"{part}_bytes"] for part in ("weights", "other", "kv", "left"))
    pair = served(DEEPSEEK)["memory"]
    assert [node["kv_bytes"] for node in pair] == [None, None]
    # Both Sparks round to the same number of MiB, although they differ by 4 KiB.
    assert {node["total_bytes"] >> 20 for node in pair} == {124_610}
    assert served(LAB)["memory"][0]["kv_bytes"] == GIB


def test_expectations_follow_what_was_changed() -> None:
    assert served(DEEPSEEK)["expect"] == {
        "block_size": 256,
        "kv_cache_dtype": "fp8_ds_mla",
        "attention_backend": "FLASHINFER_MLA_SPARSE_DSV4",
        "nccl": "2.30.7",
        "kv_tokens": 1399106,
        "kv_tokens_how": "measured",
        "max_model_len": 1048576,
    }
    changed = served(DEEPSEEK, engine={"block_size": 512, "kv_cache_dtype": "nvfp4_ds_mla"})["expect"]
    assert (changed["block_size"], changed["kv_cache_dtype"]) == (512, "nvfp4_ds_mla")
    # vLLM lifts the block of the padded checkpoint by itself.
    assert served(MESH3)["expect"]["block_size"] == 3584


def test_identity_and_licences() -> None:
    said = served(DEEPSEEK)
    assert said["checkpoint"]["revision"].startswith("7872f01b")
    assert (said["checkpoint"]["shards"], said["checkpoint"]["tensors"]) == (48, 72317)
    assert (said["checkpoint"]["mtp_tensors"], said["checkpoint"]["total_gb"]) == (4705, 166.9)
    assert [row["repository"] for row in said["licences"]] == ["deepseek-ai/DeepSeek-V4-Flash-0731"]
    drafter = served(GLM)["licences"][1]
    assert drafter["repository"] == "incoai/GLM-5.3-Flash-DFlash2"
    assert "not for commercial use" in drafter["licence"]


def test_what_nobody_looked_at_is_said() -> None:
    said = vllm_recipe(world.load(DEEPSEEK), world.HOME[DEEPSEEK], {"spark1": {"sm": "12.1"}})
    assert said["unchecked"] == [
        "spark1: which vLLM is installed",
        "spark2: which vLLM is installed",
        "spark1: memory",
        "spark2: memory",
        "spark2: compute capability",
    ]
    assert said["memory"][0]["left_bytes"] is None
    assert served(DEEPSEEK)["unchecked"] == []
    # A CPU needs no capability.
    assert vllm_recipe(world.load(LAB), world.HOME[LAB], {})["unchecked"] == [
        f"spark{number}: {what}" for what in ("which vLLM is installed", "memory") for number in range(1, 5)
    ]


def test_the_filter_names_the_recipe() -> None:
    with pytest.raises(
        AnsibleFilterError, match=r"the recipe glm-5.3-flash-nvfp4 cannot be served:\nvllm_image is not"
    ):
        vllm_recipe(world.load(GLM), world.HOME[GLM], world.nodes(GLM))
    with pytest.raises(AnsibleFilterError, match="the recipe without a name cannot be served:\nthe recipe is nothing"):
        vllm_recipe(None, {}, {})


def test_ports_and_address_of_ones_own() -> None:
    words = served(DEEPSEEK, api_address="192.0.2.99", api_port="8888", master_port=25000)["ranks"][0]["argv"]
    assert (option(words, "--host"), option(words, "--port")) == ("192.0.2.99", "8888")
    assert option(words, "--master-port") == "25000"


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ({"enforce_eager": True, "enable_prefix_caching": False}, ["--no-enable-prefix-caching", "--enforce-eager"]),
        ({"limit_mm_per_prompt": {"video": 1, "image": 2}}, ["--limit-mm-per-prompt", '{"image":2,"video":1}']),
        ({"gpu_memory_utilization": 0.835}, ["--gpu-memory-utilization", "0.835"]),
        ({}, []),
    ],
)
def test_arguments_as_words(engine: dict[str, Any], words: list[str]) -> None:
    assert argv(engine) == words


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("12.1", "12.1"),
        ("121", "12.1"),
        ("sm_121a", "12.1"),
        ("SM90", "9.0"),
        ("8.6", "8.6"),
        ("cpu", "cpu"),
        ("a", None),
    ],
)
def test_compute_capabilities(word: str, meant: str | None) -> None:
    assert capability(word) == meant
