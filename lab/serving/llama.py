# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Llama in plain Python, slow and without dependencies: what the lab's checkpoint answers, without a server.

It reads the files as a server would, and skips zeros, which is what makes it bearable: a prompt of 60 words takes a
second or two.
"""

from __future__ import annotations

import json
import math
import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Vector = list[float]
Sparse = list[list[tuple[int, float]]]


@dataclass(frozen=True)
class Answer:
    """The most likely next word, and the logarithm of its probability."""

    word: str
    log_probability: float


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was read."""

    config: dict[str, Any]
    vocabulary: dict[str, int]
    pieces: str
    weights: dict[str, Sparse]

    @classmethod
    def read(cls, folder: Path) -> Checkpoint:
        tokenizer = json.loads((folder / "tokenizer.json").read_text())
        pieces = tokenizer["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"]
        special = "|".join(re.escape(token["content"]) for token in tokenizer["added_tokens"])
        config = json.loads((folder / "config.json").read_text())
        weights = _weights((folder / "model.safetensors").read_bytes())
        return cls(config, tokenizer["model"]["vocab"], f"{special}|{pieces}", weights)

    def tokens(self, text: str) -> list[int]:
        unknown = self.vocabulary["<unk>"]
        return [self.vocabulary.get(piece, unknown) for piece in re.findall(self.pieces, text)]

    def answer(self, text: str) -> Answer:
        """What comes after `text`."""
        stream = [self._embedded(token) for token in self.tokens(text)]
        for layer in range(self.config["num_hidden_layers"]):
            stream = self._attend(stream, f"model.layers.{layer}.")
        final = self._normed(stream[-1], "model.norm.weight")
        logits = _product(self.weights["lm_head.weight"], final)
        best = max(range(len(logits)), key=logits.__getitem__)
        total = sum(math.exp(logit - logits[best]) for logit in logits)
        word = next((word for word, number in self.vocabulary.items() if number == best), "")
        return Answer(word, -math.log(total))

    def _embedded(self, token: int) -> Vector:
        row = [0.0] * self.config["hidden_size"]
        for column, value in self.weights["model.embed_tokens.weight"][token]:
            row[column] = value
        return row

    def _normed(self, row: Vector, name: str) -> Vector:
        scale = 1 / math.sqrt(sum(value * value for value in row) / len(row) + self.config["rms_norm_eps"])
        gain = self.weights[name]
        return [value * scale * gain[place][0][1] for place, value in enumerate(row)]

    def _attend(self, stream: list[Vector], prefix: str) -> list[Vector]:
        """One layer. Its feed-forward part must be zeros, as it is in the lab's model."""
        if any(row for row in self.weights[f"{prefix}mlp.down_proj.weight"]):
            raise ValueError(f"{prefix}mlp.down_proj.weight is not zero: this Llama has no feed-forward part")
        heads, size = self.config["num_attention_heads"], self.config["head_dim"]
        normed = [self._normed(row, f"{prefix}input_layernorm.weight") for row in stream]
        q, k, v = (
            [_product(self.weights[f"{prefix}self_attn.{name}_proj.weight"], row) for row in normed] for name in "qkv"
        )
        theta = self.config["rope_parameters"]["rope_theta"]
        for rows in (q, k):
            for position, row in enumerate(rows):
                _rotate(row, position, heads, size, theta)
        out = self.weights[f"{prefix}self_attn.o_proj.weight"]
        after = []
        for position, row in enumerate(stream):
            mixed: Vector = []
            for head in range(heads):
                part = slice(head * size, (head + 1) * size)
                mixed += _mix(q[position][part], [key[part] for key in k[: position + 1]], [value[part] for value in v])
            after.append([old + new for old, new in zip(row, _product(out, mixed), strict=True)])
        return after


def _weights(content: bytes) -> dict[str, Sparse]:
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__", None)
    return {name: _sparse(content, 8 + length, entry) for name, entry in header.items()}


def _sparse(content: bytes, base: int, entry: dict[str, Any]) -> Sparse:
    start, end = entry["data_offsets"]
    cells = struct.unpack_from(f"<{(end - start) // 4}f", content, base + start)
    columns = entry["shape"][1] if len(entry["shape"]) > 1 else 1
    return [
        [(column, cells[row + column]) for column in range(columns) if cells[row + column]]
        for row in range(0, len(cells), columns)
    ]


def _product(matrix: Sparse, vector: Sequence[float]) -> Vector:
    return [sum(value * vector[column] for column, value in row) for row in matrix]


def _rotate(row: Vector, position: int, heads: int, size: int, theta: float) -> None:
    """Rotary position: number i of a head turns with number i + size / 2."""
    for pair in range(size // 2):
        angle = position * theta ** (-2 * pair / size)
        cosine, sine = math.cos(angle), math.sin(angle)
        for base in range(0, heads * size, size):
            one, other = row[base + pair], row[base + pair + size // 2]
            row[base + pair] = one * cosine - other * sine
            row[base + pair + size // 2] = other * cosine + one * sine


def _mix(query: Vector, keys: list[Vector], values: list[Vector]) -> Vector:
    scores = [sum(map(float.__mul__, query, key)) / math.sqrt(len(query)) for key in keys]
    most = max(scores)
    shares = [math.exp(score - most) for score in scores]
    total = sum(shares)
    mixed = [0.0] * len(query)
    for share, value in zip(shares, values, strict=False):
        if share > 1e-12 * total:
            mixed = [old + new * share / total for old, new in zip(mixed, value, strict=True)]
    return mixed
