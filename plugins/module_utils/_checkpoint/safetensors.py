# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Headers of safetensors files, as strict as the loader: no gap, no overlap, and a file as long as its header says."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

LENGTH_BYTES = 8
MAX_HEADER_BYTES = 100_000_000  # what the loader itself allows
_BITS = {
    4: ("F4",),
    6: ("F6_E2M3", "F6_E3M2"),
    8: ("BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"),
    16: ("I16", "U16", "F16", "BF16"),
    32: ("I32", "U32", "F32"),
    64: ("I64", "U64", "F64", "C64"),
}
BITS = {name: bits for bits, names in _BITS.items() for name in names}


class HeaderError(ValueError):
    """What is wrong with a file. C(short): it ends too early, so the rest of it is missing."""

    def __init__(self, text: str, *, short: bool = False) -> None:
        super().__init__(text)
        self.short = short


@dataclass(frozen=True, slots=True)
class Header:
    """The names of a file's tensors, and how many bytes they have."""

    tensors: frozenset[str]
    data_bytes: int


def header_bytes(prefix: bytes, size: int) -> int:
    """The length of the header, from the first 8 bytes of a file of this size."""
    if len(prefix) < LENGTH_BYTES:
        raise HeaderError(f"it has {size} bytes, too few for a header", short=True)
    length = int.from_bytes(prefix, "little")
    if not 2 <= length <= MAX_HEADER_BYTES:
        raise HeaderError(f"its header would have {length} bytes, expected 2 to {MAX_HEADER_BYTES}")
    if LENGTH_BYTES + length > size:
        raise HeaderError(f"it has {size} bytes, its header alone {LENGTH_BYTES + length}", short=True)
    return length


def parse_header(raw: bytes, size: int) -> Header:
    """The header of a file of this size. Raises HeaderError with the first thing that is wrong."""
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise HeaderError(f"its header is no JSON: {error}") from error
    if not isinstance(data, dict):
        raise HeaderError("its header is no JSON object")
    data.pop("__metadata__", None)
    end = 0
    for begin, stop, name, info in sorted(_range(name, info) for name, info in data.items()):
        if begin != end:
            raise HeaderError(f"tensor {name} begins at byte {begin} of the data, expected {end}")
        _check_size(name, info, stop - begin)
        end = stop
    wanted = LENGTH_BYTES + len(raw) + end
    if wanted != size:
        raise HeaderError(f"it has {size} bytes, its header says {wanted}", short=size < wanted)
    return Header(frozenset(data), end)


def _range(name: str, info: Any) -> tuple[int, int, str, _Info]:
    match info:
        case {"dtype": str() as dtype, "shape": list() as shape, "data_offsets": [int() as begin, int() as end]}:
            if 0 <= begin <= end and all(isinstance(dim, int) and dim >= 0 for dim in shape):
                return begin, end, name, _Info(dtype, tuple(shape))
    raise HeaderError(f"tensor {name} has no sound dtype, shape and offsets")


@dataclass(frozen=True, slots=True, order=True)
class _Info:
    dtype: str
    shape: tuple[int, ...]


def _check_size(name: str, info: _Info, size: int) -> None:
    """A type that is newer than this table has a size that nobody here knows; its place was checked."""
    bits = BITS.get(info.dtype)
    if bits is not None and bits * math.prod(info.shape) != size * 8:
        shape = list(info.shape)
        raise HeaderError(f"tensor {name} has {size} bytes, {info.dtype} {shape} has {bits * math.prod(shape) / 8:g}")
