# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Room on the disk, as far as it can be had for what is to come.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree

GIB = 1 << 30
BLOCK = 512  # of st_blocks, whatever the file system's own are
MOST_FILES = 20000  # a checkpoint has hundreds; whoever names / must not wait


@dataclass(frozen=True, slots=True)
class Ask:
    """What is wanted of a path. With C(count_present) what lies below it already is a part of that."""

    path: str
    need_gib: float
    count_present: bool = False


@dataclass(frozen=True, slots=True)
class Room:
    """The file system of a path, which need not be there yet. Null is not known."""

    path: str
    need_gib: float
    there: str | None = None  # the nearest folder that exists
    device: int | None = None
    free_gib: float | None = None
    present_gib: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def look(tree: Tree, ask: Ask) -> Room:
    """Read it. Room that root alone may use does not count."""
    path = tree.path(*Path(ask.path).parts[1:])
    there = next((folder for folder in (path, *path.parents) if folder.exists()), None)
    if there is None:
        return Room(ask.path, ask.need_gib)
    try:
        device, said = there.stat().st_dev, os.statvfs(there)
    except OSError:
        return Room(ask.path, ask.need_gib, str(there))
    present = sum(_sizes(path, device)) if ask.count_present and there == path else 0
    free = said.f_bavail * said.f_frsize
    return Room(ask.path, ask.need_gib, str(there), device, round(free / GIB, 2), round(present / GIB, 2))


def _sizes(folder: Path, device: int) -> Iterator[int]:
    """What the files below take up, each once, up to a number of files. Other file systems do not count."""
    known: set[int] = set()
    for place, folders, names in os.walk(folder):
        for name in names:
            try:
                seen = os.lstat(f"{place}/{name}")
            except OSError:
                continue
            if seen.st_dev == device and seen.st_ino not in known:
                known.add(seen.st_ino)
                yield seen.st_blocks * BLOCK
        if len(known) >= MOST_FILES:
            folders.clear()
