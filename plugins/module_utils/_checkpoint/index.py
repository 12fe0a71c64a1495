# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""The index of a checkpoint: which tensor is in which file. A checkpoint of one file needs none."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .manifest import sound_name
from .safetensors import Header

INDEX = "model.safetensors.index.json"
WEIGHTS = ".safetensors"
MTP = "mtp."
"""Names of the draft head's tensors begin so."""


class BadIndexError(ValueError):
    """The index cannot be used."""


@dataclass(frozen=True, slots=True)
class Index:
    """The tensors by file, and the size that the index claims for all of them."""

    files: Mapping[str, frozenset[str]]
    total_size: int | None

    @property
    def tensors(self) -> int:
        return sum(len(names) for names in self.files.values())

    @property
    def mtp_tensors(self) -> int:
        return sum(name.startswith(MTP) for names in self.files.values() for name in names)

    def as_dict(self) -> dict[str, Any]:
        return {
            "tensors": self.tensors,
            "mtp_tensors": self.mtp_tensors,
            "shards": len(self.files),
            "total_size": self.total_size,
        }


def parse_index(raw: bytes) -> Index:
    """The index as its file has it. Raises BadIndexError."""
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise BadIndexError(f"it is no JSON: {error}") from error
    match data:
        case {"weight_map": dict() as places} if places:
            pass
        case _:
            raise BadIndexError("it has no weight_map")
    files: dict[str, set[str]] = {}
    for tensor, name in places.items():
        if not sound_name(name):
            raise BadIndexError(f"it puts {tensor} into {name!r}, which is no file of the folder")
        files.setdefault(name, set()).add(tensor)
    metadata = data.get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    sizes = total if isinstance(total, int) else None
    return Index({name: frozenset(tensors) for name, tensors in sorted(files.items())}, sizes)


def index_of(name: str, header: Header) -> Index:
    """What the index of a checkpoint of one file would be."""
    return Index({name: header.tensors}, header.data_bytes)


def disagreements(index: Index, headers: Mapping[str, Header]) -> Iterator[str]:
    """Where files do not have what the index says; files without a sound header have their own reason."""
    for name, header in headers.items():
        wanted = index.files.get(name)
        if wanted is None:
            continue
        for missing, what in ((wanted - header.tensors, "lacks"), (header.tensors - wanted, "has, beside the index,")):
            if missing:
                yield f"{name} {what} {len(missing)} tensors, the first {min(missing)}"
