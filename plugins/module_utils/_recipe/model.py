# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""What a recipe says. Every key is required: null says that a thing is not there, or not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Identity:
    """By what the files of the checkpoint are told from its lookalikes."""

    shards: int | None
    tensors: int | None
    mtp_tensors: int | None
    total_gb: float | None
    index_sha256: str | None
    config_sha256: str | None


@dataclass(frozen=True, slots=True)
class Shape:
    """What tensor parallelism splits. C(expert_columns) is the width of one routed expert."""

    attention_heads: int
    linear_attention_heads: int | None
    expert_columns: int | None
    vocabulary: int


@dataclass(frozen=True, slots=True)
class Model:
    """C(compress_ratio) is the largest of the checkpoint, C(packed_kv) whether vLLM packs all layers into one block."""

    repository: str
    revision: str | None
    path: str
    served_name: str
    licence: str
    lookalikes: Mapping[str, str]
    identity: Identity
    shape: Shape
    compress_ratio: int | None
    packed_kv: bool
    kv_cache_dtypes: tuple[str, ...]
    kv_cache_dtypes_refused: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Drafter:
    """Who drafts. Without a repository the drafter is part of the checkpoint, or no model at all."""

    method: str
    tokens: int
    repository: str | None
    revision: str | None
    path: str | None
    licence: str | None
    heads: int | None
    kv_heads: int | None
    options: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Snapshots:
    """Processed weights that each rank keeps for later starts, in a build that does so.

    The variables tell it the folder and a tag; C(gib) is what one rank writes.
    """

    directory_variable: str
    tag_variable: str
    gib: float


@dataclass(frozen=True, slots=True)
class Runtime:
    """C(versions) are beginnings of vLLM's version; none means that C(features) decide."""

    kind: Literal["venv", "container"]
    build: Literal["cuda", "cpu"]
    versions: tuple[str, ...]
    requirements: tuple[str, ...]
    features: tuple[str, ...]
    cuda: str | None
    image: str | None
    image_variable: str | None
    snapshots: Snapshots | None


@dataclass(frozen=True, slots=True)
class Size:
    """One degree of tensor parallelism. C(other_gib) is all that is neither weights nor KV on the tightest node."""

    tensor_parallel: int
    weights_gib: float
    other_gib: float
    kv_bytes: int | None
    kv_tokens: int
    how: Literal["measured", "derived"]


@dataclass(frozen=True, slots=True)
class Expect:
    """What the server must have resolved."""

    block_size: int | None
    kv_cache_dtype: str
    attention_backend: str | None
    nccl: str | None


@dataclass(frozen=True, slots=True)
class Guards:
    """Thresholds of the quality guards. Null or none leaves a guard out."""

    count_to: int
    count_runs: int
    acceptance_least: float | None
    acceptance_collapse: float | None
    corruption_passes: int
    documents: int
    documents_least: int
    block_tokens: int
    margin_least: float
    needle_tokens: tuple[int, ...]
    needles: int
    needle_depths_percent: tuple[int, ...]
    tool_calls: int
    smoke_cases: int | None
    images: bool
    video: bool
    preemptions_most: int
    stall_seconds: int


@dataclass(frozen=True, slots=True)
class Speed:
    """What was measured with this recipe, the lower figure of a range."""

    count_tokens_per_second: float | None
    code_tokens_per_second: float | None
    prose_en_tokens_per_second: float | None
    prose_es_tokens_per_second: float | None
    two_streams_tokens_per_second: float | None
    prefill_tokens_per_second: float | None
    prefill_tokens: int | None
    turn1_ttft_seconds: float | None
    turn2_ttft_seconds: float | None
    needle_seconds: float | None
    long_tokens_per_second: float | None


@dataclass(frozen=True, slots=True)
class Boot:
    """Times of the first boot, and the limit after which a boot has failed."""

    first_seconds: float | None
    load_seconds: float | None
    snapshot_seconds: float | None
    capture_seconds: float | None
    limit_seconds: int


@dataclass(frozen=True, slots=True)
class Recipe:
    schema: int
    name: str
    summary: str
    layouts: tuple[Literal["pair", "triangle", "ring", "switch"], ...]
    sizes: tuple[Size, ...]
    sm: tuple[str, ...]
    runtime: Runtime
    model: Model
    drafter: Drafter | None
    engine: Mapping[str, object]
    environment: Mapping[str, str]
    api_port: int
    master_port: int
    expect: Expect
    guards: Guards
    speed: Speed
    boot: Boot
    why: Mapping[str, str]

    def size(self, nodes: int) -> Size | None:
        """The degree of tensor parallelism that takes all nodes."""
        return next((size for size in self.sizes if size.tensor_parallel == nodes), None)
