# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every refusal beside a look-alike that is accepted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._recipe.features import KV_BLOCK_FIXES
from ansible_collections.switchless.spark.plugins.module_utils._recipe.resolve import resolve
from ansible_collections.switchless.spark.plugins.module_utils._recipe.schema import RecipeError
from tests.unit.recipe import recipe_world as world
from tests.unit.recipe.recipe_world import DEEPSEEK, GIB, GLM, LAB, MESH3

# Engine arguments, with the words that the refusal must have; no words: it is accepted.
ENGINE: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    (DEEPSEEK, {"block_size": 64}, ("engine.block_size is 64", "64 // 128 = 0", "such as 256")),
    (DEEPSEEK, {"block_size": 192}, ("engine.block_size is 192", "multiple of 128")),
    (DEEPSEEK, {"block_size": 128}, ()),
    (DEEPSEEK, {"block_size": 256}, ()),
    (LAB, {"block_size": 64}, ()),
    (DEEPSEEK, {"kv_cache_dtype": "bfloat16"}, ("kv_cache_dtype is bfloat16", "sm_121a", "fp8_ds_mla or nvfp4_ds_mla")),
    (DEEPSEEK, {"kv_cache_dtype": "bf16"}, ("kv_cache_dtype is bfloat16", "sm_121a")),
    (DEEPSEEK, {"kv_cache_dtype": "half"}, ("kv_cache_dtype is float16", "sm_121a")),
    (DEEPSEEK, {"kv_cache_dtype": "auto"}, ("kv_cache_dtype is auto", "it is bfloat16")),
    (
        DEEPSEEK,
        {"kv_cache_dtype": "turboquant_4bit_nc"},
        ("kv_cache_dtype is turboquant_4bit_nc", "nobody has shown it"),
    ),
    (DEEPSEEK, {"kv_cache_dtype": "nvfp4_ds_mla"}, ()),
    (GLM, {"kv_cache_dtype": "bfloat16"}, ("kv_cache_dtype is bfloat16", "expected fp8_e4m3")),
    (GLM, {"kv_cache_dtype": "fp8"}, ("kv_cache_dtype is fp8:", "selects fp8_ds_mla", "expected fp8_e4m3")),
    (GLM, {"kv_cache_dtype": "fp8_e4m3"}, ()),
    (LAB, {"kv_cache_dtype": "auto"}, ()),
    (GLM, {"kv_cache_memory_bytes": 30 * GIB}, ("spark1: the KV cache is pinned to 30.0 GiB", "leave 29.2 GiB")),
    (GLM, {"kv_cache_memory_bytes": 29 * GIB}, ()),
    (MESH3, {"kv_cache_memory_bytes": 26 * GIB}, ("pinned to 26.0 GiB", "leave 18.1 GiB")),
    (MESH3, {"kv_cache_memory_bytes": 16 * GIB}, ()),
    (GLM, {"kv_cache_memory_bytes": 6 * GIB}, ("max_model_len is 1048576", "978714 tokens", "6902775808 or more")),
    (GLM, {"kv_cache_memory_bytes": 6902775808}, ()),
    (GLM, {"max_model_len": 4241096}, ()),
    (
        GLM,
        {"max_model_len": 4241097},
        ("max_model_len is 4241097", "4241096 tokens (measured)", "lower engine.max_model_len"),
    ),
    (DEEPSEEK, {"max_model_len": 2097152}, ("1399106 tokens", "raise engine.gpu_memory_utilization")),
    (LAB, {"max_model_len": 1048576}, ()),
    (LAB, {"max_model_len": 1048577}, ("1048576 tokens (derived)",)),
    (GLM, {"blok_size": 2304}, ("engine.blok_size is not an argument", "did you mean 'block_size'")),
    (
        GLM,
        {"tensor_parallel_size": 4},
        ("engine.tensor_parallel_size is not for a recipe", "number of nodes of the plan"),
    ),
    (GLM, {"speculative_config": {}}, ("engine.speculative_config is not for a recipe", "drafter")),
    (GLM, {"max_num_seqs": "many"}, ("engine.max_num_seqs is 'many'", "an integer")),
    (GLM, {"max_num_seqs": True}, ("engine.max_num_seqs is the boolean true", "an integer")),
    (GLM, {"max_num_seqs": "16"}, ()),
    (GLM, {"gpu_memory_utilization": 1.5}, ("gpu_memory_utilization is the number 1.5", "up to 1")),
    (GLM, {"gpu_memory_utilization": "0.8"}, ()),
    (GLM, {"enable_prefix_caching": "perhaps"}, ("enable_prefix_caching is 'perhaps'", "true or false")),
    (GLM, {"enable_prefix_caching": "no"}, ()),
    (GLM, {"limit_mm_per_prompt": '{"image": 4}'}, ()),
    (GLM, {"reasoning_parser": None}, ()),
]

