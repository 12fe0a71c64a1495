# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""By what the processed weights that a rank keeps for later starts are told from those of other settings."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

ARGUMENTS_OF_NO_ACCOUNT = (
    "async_scheduling",
    "chat_template",
    "default_chat_template_kwargs",
    "disable_access_log_for_endpoints",
    "distributed_timeout_seconds",
    "enable_auto_tool_choice",
    "enable_chunked_prefill",
    "enable_prefix_caching",
    "enable_prompt_tokens_details",
    "generation_config",
    "gpu_memory_utilization",
    "kv_cache_memory_bytes",
    "long_prefill_token_threshold",
    "max_cudagraph_capture_size",
    "max_num_seqs",
    "override_generation_config",
    "reasoning_parser",
    "skip_mm_profiling",
    "tokenizer_mode",
    "tool_call_parser",
    "tool_parser_plugin",
)

VARIABLES_OF_NO_ACCOUNT = re.compile(
    # how the ranks reach each other, which differs by rank and cable
    r"(?:NCCL|GLOO|ARX|UCX|OMPI)_\w+|TP_SOCKET_IFNAME|VLLM_HOST_IP|VLLM_ARX_RING"
    # time-outs, logs, reports, and whether a hub is asked
    r"|VLLM_ENGINE_READY_TIMEOUT_S|VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS|VLLM_LOGGING_\w+"
    r"|VLLM_NO_USAGE_STATS|DO_NOT_TRACK|HF_HUB_OFFLINE|TRANSFORMERS_OFFLINE"
    # compilers and pools of memory
    r"|MAX_JOBS|PYTORCH_CUDA_ALLOC_CONF|TORCH_MEM_FRACTION|VLLM_CPU_KVCACHE_SPACE"
)


def tag(chosen: Mapping[str, Any], rank: Mapping[str, Any], made_with: Mapping[str, Any]) -> str:
    """The tag of a rank's snapshot, such as rank0of4-0123456789abcdef: the same as long as the snapshot is right.

    C(chosen) is what the filter vllm_recipe gave, C(rank) one of its ranks, and C(made_with) has digests of what is
    installed, C(vllm) and C(packages), and of the manifest of the C(checkpoint), each null where nobody knows it.

    What does B(not) matter is listed, and everything else does. A build that restores weights of the same shape which
    were made with other settings says nothing and answers wrongly; an argument or a variable that nobody thought of
    here makes a new tag, which costs one slow start.
    """
    checkpoint, ranks = chosen["checkpoint"], chosen["tensor_parallel"]
    matters = {
        "checkpoint": {name: checkpoint[name] for name in ("repository", "revision", "index_sha256", "config_sha256")},
        # Without a manifest the folder stands for the files in it.
        "files": made_with["checkpoint"] or chosen["model_path"],
        "drafter": {name: value for name, value in (chosen["drafter"] or {}).items() if name != "licence"},
        "image": chosen["runtime"]["image"],
        "vllm": made_with["vllm"],
        "packages": made_with["packages"],
        "rank": [rank["rank"], ranks],
        "arguments": {name: value for name, value in chosen["engine"].items() if name not in ARGUMENTS_OF_NO_ACCOUNT},
        "variables": {
            name: value for name, value in rank["environment"].items() if not VARIABLES_OF_NO_ACCOUNT.fullmatch(name)
        },
    }
    digest = hashlib.sha256(json.dumps(matters, sort_keys=True).encode()).hexdigest()
    return f"rank{rank['rank']}of{ranks}-{digest[:16]}"


def tags(chosen: Mapping[str, Any], made_with: Mapping[str, Any] | None) -> dict[str, str]:
    """By host the tag of its rank; none where the build keeps no snapshots, or nobody wants them."""
    if made_with is None or chosen["runtime"]["snapshots"] is None:
        return {}
    return {rank["host"]: tag(chosen, rank, made_with) for rank in chosen["ranks"]}
