# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small checkpoints, written by hand, and fabrics to carry them."""

from __future__ import annotations

import importlib.util
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.cache import Cache
from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.index import INDEX
from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.look import Seen, look
from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.manifest import Manifest
from ansible_collections.switchless.spark.plugins.module_utils._fabric.model import Plan
from ansible_collections.switchless.spark.plugins.module_utils._fabric.plan import build_plan

ROLE = Path(__file__).resolve().parents[3] / "roles/checkpoint"
COMMIT = "7872f01b1d1fe23eabc4c98b48bffcef5a386062"
WIDTH = {"U8": 1, "BF16": 2, "F32": 4}
TENSORS: dict[str, dict[str, tuple[str, list[int]]]] = {
    "model-00001-of-00003.safetensors": {"embed": ("BF16", [8, 16]), "layers.0.up": ("U8", [4, 4])},
    "model-00002-of-00003.safetensors": {"layers.1.up": ("F32", [2, 3]), "mtp.0.up": ("U8", [32])},
    "model-00003-of-00003.safetensors": {"mtp.0.norm": ("BF16", [16]), "norm": ("BF16", [16])},
}
SHARDS = sorted(TENSORS)


def safetensors(tensors: Mapping[str, tuple[str, Sequence[int]]], seed: int = 0) -> bytes:
    """A file of the format, with bytes that differ from tensor to tensor."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, (dtype, shape) in tensors.items():
        size = WIDTH[dtype] * math.prod(shape)
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + size]}
        data += bytes((len(data) + 7 * at + seed) % 251 for at in range(size))
    return framed(header, data)


def framed(header: object, data: bytes) -> bytes:
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(raw).to_bytes(8, "little") + raw + data


def index(tensors: Mapping[str, Mapping[str, Any]]) -> str:
    places = {tensor: name for name, found in tensors.items() for tensor in found}
    total = sum(WIDTH[dtype] * math.prod(shape) for found in tensors.values() for dtype, shape in found.values())
    return json.dumps({"metadata": {"total_size": total}, "weight_map": places})


def build(folder: Path, *, seed: int = 0) -> Path:
    """A sound checkpoint of three shards."""
    folder.mkdir(parents=True)
    for name, tensors in TENSORS.items():
        (folder / name).write_bytes(safetensors(tensors, seed))
    (folder / INDEX).write_text(index(TENSORS))
    (folder / "config.json").write_text('{"model_type": "deepseek_v4"}')
    (folder / "README.md").write_text("# DeepSeek-V4-Flash-0731\n")
    (folder / "encoding").mkdir()
    (folder / "encoding/vocab.txt").write_text("a\nb\n")
    return folder


def downloaded(folder: Path, *, commit: str = COMMIT) -> None:
    """What the hub's tool leaves beside the files."""
    seen = seen_of(folder)
    for file in seen.files.values():
        path = folder / ".cache/huggingface/download" / f"{file.name}.metadata"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{commit}\n{file.sha256}\n1785000000.5\n")


def seen_of(folder: Path) -> Seen:
    return look(str(folder), Cache({}), measure=True)[0]


def manifest_of(folder: Path) -> Manifest:
    found = seen_of(folder).manifest
    assert found is not None
    return found


def ring(size: int, cables: int | None = None) -> Plan:
    hosts = [f"spark{number}" for number in range(1, size + 1)]
    ends = [[f"{host}:p0", f"{hosts[(at + 1) % size]}:p1"] for at, host in enumerate(hosts)]
    return build_plan([{"ends": pair} for pair in ends[:cables]], hosts=hosts, head="spark1")


def switch(size: int, cages: Sequence[str]) -> Plan:
    hosts = [f"spark{number}" for number in range(1, size + 1)]
    return build_plan([{"ends": [f"{host}:{cage}", "switch"]} for host in hosts for cage in cages], hosts=hosts)


def agent() -> ModuleType:
    """The agent as it lies in the role, which is no package."""
    spec = importlib.util.spec_from_file_location("checkpoint_agent", ROLE / "files/checkpoint_agent.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["checkpoint_agent"] = module
    spec.loader.exec_module(module)
    return module
