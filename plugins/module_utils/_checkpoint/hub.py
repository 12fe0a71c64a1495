# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""What the hub's own tools left beside a checkpoint: the commit, and for each file the digest that the hub gave.

`hf download --local-dir` writes .cache/huggingface/download/NAME.metadata with three lines: commit, etag, time. In the
hub's cache each file is a link to blobs/ETAG, below models--OWNER--NAME/snapshots/COMMIT. The etag of a large file is
its SHA-256, that of a small one git's SHA-1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

METADATA = ".cache/huggingface/download"
HALF = (".incomplete", ".part", ".aria2", ".crdownload", ".tmp")
"""Endings of files that a download left unfinished."""

_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Tag:
    """What the hub said of a file. One of the two digests, or none."""

    commit: str | None = None
    sha256: str | None = None
    git_sha1: str | None = None


def tag(etag: str, commit: str | None = None) -> Tag:
    if _SHA256.fullmatch(etag):
        return Tag(commit, sha256=etag)
    return Tag(commit, git_sha1=etag if _COMMIT.fullmatch(etag) else None)


def parse_metadata(text: str) -> Tag:
    """The text of a .metadata file."""
    commit, etag = (*text.split("\n"), "", "")[:2]
    commit = commit.strip()
    return tag(etag.strip().strip('"'), commit if _COMMIT.fullmatch(commit) else None)


def from_path(path: str) -> tuple[str | None, str | None]:
    """Repository and commit that a folder of the hub's cache is named by."""
    parts = PurePosixPath(path).parts
    for place, part in enumerate(parts):
        if part.startswith("models--") and part.count("--") >= 2:
            commit = parts[place + 2] if parts[place + 1 : place + 2] == ("snapshots",) and parts[place + 2 :] else ""
            repository = part.removeprefix("models--").replace("--", "/", 1)
            return repository, commit if _COMMIT.fullmatch(commit) else None
    return None, None


def revision(tags: Mapping[str, Tag], of_path: str | None, config: Mapping[str, Any]) -> tuple[str | None, list[str]]:
    """The commit, if all hints agree on one; and all that are named."""
    hints = {tag.commit for tag in tags.values() if tag.commit}
    if of_path:
        hints.add(of_path)
    written = config.get("_commit_hash")
    if not hints and isinstance(written, str) and _COMMIT.fullmatch(written):
        hints.add(written)
    named = sorted(hints)
    return (named[0] if len(named) == 1 else None), named