# (recipe, layout, nodes)
LAYOUTS: list[tuple[str, str, int, tuple[str, ...]]] = [
    (MESH3, "ring", 4, ("triangle or switch of 3 nodes", "ring of 4", "form a line", "recable to a triangle")),
    (MESH3, "triangle", 3, ()),
    (MESH3, "switch", 3, ()),
    (GLM, "ring", 4, ()),
    (GLM, "switch", 4, ()),
    (
        GLM,
        "triangle",
        3,
        ("64 attention heads", "64 linear attention heads", "2048 expert columns", "do not divide by 3"),
    ),
    (
        GLM,
        "triangle",
        3,
        ("154880 words of the vocabulary", "32 heads of the drafter", "8 KV heads of the drafter", "padded"),
    ),
    (GLM, "ring", 8, ("ring or switch of 4 nodes, the plan is a ring of 8",)),
    (GLM, "pair", 2, ("ring or switch of 4 nodes, the plan is a pair of 2",)),
    (DEEPSEEK, "pair", 2, ()),
    (DEEPSEEK, "ring", 4, ("pair or switch of 2 nodes, the plan is a ring of 4",)),
    (LAB, "pair", 2, ()),
    (LAB, "triangle", 3, ("4 attention heads", "8704 words of the vocabulary", "do not divide by 3")),
    (LAB, "ring", 4, ()),
]

FEATURES: list[tuple[str, dict[str, bool], dict[str, Any], tuple[str, ...]]] = [
    # The stock release has the number and none of the fixes.
    (DEEPSEEK, world.STOCK_0271, {}, ("sm12x_kernels", "c128a_stable_width", "kv_zero_stride", "max_num_seqs to 2")),
    (DEEPSEEK, {"nvfp4_ds_mla": False}, {"kv_cache_dtype": "nvfp4_ds_mla"}, ("does not know", "take fp8_ds_mla")),
    (DEEPSEEK, {"nvfp4_ds_mla": False}, {}, ()),
    (DEEPSEEK, {"short_extend_tiering": False}, {}, ("lacks short_extend_tiering", "torch==2.13.0")),
    (DEEPSEEK, {"sm12x_indexer_dispatch": False}, {"max_num_seqs": 1}, ("lacks sm12x_indexer_dispatch",)),
    (DEEPSEEK, {"tp_padding": False, "glm5_next": False, "dflash": False}, {}, ()),
    (DEEPSEEK, {"kv_zero_launch": False}, {}, ("lacks kv_zero_launch", "vllm#52058", "fluent and wrong")),
    (DEEPSEEK, {"kv_zero_launch": False}, {"max_num_seqs": 3}, ("lacks kv_zero_launch",)),
    (DEEPSEEK, {"kv_zero_launch": False}, {"max_num_seqs": 2}, ()),
    (DEEPSEEK, dict.fromkeys(KV_BLOCK_FIXES, False), {"max_num_seqs": 2}, ()),
    (DEEPSEEK, dict.fromkeys(KV_BLOCK_FIXES, False), {"max_num_seqs": None}, ("lacks kv_zero_stride",)),
    (GLM, dict.fromkeys(KV_BLOCK_FIXES, False), {}, ("lacks kv_zero_stride",)),
    (MESH3, {"tp_padding": False}, {}, ("lacks tp_padding",)),
    (GLM, {"tp_padding": False}, {}, ()),
    # Its layers have KV of their own.
    (LAB, dict.fromkeys(KV_BLOCK_FIXES, False), {}, ()),
    (LAB, {"multi_node": False}, {}, ("lacks multi_node", "vllm==0.27.1")),
]

