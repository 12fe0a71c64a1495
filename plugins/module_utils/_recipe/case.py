# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""A recipe on a plan and its nodes, with the user's changes: what is judged, and what is resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .model import Recipe, Size
from .nodes import Node

GIB = 1 << 30
CPU_SPACE = "VLLM_CPU_KVCACHE_SPACE"


@dataclass(frozen=True, slots=True)
class Case:
    """C(engine) is the recipe's with the changes; C(size) is null when the recipe has none for so many nodes."""

    recipe: Recipe
    layout: str
    nodes: tuple[Node, ...]
    engine: Mapping[str, object]
    size: Size | None
    model_path: str
    drafter_path: str | None
    image: str | None = None
    texts: Mapping[str, str] = field(default_factory=dict)

    def count(self, name: str) -> int | None:
        """An argument that is a number of something; null when it is left to vLLM."""
        value: Any = self.engine.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def dtype(self) -> str:
        """The KV cache's data type, by the name that vLLM gives it."""
        word = str(self.engine.get("kv_cache_dtype", "auto")).lower()
        return {"bf16": "bfloat16", "fp16": "float16", "half": "float16"}.get(word, word)

    def kv_bytes(self) -> int | None:
        """The pinned size of a rank's KV cache; null when vLLM takes what is left. On a CPU the variable wins."""
        space = self.recipe.environment.get(CPU_SPACE, "")
        if self.recipe.runtime.build == "cpu" and space.isdecimal():
            return int(space) * GIB
        return self.count("kv_cache_memory_bytes")

    def kv_tokens(self) -> int | None:
        """Tokens that the pool is expected to hold: the recipe's figure, in proportion to the pin.

        A rank's share of a token's KV is of one size, so the proportion holds as long as block size, data type and
        drafter stay. A pool that vLLM sizes itself is known only as it was measured.
        """
        if self.size is None:
            return None
        pinned = self.kv_bytes()
        if pinned is None or self.size.kv_bytes is None:
            return self.size.kv_tokens
        return self.size.kv_tokens * pinned // self.size.kv_bytes


def gib(count: float) -> str:
    return f"{count / GIB:.1f} GiB"
