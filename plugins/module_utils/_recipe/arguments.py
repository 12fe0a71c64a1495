# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""vLLM's arguments: which a recipe may set, of what kind they are, and how they are written on the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import did_you_mean, shown

COUNT, FRACTION, FLAG, TEXT, JSON = "count", "fraction", "flag", "text", "json"

KINDS: Mapping[str, str] = {
    "async_scheduling": FLAG,
    "attention_backend": TEXT,
    "block_size": COUNT,
    "chat_template": TEXT,
    "compilation_config": JSON,
    "default_chat_template_kwargs": JSON,
    "disable_access_log_for_endpoints": TEXT,
    "distributed_timeout_seconds": COUNT,
    "dtype": TEXT,
    "enable_auto_tool_choice": FLAG,
    "enable_chunked_prefill": FLAG,
    "enable_expert_parallel": FLAG,
    "enable_prefix_caching": FLAG,
    "enable_prompt_tokens_details": FLAG,
    "enforce_eager": FLAG,
    "generation_config": TEXT,
    "gpu_memory_utilization": FRACTION,
    "hf_overrides": JSON,
    "kernel_config": JSON,
    "kv_cache_dtype": TEXT,
    "kv_cache_memory_bytes": COUNT,
    "limit_mm_per_prompt": JSON,
    "load_format": TEXT,
    "long_prefill_token_threshold": COUNT,
    "max_cudagraph_capture_size": COUNT,
    "max_model_len": COUNT,
    "max_num_batched_tokens": COUNT,
    "max_num_seqs": COUNT,
    "mm_encoder_tp_mode": TEXT,
    "moe_backend": TEXT,
    "override_generation_config": JSON,
    "quantization": TEXT,
    "reasoning_parser": TEXT,
    "safetensors_load_strategy": TEXT,
    "seed": COUNT,
    "skip_mm_profiling": FLAG,
    "sparse_indexer_topk_backend": TEXT,
    "tokenizer_mode": TEXT,
    "tool_call_parser": TEXT,
    "tool_parser_plugin": TEXT,
    "trust_remote_code": FLAG,
}

OURS: Mapping[str, str] = {
    "api_key": "the role gives it in the environment, where no process list shows it",
    "data_parallel_size": "a recipe is one tensor-parallel group",
    "distributed_executor_backend": "it is mp: vLLM's own multi-node mode",
    "headless": "it follows from the rank",
    "host": "it is the address that the user chose",
    "master_addr": "it is the head's address in the control plane",
    "master_port": "it is the recipe's master_port",
    "model": "it is the recipe's model.path",
    "nnodes": "it is the number of nodes of the plan",
    "node_rank": "it is the rank of the plan",
    "pipeline_parallel_size": "a recipe is one tensor-parallel group",
    "port": "it is the recipe's api_port",
    "served_model_name": "it is the recipe's model.served_name",
    "speculative_config": "it is the recipe's drafter",
    "tensor_parallel_size": "it is the number of nodes of the plan",
}

_WORDS = {
    COUNT: "an integer from 0",
    FRACTION: "a number above 0 and up to 1",
    FLAG: "true or false",
    TEXT: "text",
    JSON: "a mapping",
}


def problems(engine: Mapping[str, object], where: str) -> Iterator[str]:
    """What is wrong with arguments."""
    for name, value in engine.items():
        if name in OURS:
            yield f"{where}.{name} is not for a recipe to set: {OURS[name]}; remove it"
        elif name not in KINDS:
            yield f"{where}.{name} is not an argument that a recipe may set: remove it" + did_you_mean(name, KINDS)
        elif not _fits(KINDS[name], value):
            yield f"{where}.{name} is {shown(value)}: expected {_WORDS[KINDS[name]]}"


def typed(name: str, value: object) -> object:
    """A value from the command line of Ansible, where everything is text, as what it stands for."""
    if not isinstance(value, str):
        return value
    kind, word = KINDS.get(name), value.strip()
    if kind == COUNT and word.isdecimal():
        return int(word)
    if kind == FLAG and word.lower() in ("true", "false", "yes", "no"):
        return word.lower() in ("true", "yes")
    if kind in (FRACTION, JSON):
        try:
            return json.loads(word)
        except ValueError:
            return value
    return value


def argv(engine: Mapping[str, object]) -> list[str]:
    """The arguments, sorted by name, so that the same recipe is always the same command line."""
    words: list[str] = []
    for name, value in sorted(engine.items()):
        flag = "--" + name.replace("_", "-")
        if isinstance(value, bool):
            words.append(flag if value else "--no-" + flag[2:])
        elif isinstance(value, Mapping):
            words += [flag, compact(value)]
        else:
            words += [flag, str(value)]
    return words


def compact(value: object) -> str:
    """JSON without blanks, keys in order."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _fits(kind: str, value: object) -> bool:
    if kind == FLAG:
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    if kind == COUNT:
        return isinstance(value, int) and value >= 0
    if kind == FRACTION:
        return isinstance(value, (int, float)) and 0 < value <= 1
    if kind == JSON:
        return isinstance(value, Mapping)
    return isinstance(value, str) and bool(value.strip())