NODES: list[tuple[str, str, dict[str, Any], tuple[str, ...]]] = [
    (DEEPSEEK, "spark2", {"sm": "9.0"}, ("spark2 has compute capability 9.0", "tuned for 12.1")),
    (DEEPSEEK, "spark2", {"sm": "sm_121a"}, ()),
    (DEEPSEEK, "spark2", {"sm": "121"}, ()),
    (DEEPSEEK, "spark2", {"sm": "fast"}, ("nodes.spark2.sm is 'fast'",)),
    (LAB, "spark2", {"sm": "12.1"}, ()),
    (GLM, "spark3", {"memory_bytes": 64 * GIB}, ("spark3: the KV cache is pinned", "leave 0.0 GiB")),
    (GLM, "spark3", {"memory_bytes": "much"}, ("nodes.spark3.memory_bytes is 'much'",)),
    (DEEPSEEK, "spark1", {"memory_bytes": 96 * GIB}, ("spark1: the model does not fit",)),
    (DEEPSEEK, "spark2", {"vllm": {"installed": False, "detail": "no vLLM"}}, ("spark2: no vLLM", "torch==2.13.0")),
    (
        DEEPSEEK,
        "spark2",
        {"vllm": world.build(DEEPSEEK, version="0.28.0")},
        ("spark2 has vLLM 0.28.0", "expected 0.27."),
    ),
    (DEEPSEEK, "spark2", {"vllm": world.build(DEEPSEEK, build="cpu")}, ("spark2 has a cpu build",)),
    (DEEPSEEK, "spark2", {"vllm": world.build(DEEPSEEK, nccl="2.28.9")}, ("spark2 has NCCL 2.28.9", "2.30.7 or newer")),
    (DEEPSEEK, "spark2", {"vllm": world.build(DEEPSEEK, commit="abc1234")}, ("differ in commit", "abc1234 on spark2")),
    (GLM, "spark4", {"vllm": world.build(GLM, record_sha256="e" * 64)}, ("differ in record_sha256", "on spark4")),
    (GLM, "spark4", {"vllm": world.build(GLM)}, ()),
    (LAB, "spark4", {"vllm": world.build(LAB, version="0.27.10")}, ("differ in version",)),
    (GLM, "spark9", {}, ("nodes has 'spark9', which is not in the plan",)),
    (GLM, "spark1", {"memory": 1}, ("nodes.spark1.memory is not known",)),
    (GLM, "spark1", {"environment": {"NCCL_IB_GID_INDEX": 3}}, ("nodes.spark1.environment is",)),
]

SETTINGS: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    (GLM, {"image": None}, ("vllm_image is not set", "45b438b")),
    (GLM, {"image": "spark-glm53:v9"}, ("vllm_image is 'spark-glm53:v9': a tag can move",)),
    (GLM, {"image": f"registry.example/glm53@{world.IMAGE}"}, ()),
    (GLM, {"image": world.IMAGE}, ()),
    (DEEPSEEK, {"image": None}, ()),
    (
        DEEPSEEK,
        {"model_path": "/srv/models/DeepSeek-V4-Flash"},
        ("named after deepseek-ai/DeepSeek-V4-Flash", "preview"),
    ),
    (
        DEEPSEEK,
        {"model_path": "/srv/hub/models--deepseek-ai--DeepSeek-V4-Flash-DSpark/snapshots/x"},
        ("four weeks older",),
    ),
    (DEEPSEEK, {"model_path": "/srv/hub/models--deepseek-ai--DeepSeek-V4-Flash-0731/snapshots/x"}, ()),
    (DEEPSEEK, {"model_path": "/srv/models/deepseek-v4-flash-0731"}, ()),
    (GLM, {"model_path": "/srv/models/GLM-5.3-Flash-NVFP4"}, ()),
    (
        GLM,
        {"model_path": "/srv/hub/models--RedHatAI--GLM-5.3-Flash-NVFP4/snapshots/x"},
        ("RedHatAI/GLM-5.3-Flash-NVFP4",),
    ),
    (GLM, {"model_path": "/srv/my models/glm"}, ("model_path is '/srv/my models/glm'", "no blanks")),
    (GLM, {"api_port": 29501}, ("api_port and master_port are both 29501",)),
    (GLM, {"api_port": "8888"}, ()),
    (GLM, {"api_port": 0}, ("api_port is the number 0",)),
    (GLM, {"master_port": True}, ("master_port is the boolean true",)),
]

ENV_LINES: list[tuple[str, str]] = [
    # The default of a third-party recipe at one commit, and what the article's author fell for.
    ("DSPARK_MODEL=deepseek-ai/DeepSeek-V4-Flash-Vision-Exp", "line 2, sets deepseek-ai/DeepSeek-V4-Flash-Vision-Exp"),
    ("MODEL=deepseek-ai/DeepSeek-V4-Flash", "line 2, sets deepseek-ai/DeepSeek-V4-Flash, which is an earlier preview"),
    ("MODEL='deepseek-ai/DeepSeek-V4-Flash-DSpark'  # fast", "sets deepseek-ai/DeepSeek-V4-Flash-DSpark"),
    ("  - MODEL=${DSPARK_MODEL:-deepseek-ai/DeepSeek-V4-Flash-DSpark}", "sets deepseek-ai/DeepSeek-V4-Flash-DSpark"),
    ("HF=/cache/hub/models--deepseek-ai--DeepSeek-V4-Flash/snapshots/1", "sets deepseek-ai/DeepSeek-V4-Flash, "),
    ("MODEL=DeepSeek-AI/deepseek-v4-flash", "sets deepseek-ai/DeepSeek-V4-Flash, "),
    ("DSPARK_MODEL=deepseek-ai/DeepSeek-V4-Flash-0731", ""),
    ("SERVED_MODEL_NAME=deepseek-v4-flash", ""),
    ("# DSPARK_MODEL=deepseek-ai/DeepSeek-V4-Flash", ""),
    ("DSPARK_MODEL=deepseek-ai/DeepSeek-V4-Flash-0731 # not deepseek-ai/DeepSeek-V4-Flash", ""),
    ("MODEL=someone/deepseek-ai/DeepSeek-V4-Flash-mine", ""),
    ("MODEL=deepseek-ai/DeepSeek-V4-Flash.1", ""),
]


