# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Looks at a checkpoint's folder: all that the verdict needs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from . import hub
from .cache import Cache, Key
from .files import SMALL_BYTES, File, free_bytes, git_sha1, key_of, read_bytes, read_header, sha256, walk
from .index import INDEX, WEIGHTS, BadIndexError, Index, index_of, parse_index
from .manifest import FOLDER, SAVED, Entry, Manifest, ManifestError, make, read_manifest
from .safetensors import Header, HeaderError

OPENING_BYTES = 8192
"""So much of the README says what it opens with."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A folder, as it is. C(half_bytes) are what the agent has of unfinished files.

    C(bad) has the files whose header is not sound, C(git) git's digests of small files.
    """

    path: str
    exists: bool = False
    files: Mapping[str, File] = field(default_factory=dict)
    half: tuple[str, ...] = ()
    half_bytes: int = 0
    config: Mapping[str, Any] = field(default_factory=dict)
    readme: str = ""
    index: Index | None = None
    index_problem: str = ""
    headers: Mapping[str, Header] = field(default_factory=dict)
    bad: Mapping[str, HeaderError] = field(default_factory=dict)
    tags: Mapping[str, hub.Tag] = field(default_factory=dict)
    git: Mapping[str, str] = field(default_factory=dict)
    repository: str | None = None
    revision: str | None = None
    revisions: tuple[str, ...] = ()
    saved: Manifest | None = None
    saved_problem: str = ""
    free_bytes: int | None = None

    @property
    def manifest(self) -> Manifest | None:
        """The manifest of what is here, once all of it was measured."""
        entries = [Entry(file.name, file.size, file.sha256) for file in self.files.values() if file.sha256]
        complete = self.files and len(entries) == len(self.files)
        revision = self.revision or (self.saved.revision if self.saved else None)
        return make(entries, revision) if complete else None


def look(path: str, cache: Cache, *, measure: bool) -> tuple[Seen, dict[Key, str]]:
    """All that is to be known, and what was measured now. Without C(measure) large files are not read through."""
    folder = Path(path)
    if not folder.is_dir():
        return Seen(path, free_bytes=free_bytes(folder)), {}
    found, half = walk(folder)
    measured: dict[Key, str] = {}
    files = {file.name: _digest(folder, file, cache, measured, measure=measure) for file in found}
    headers, bad = _headers(folder, files.values())
    index, problem = _index(folder, files, headers)
    tags = _tags(folder, files)
    config = _json(folder / "config.json")
    repository, of_path = hub.from_path(str(folder.resolve()))
    revision, revisions = hub.revision(tags, of_path, config)
    saved, saved_problem = _saved(folder)
    seen = Seen(
        path=path,
        exists=True,
        files=files,
        half=tuple(half),
        half_bytes=sum(key[1] for name in half if name.startswith(FOLDER) and (key := key_of(folder / name))),
        config=config,
        readme=_start(folder / "README.md"),
        index=index,
        index_problem=problem,
        headers=headers,
        bad=bad,
        tags=tags,
        git={
            name: git_sha1(folder / name, files[name].size)
            for name, tag in tags.items()
            if tag.git_sha1 and files[name].size <= SMALL_BYTES
        },
        repository=repository,
        revision=revision,
        revisions=tuple(revisions),
        saved=saved,
        saved_problem=saved_problem,
        free_bytes=free_bytes(folder),
    )
    return seen, measured


def _digest(folder: Path, file: File, cache: Cache, measured: dict[Key, str], *, measure: bool) -> File:
    known = cache.get(file.key) if file.size > SMALL_BYTES else None
    if known is None and (measure or file.size <= SMALL_BYTES):
        path = folder / file.name
        try:
            digest = sha256(path, keep=file.size <= SMALL_BYTES)
        except OSError:
            return file
        # A file that was written meanwhile has no digest yet.
        if key_of(path) == file.key:
            known = digest
            if file.size > SMALL_BYTES:
                measured[file.key] = digest
    return replace(file, sha256=known)


def _headers(folder: Path, files: Iterable[File]) -> tuple[dict[str, Header], dict[str, HeaderError]]:
    headers: dict[str, Header] = {}
    bad: dict[str, HeaderError] = {}
    for file in files:
        if file.name.endswith(WEIGHTS):
            try:
                headers[file.name] = read_header(folder / file.name, file.size)
            except HeaderError as error:
                bad[file.name] = error
            except OSError as error:
                bad[file.name] = HeaderError(f"it cannot be read: {error.strerror}")
    return headers, bad


def _index(folder: Path, files: Mapping[str, File], headers: Mapping[str, Header]) -> tuple[Index | None, str]:
    if INDEX in files:
        raw = read_bytes(folder / INDEX)
        try:
            return parse_index(raw if raw is not None else b""), ""
        except BadIndexError as error:
            return None, str(error)
    weights = [name for name in files if name.endswith(WEIGHTS)]
    if len(weights) == 1 and weights[0] in headers:
        return index_of(weights[0], headers[weights[0]]), ""
    return None, f"it is not there, and there are {len(weights)} files of weights"


def _tags(folder: Path, files: Mapping[str, File]) -> dict[str, hub.Tag]:
    found: dict[str, hub.Tag] = {}
    for name, file in files.items():
        raw = read_bytes(folder / hub.METADATA / f"{name}.metadata", 4096)
        blob = Path(file.key[0])
        if raw is not None:
            found[name] = hub.parse_metadata(raw.decode("utf-8", "replace"))
        elif blob.parent.name == "blobs":
            found[name] = hub.tag(blob.name)
    return found


def _saved(folder: Path) -> tuple[Manifest | None, str]:
    raw = read_bytes(folder / SAVED)
    if raw is None:
        return None, ""
    try:
        return read_manifest(raw), ""
    except ManifestError as error:
        return None, str(error)


def _json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(read_bytes(path) or b"")
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _start(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(OPENING_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
