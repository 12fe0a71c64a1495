# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Digests that were measured once. They hold while path, size, time and inode of the file stay the same.

The agent of the role writes the same file: see roles/checkpoint/files/checkpoint_agent.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SCHEMA = 1
Key = tuple[str, int, int, int]
"""Real path, size, time of change in nanoseconds, inode."""


@dataclass(frozen=True, slots=True)
class Cache:
    """Digest by file."""

    known: Mapping[Key, str]

    def get(self, key: Key) -> str | None:
        return self.known.get(key)


def parse_cache(raw: bytes) -> Cache:
    """What the file says. Anything that is no cache of ours is an empty one: then all is measured again."""
    try:
        data = json.loads(raw)
        if data["schema"] != SCHEMA:
            return Cache({})
        return Cache(
            {
                (str(path), int(item["size"]), int(item["mtime_ns"]), int(item["inode"])): str(item["sha256"])
                for path, item in data["files"].items()
            }
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Cache({})


def dump_cache(cache: Cache) -> str:
    files: dict[str, dict[str, Any]] = {
        path: {"size": size, "mtime_ns": mtime, "inode": inode, "sha256": digest}
        for (path, size, mtime, inode), digest in sorted(cache.known.items())
    }
    return json.dumps({"schema": SCHEMA, "files": files}, indent=1) + "\n"


def remember(cache: Cache, measured: Mapping[Key, str]) -> Cache:
    """The cache and what was measured now, one entry a path."""
    paths = {key[0] for key in measured}
    return Cache({key: digest for key, digest in cache.known.items() if key[0] not in paths} | dict(measured))