def refused(name: str, plan: Mapping[str, Any] | None = None, nodes: Any = None, **settings: Any) -> str:
    """The words of the refusal; none when it was accepted."""
    home = dict(plan or world.HOME[name])
    try:
        resolve(world.load(name), home, nodes or world.nodes(name, home), **(world.settings(name) | settings))
    except RecipeError as exc:
        return str(exc)
    return ""


def judge(said: str, words: tuple[str, ...]) -> None:
    if not words:
        assert said == ""
    for word in words:
        assert word in said


@pytest.mark.parametrize(("name", "engine", "words"), ENGINE)
def test_arguments(name: str, engine: dict[str, Any], words: tuple[str, ...]) -> None:
    judge(refused(name, engine=engine), words)


@pytest.mark.parametrize(("name", "layout", "size", "words"), LAYOUTS)
def test_layouts(name: str, layout: str, size: int, words: tuple[str, ...]) -> None:
    judge(refused(name, world.plan(layout, size)), words)


@pytest.mark.parametrize(("name", "features", "engine", "words"), FEATURES)
def test_features_of_the_installed_vllm(
    name: str, features: dict[str, bool], engine: dict[str, Any], words: tuple[str, ...]
) -> None:
    has = dict(world.build(name)["features"])
    if features is world.STOCK_0271:
        has = dict.fromkeys(has, False)
    judge(refused(name, nodes=world.nodes(name, features=has | features), engine=engine), words)


@pytest.mark.parametrize(("name", "host", "changes", "words"), NODES)
def test_nodes(name: str, host: str, changes: dict[str, Any], words: tuple[str, ...]) -> None:
    nodes = world.nodes(name)
    nodes[host] = nodes.get(host, {}) | changes
    judge(refused(name, nodes=nodes), words)


@pytest.mark.parametrize(("name", "settings", "words"), SETTINGS)
def test_settings(name: str, settings: dict[str, Any], words: tuple[str, ...]) -> None:
    judge(refused(name, **settings), words)


@pytest.mark.parametrize(("line", "words"), ENV_LINES)
def test_a_default_of_other_peoples_files(line: str, words: str) -> None:
    said = refused(DEEPSEEK, env_files={"/opt/other/.env": f"# defaults\n{line}\n"})
    judge(said, (words, "/opt/other/.env") if words else ())


def test_everything_wrong_is_said_at_once() -> None:
    nodes = world.nodes(GLM)
    nodes["spark4"] |= {"memory_bytes": 32 * GIB, "vllm": {"installed": False, "detail": "no vLLM"}}
    said = refused(GLM, nodes=nodes, image="glm:latest", engine={"kv_cache_dtype": "fp8", "foo": 1}).splitlines()
    assert [line.split(":")[0].split(" is ")[0] for line in said] == [
        "engine.foo",
        "engine.kv_cache_dtype",
        "spark4",
        "vllm_image",
        "spark4",
    ]


def test_the_refusal_of_a_plan_that_is_none() -> None:
    with pytest.raises(RecipeError, match="the plan is nothing"):
        resolve(world.load(LAB), None, {})


@hypothesis(deadline=None)
@given(st.sampled_from(world.NAMES), st.integers(1, 64), st.integers(1, 8 << 20))
def test_what_is_accepted_fits(name: str, pin_gib: int, context: int) -> None:
    """Whatever pin and context are asked for: accepted means that memory and pool hold them."""
    engine: dict[str, Any] = {"max_model_len": context}
    if name in (GLM, MESH3):
        engine["kv_cache_memory_bytes"] = pin_gib * GIB
    said = refused(name, engine=engine).splitlines()
    assert all(line.startswith(("spark", "engine.max_model_len")) for line in said)
    if not said:
        served: Any = resolve(
            world.load(name), world.HOME[name], world.nodes(name), engine=engine, **world.settings(name)
        )
        assert served["expect"]["kv_tokens"] >= context == served["expect"]["max_model_len"]
        assert all(node["left_bytes"] >= 0 for node in served["memory"])
