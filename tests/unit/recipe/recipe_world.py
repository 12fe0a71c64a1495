# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The recipes of the collection, plans to serve them on, and nodes that are as they should be."""

from __future__ import annotations

import copy
import functools
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.switchless.spark.plugins.module_utils._recipe.features import BY_NAME

RECIPES = Path(__file__).resolve().parents[3] / "roles/vllm/vars/recipes"
NAMES = tuple(sorted(path.stem for path in RECIPES.glob("*.yml")))
GLM, MESH3, DEEPSEEK, LAB = "glm-5.3-flash-nvfp4", "glm-5.3-flash-nvfp4-mesh3", "deepseek-v4-flash-0731", "lab"
GIB = 1 << 30
IMAGE = "sha256:" + "0123456789abcdef" * 4

# PyTorch's figures of the second article's two Sparks, 4 KiB apart.
SPARK_BYTES = (130_663_235_584, 130_663_231_488)

STOCK_0271 = {
    "deepseek_v4": True,
    "dspark": True,
    "dflash": True,
    "fp8_ds_mla": True,
    "multi_node": True,
}
"""What the source of vLLM 0.27.1 has, looked up in it."""


@functools.cache
def _read(name: str) -> Any:
    return yaml.safe_load((RECIPES / f"{name}.yml").read_text())["__vllm_recipe"]


def load(name: str) -> Any:
    """A recipe of one's own, to change."""
    return copy.deepcopy(_read(name))


def plan(layout: str, size: int) -> dict[str, Any]:
    order = [f"spark{number}" for number in range(1, size + 1)]
    return {"schema": 1, "layout": layout, "size": size, "order": order, "head": order[0]}


HOME = {GLM: plan("ring", 4), MESH3: plan("triangle", 3), DEEPSEEK: plan("pair", 2), LAB: plan("ring", 4)}


def build(name: str, **changes: Any) -> dict[str, Any]:
    """What vllm_build_info says where the recipe's vLLM is installed."""
    features = dict.fromkeys(BY_NAME, True)
    good = {"installed": True, "version": "0.27.1", "commit": None, "build": "cuda", "features": features}
    if name == LAB:
        good |= {"version": "0.27.1+cpu", "build": "cpu", "features": dict.fromkeys(BY_NAME, False) | STOCK_0271}
    return good | {"record_sha256": "f" * 64, "nccl": None if name == LAB else "2.30.7", "detail": ""} | changes


def nodes(name: str, home: dict[str, Any] | None = None, **build_changes: Any) -> dict[str, Any]:
    return {
        host: {
            "memory_bytes": SPARK_BYTES[rank % 2] if name != LAB else 24 * GIB,
            "sm": "cpu" if name == LAB else "12.1",
            "vllm": build(name, **build_changes),
            "address": f"192.0.2.{11 + rank}",
            "environment": {"VLLM_HOST_IP": f"192.0.2.{11 + rank}"},
        }
        for rank, host in enumerate((home or HOME[name])["order"])
    }


def settings(name: str) -> dict[str, Any]:
    return {"image": IMAGE} if name in (GLM, MESH3) else {}
