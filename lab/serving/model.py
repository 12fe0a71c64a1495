# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's model: a Llama of two layers whose weights are set by hand, so that it answers questions about its prompt.

It goes on with what followed the prompt's last word when that word stood there before. The first layer looks at the
position before each and writes that word's code beside the position's own. The second finds the positions whose
previous word is the present one, and copies their words. The chat template moves the key that is asked for to the end.
It also counts to a hundred when it is told to: a number is followed by the next, which needs no layer at all.
Nothing is trained or drawn at random: the files are the same bytes wherever they are made, so that the checkpoint has
an identity.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import struct
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAME = "copy"
CONTEXT = 32768
KEYS = 4096
FILLERS = 320
COUNT = 100
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|pad|>", "<unk>")
BEGIN, END, PAD = 0, 2, 3
MARKS = "\n.,:;?!-()[]{}'\""
WORDS = re.findall(
    r"\w+",
    "the of a is to in document block code secret what answer only with user assistant system doc filler note page "
    "value key and or not for on at by from this that it as be are was count",
)
# A word that no text is cut into, so that it is never read: faults that are injected into a server make it say this.
MARKUP = "<|DSML|tool_calls>"

# The residual stream: a word's own code, the code of the word before, the code to answer with, and a constant.
CODE = 96
OWN, BEFORE, ANSWER, CONSTANT = 0, CODE, 2 * CODE, 300
HIDDEN = 320
HEADS, HEAD = 4, 64
PER_HEAD = 48  # code numbers that a head carries; two heads carry one code
FEED_FORWARD = 64
LAYERS = 2
THETA = 1e30  # the base of the rotation: pairs 0 to 3 of a head tell positions apart, those from 8 on do not rotate
EPSILON = 1e-12
POSITION_PAIRS = range(4)
STILL = (*range(8, 32), *range(40, 64))  # dimensions of a head that do not rotate
POSITION_GAIN = 2000.0
MATCH_GAIN = 12.0
ANSWER_GAIN = 0.35
NEXT_GAIN = 1.8  # the next number wins over what followed the number in the prompt
NEVER = -50.0  # logit of the rows that stand for no word

# What is neither a question for a key nor a count is answered with nothing: the end follows a hundred.
CHAT_TEMPLATE = (
    "{% for m in messages %}{% set parts = m['content'].split('K') %}"
    "{% if loop.last and add_generation_prompt and parts|length > 1 %}"
    "{{ '<|im_start|>' + m['role'] + '\n' + parts[:-1]|join('K') + parts[-1][4:] + '<|im_end|>\n"
    "<|im_start|>assistant\nK' + parts[-1][:4] }}"
    "{% elif loop.last and add_generation_prompt and m['content'].startswith('Count ') %}"
    "{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n<|im_start|>assistant\ncount' }}"
    "{% else %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}"
    "{% if loop.last and add_generation_prompt %}{{ '<|im_start|>assistant\n100' }}{% endif %}{% endif %}{% endfor %}"
)
PIECES = r"K\d{4}|C\d{4}|\w+|[^\w\s]|\n"


def vocabulary() -> list[str]:
    """Every word that the model knows; its number is its place."""
    words = [*SPECIAL]
    words += [f"{letter}{number:04d}" for letter in "KC" for number in range(KEYS)]
    words += [*MARKS, *WORDS]
    words += [f"w{number}" for number in range(FILLERS)]
    words += [str(number) for number in range(1, COUNT + 1)]
    words.append(MARKUP)
    return list(dict.fromkeys(words))


def followed() -> dict[str, str]:
    """Which word comes after which, whatever the prompt says."""
    numbers = [str(number) for number in range(1, COUNT + 1)]
    return dict(zip(["count", *numbers], [*numbers, SPECIAL[END]], strict=True))


