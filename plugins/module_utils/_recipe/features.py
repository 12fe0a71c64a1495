# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""What an installed vLLM can do and which faults it has: texts in its source files. A table that grows.

A text that is not there says only that: a later release may cure the same fault in another form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import did_you_mean


@dataclass(frozen=True, slots=True)
class Feature:
    """Present when, in each of the files, one of its texts is found and none of C(faults). Paths are below vllm's."""

    name: str
    what: str
    texts: Mapping[str, tuple[str, ...]]
    faults: tuple[str, ...] = ()


_WORKER = "v1/worker/utils.py"
_SPARSE = "models/deepseek_v4/sparse_mla.py"
_SM12X = "models/deepseek_v4/nvidia/ops/sm12x_deep_gemm_fallbacks.py"
_TIERING = ("sparse_short_extend_tiering",)

FEATURES = (
    Feature(
        "kv_zero_stride",
        "a block's page and the distance to the next block are kept apart when it is zeroed (vllm#50276)",
        {_WORKER: ("seg_block_strides",)},
    ),
    Feature(
        "kv_zero_all_attention",
        "blocks of every kind of attention are zeroed (vllm#51749)",
        {_WORKER: ("if not isinstance(spec, AttentionSpec):",)},
    ),
    Feature(
        "kv_zero_launch",
        "the kernel that zeroes blocks is launched on a grid that cannot overflow (vllm#52058)",
        {_WORKER: ("grid = (n_blocks, n_segs, max_chunks)",)},
    ),
    Feature(
        "c128a_stable_width",
        "the C128A row stride is the one that the CUDA graph was captured with (vllm#51318)",
        {
            _SPARSE: (
                "active_topk_width = self.c128a_max_compressed",
                "max_compressed_tokens=self.c128a_max_compressed",
            )
        },
    ),
    Feature(
        "short_extend_tiering",
        "the three builders of sparse attention draw the line between decode and prefill alike",
        {
            _SPARSE: _TIERING,
            "v1/attention/backends/mla/sparse_swa.py": _TIERING,
            "v1/attention/backends/mla/indexer.py": _TIERING,
        },
    ),
    Feature(
        "sm12x_kernels",
        "DeepSeek V4 has kernels for compute capability 12.x (vllm#41834)",
        {_SM12X: ("def _fp8_mqa_logits_sm12x",)},
    ),
    Feature(
        "sm12x_indexer_dispatch",
        "long prompts do not fall back to PyTorch in the indexer, half an hour at 96 % GPU",
        {_SM12X: ("def _fp8_mqa_logits_sm12x",)},
        ("if clean_logits and q_scale is None",),
    ),
    Feature("fp8_ds_mla", "the packed FP8 layout of sparse MLA", {"config/cache.py": ('"fp8_ds_mla"',)}),
    Feature("nvfp4_ds_mla", "the name nvfp4_ds_mla of the same layout", {"config/cache.py": ('"nvfp4_ds_mla"',)}),
    Feature(
        "deepseek_v4", "the model DeepSeek V4", {"model_executor/models/registry.py": ('"DeepseekV4ForCausalLM"',)}
    ),
    Feature(
        "glm5_next",
        "the model GLM-5.3-Flash",
        {"model_executor/models/registry.py": ('"Glm5NextForCausalLM"', '"Glm5NextForConditionalGeneration"')},
    ),
    Feature("dspark", "DSpark drafts", {"config/speculative.py": ('"dspark"',)}),
    Feature("dflash", "DFlash drafts", {"config/speculative.py": ('"dflash"',)}),
    Feature("sparse_indexer_topk", "--sparse-indexer-topk-backend", {"engine/arg_utils.py": ("sparse_indexer_topk",)}),
    Feature(
        "tp_padding", "zero-padded checkpoints of GLM-5.3-Flash", {"models/glm5next/common/tp3pad.py": ("tp_pad_orig",)}
    ),
    Feature("multi_node", "--nnodes, --node-rank and --headless", {"engine/arg_utils.py": ('"--nnodes"',)}),
)

BY_NAME = {feature.name: feature for feature in FEATURES}

KV_BLOCK_FIXES = ("kv_zero_stride", "kv_zero_all_attention", "kv_zero_launch")
"""Without all three a block of another request is wiped once three prefill at the same time."""


def near(name: str) -> str:
    return did_you_mean(name, BY_NAME)


def wanted() -> dict[str, list[str]]:
    """Each file with all texts to look for."""
    files: dict[str, set[str]] = {}
    for feature in FEATURES:
        for path, texts in feature.texts.items():
            files.setdefault(path, set()).update(texts, feature.faults)
    return {path: sorted(texts) for path, texts in sorted(files.items())}


def judge(found: Mapping[str, Iterable[str]]) -> dict[str, bool]:
    """Features by the texts that were found in each file; a file that is not there has none."""
    there = {path: set(texts) for path, texts in found.items()}
    return {
        feature.name: all(
            there.get(path, set()) & set(texts) and not there[path] & set(feature.faults)
            for path, texts in feature.texts.items()
        )
        for feature in FEATURES
    }
