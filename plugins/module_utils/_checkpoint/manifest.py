# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Which files make a checkpoint: name, size and SHA-256 of each."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

SCHEMA = 1
FOLDER = ".switchless"
"""In the checkpoint's folder: half files and the manifest. A rename from here is atomic."""
SAVED = f"{FOLDER}/manifest.json"
_SHA256 = re.compile(r"[0-9a-f]{64}")


class ManifestError(ValueError):
    """The manifest cannot be used."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """All files, by name, and the commit of the hub that they come from, where it is known."""

    files: tuple[Entry, ...]
    revision: str | None = None

    @property
    def digest(self) -> str:
        """The same for the same bytes, whoever wrote the manifest."""
        text = "".join(f"{entry.sha256} {entry.size} {entry.name}\n" for entry in self.files)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def total_bytes(self) -> int:
        return sum(entry.size for entry in self.files)

    def as_dict(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "revision": self.revision,
            "files": [{"name": e.name, "size": e.size, "sha256": e.sha256} for e in self.files],
        }


def make(entries: Iterable[Entry], revision: str | None) -> Manifest:
    return Manifest(tuple(sorted(entries, key=lambda entry: entry.name)), revision)


def sound_name(name: object) -> bool:
    """A relative path that stays in its folder and hides nowhere."""
    return isinstance(name, str) and all(
        part and not part.startswith(".") and part.isprintable() and "\\" not in part for part in name.split("/")
    )


def parse_manifest(data: object) -> Manifest:
    """A manifest from plain data. Raises ManifestError."""
    match data:
        case {"files": list() as files, **more} if files:
            pass
        case _:
            raise ManifestError("a manifest needs a list `files`, each with name, size and sha256")
    entries = [_entry(item) for item in files]
    if len({entry.name for entry in entries}) != len(entries):
        raise ManifestError("the manifest names a file twice")
    revision = more.get("revision")
    return make(entries, revision if isinstance(revision, str) and revision else None)


def _entry(item: object) -> Entry:
    match item:
        case {"name": str() as name, "size": int() as size, "sha256": str() as digest}:
            if sound_name(name) and size >= 0 and _SHA256.fullmatch(digest):
                return Entry(name, size, digest)
    raise ManifestError(f"the manifest has {item!r}, expected name, size in bytes and sha256 in 64 hex digits")


def read_manifest(raw: bytes) -> Manifest:
    """A manifest from its file. Raises ManifestError."""
    try:
        return parse_manifest(json.loads(raw))
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"{error}") from error