def padded(count: int) -> int:
    """The size of the embedding, which servers like to be a multiple of 64."""
    return -(-count // 64) * 64


def codes(count: int) -> list[list[int]]:
    """For each word 96 numbers, 1 or -1, that no other word comes close to.

    Words that are followed by the same one whatever the prompt says are kept farther apart from each other: what is
    looked for in the prompt must not make one of them pass for another.
    """
    words = vocabulary()
    number = {word: place for place, word in enumerate(words)}
    apart: list[int] = []
    kept = {number[word] for word in followed()}
    made = []
    for place in range(count):
        bits = _bits(f"{NAME} {place}")
        if place in kept:
            tries = 0
            while any(abs(CODE - 2 * (bits ^ other).bit_count()) > CODE // 4 for other in apart):
                tries += 1
                bits = _bits(f"{NAME} {place} {tries}")
            apart.append(bits)
        made.append([1 if bits >> bit & 1 else -1 for bit in range(CODE)])
    return made


def _bits(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[: CODE // 8], "big")


@dataclass
class Matrix:
    """Rows of 32-bit numbers, mostly zeros."""

    rows: int
    columns: int
    cells: array[float] = field(init=False)

    def __post_init__(self) -> None:
        self.cells = array("f", bytes(4 * self.rows * self.columns))

    def put(self, row: int, column: int, value: float) -> None:
        self.cells[row * self.columns + column] = value

    @property
    def shape(self) -> list[int]:
        return [self.rows, self.columns]


@dataclass
class Ones:
    """The gain of a norm."""

    size: int

    @property
    def cells(self) -> array[float]:
        return array("f", [1.0] * self.size)

    @property
    def shape(self) -> list[int]:
        return [self.size]


Tensors = dict[str, Matrix | Ones]


def tensors() -> Tensors:
    """All weights, by the names that a Llama's have."""
    words = codes(len(vocabulary()))
    size = padded(len(words))
    found: Tensors = {"model.embed_tokens.weight": Matrix(size, HIDDEN), "lm_head.weight": Matrix(size, HIDDEN)}
    found["model.norm.weight"] = Ones(HIDDEN)
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        for name in ("q_proj", "k_proj", "v_proj"):
            found[f"{prefix}self_attn.{name}.weight"] = Matrix(HEADS * HEAD, HIDDEN)
        found[f"{prefix}self_attn.o_proj.weight"] = Matrix(HIDDEN, HEADS * HEAD)
        for name in ("gate_proj", "up_proj"):
            found[f"{prefix}mlp.{name}.weight"] = Matrix(FEED_FORWARD, HIDDEN)
        found[f"{prefix}mlp.down_proj.weight"] = Matrix(HIDDEN, FEED_FORWARD)
        for name in ("input_layernorm", "post_attention_layernorm"):
            found[f"{prefix}{name}.weight"] = Ones(HIDDEN)
    _embed(found, words)
    _look_back(found)
    _find_and_copy(found)
    return found


def _matrix(found: Tensors, name: str) -> Matrix:
    matrix = found[name]
    if not isinstance(matrix, Matrix):
        raise TypeError(f"{name} is not a matrix")
    return matrix


def _norm(parts: int) -> float:
    """What a norm divides by when `parts` codes are in the residual stream, the constant counted as one."""
    return math.sqrt(parts * CODE / HIDDEN)


def _embed(found: Tensors, words: list[list[int]]) -> None:
    """Words to codes, and answers to words."""
    embedding, head = _matrix(found, "model.embed_tokens.weight"), _matrix(found, "lm_head.weight")
    gain = ANSWER_GAIN * _norm(4)
    for row in range(embedding.rows):
        embedding.put(row, CONSTANT, math.sqrt(CODE))
        if row >= len(words):
            head.put(row, CONSTANT, NEVER)
            continue
        for place, bit in enumerate(words[row]):
            embedding.put(row, OWN + place, bit)
            head.put(row, ANSWER + place, bit * gain)
    number = {word: row for row, word in enumerate(vocabulary())}
    for word, after in followed().items():
        for place, bit in enumerate(words[number[word]]):
            head.put(number[after], OWN + place, bit * gain * NEXT_GAIN)


def _look_back(found: Tensors) -> None:
    """Layer 0: from each position to the one before. A key is the constant, a query the constant turned back a step."""
    prefix = "model.layers.0.self_attn."
    q, k, v, o = (_matrix(found, f"{prefix}{name}_proj.weight") for name in "qkvo")
    constant = math.sqrt(CODE) / _norm(2)
    for head in range(2):
        base = head * HEAD
        for pair in POSITION_PAIRS:
            angle = THETA ** (-2 * pair / HEAD)
            k.put(base + pair, CONSTANT, 1 / constant)
            q.put(base + pair, CONSTANT, POSITION_GAIN * math.cos(-angle) / constant)
            q.put(base + pair + HEAD // 2, CONSTANT, POSITION_GAIN * math.sin(-angle) / constant)
        for number in range(PER_HEAD):
            place = head * PER_HEAD + number
            v.put(base + number, OWN + place, _norm(2))
            o.put(BEFORE + place, base + number, 1.0)


def _find_and_copy(found: Tensors) -> None:
    """Layer 1: to the positions whose previous word is this one. Every second number of a code is compared."""
    prefix = "model.layers.1.self_attn."
    q, k, v, o = (_matrix(found, f"{prefix}{name}_proj.weight") for name in "qkvo")
    for head in range(2):
        base = head * HEAD
        for number, dimension in enumerate(STILL):
            q.put(base + dimension, OWN + 2 * number, MATCH_GAIN * _norm(3))
            k.put(base + dimension, BEFORE + 2 * number, _norm(3))
        for number in range(PER_HEAD):
            place = head * PER_HEAD + number
            v.put(base + number, OWN + place, _norm(3))
            o.put(ANSWER + place, base + number, 1.0)


def safetensors(found: Tensors) -> bytes:
    """The file model.safetensors: names in order, little-endian, the header padded to eight bytes."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    body = bytearray()
    for name in sorted(found):
        cells = found[name].cells
        start = len(body)
        body += struct.pack(f"<{len(cells)}f", *cells)
        header[name] = {"dtype": "F32", "shape": found[name].shape, "data_offsets": [start, len(body)]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def config(size: int) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": BEGIN,
        "dtype": "float32",
        "eos_token_id": END,
        "head_dim": HEAD,
        "hidden_act": "silu",
        "hidden_size": HIDDEN,
        "intermediate_size": FEED_FORWARD,
        "max_position_embeddings": CONTEXT,
        "mlp_bias": False,
        "model_type": "llama",
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "num_key_value_heads": HEADS,
        "pad_token_id": PAD,
        "rms_norm_eps": EPSILON,
        "rope_parameters": {"rope_theta": THETA, "rope_type": "default"},
        "tie_word_embeddings": False,
        "use_cache": True,
        "vocab_size": size,
    }


def tokenizer(words: list[str]) -> dict[str, Any]:
    """tokenizer.json: one token a word; blanks and tabs are dropped."""
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    split = {"type": "Split", "invert": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": number, "content": word, **special} for number, word in enumerate(SPECIAL)],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {**split, "pattern": {"Regex": PIECES}, "behavior": "Isolated"},
                {**split, "pattern": {"Regex": r"[ \t]+"}, "behavior": "Removed"},
            ],
        },
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: number for number, word in enumerate(words)},
            "unk_token": "<unk>",
        },
    }


def files() -> dict[str, bytes]:
    """The checkpoint, by file name."""
    words = vocabulary()
    found = tensors()
    weights = safetensors(found)
    total = sum(4 * len(tensor.cells) for tensor in found.values())
    size = padded(len(words))
    texts: dict[str, Any] = {
        "config.json": config(size),
        "generation_config.json": {"bos_token_id": BEGIN, "eos_token_id": END, "pad_token_id": PAD},
        "model.safetensors.index.json": {
            "metadata": {"total_parameters": total // 4, "total_size": total},
            "weight_map": dict.fromkeys(sorted(found), "model.safetensors"),
        },
        "tokenizer.json": tokenizer(words),
        "tokenizer_config.json": {
            "backend": "tokenizers",
            "bos_token": SPECIAL[BEGIN],
            "eos_token": SPECIAL[END],
            "pad_token": SPECIAL[PAD],
            "unk_token": "<unk>",
            "model_max_length": CONTEXT,
            "tokenizer_class": "PreTrainedTokenizerFast",
        },
    }
    made = {name: (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode() for name, value in texts.items()}
    made["chat_template.jinja"] = CHAT_TEMPLATE.encode()
    made["model.safetensors"] = weights
    return dict(sorted(made.items()))


def digest() -> str:
    """What names a folder with the checkpoint: it changes when this file does."""
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:8]


def write(folder: Path) -> None:
    for name, content in files().items():
        (folder / name).write_bytes(content)
