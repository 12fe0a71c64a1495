# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Reads a checkpoint's folder: names, sizes, headers and digests, with little memory however large the files are."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .cache import Key
from .hub import HALF
from .manifest import FOLDER, sound_name
from .safetensors import LENGTH_BYTES, Header, HeaderError, header_bytes, parse_header

CHUNK_BYTES = 8 * 1024 * 1024
SMALL_BYTES = 16 * 1024 * 1024
"""Files up to this size are read every time: that takes no time, and people edit them."""
MAX_TEXT_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class File:
    """One file of the checkpoint. C(sha256) is what its bytes have, or nothing where nobody read them all."""

    name: str
    key: Key
    sha256: str | None = None

    @property
    def size(self) -> int:
        return self.key[1]


def walk(folder: Path) -> tuple[list[File], list[str]]:
    """The checkpoint's files, and half files, by name. Hidden files and folders are no part of a checkpoint."""
    files: list[File] = []
    half: list[str] = []
    for top, folders, names in os.walk(folder):
        within = Path(top).relative_to(folder)
        ours = within.parts[:1] in ((FOLDER,), (".cache",))
        folders[:] = [name for name in folders if ours or not name.startswith(".") or name in (FOLDER, ".cache")]
        for name in names:
            path = (within / name).as_posix()
            if name.endswith(HALF):
                half.append(path)
            elif not ours and sound_name(path) and (key := key_of(folder / path)):
                files.append(File(path, key))
    return sorted(files, key=lambda file: file.name), sorted(half)


def key_of(path: Path) -> Key | None:
    """What a digest of this file is kept under. Links are followed, as the loader follows them."""
    try:
        real = path.resolve(strict=True)
        seen = real.stat()
    except (OSError, RuntimeError):
        return None
    return (str(real), seen.st_size, seen.st_mtime_ns, seen.st_ino) if real.is_file() else None


def read_bytes(path: Path, limit: int = MAX_TEXT_BYTES) -> bytes | None:
    """A whole small file; nothing if it cannot be read or is longer."""
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError:
        return None
    return data if len(data) <= limit else None


def read_header(path: Path, size: int) -> Header:
    """The header of a safetensors file. Raises HeaderError, OSError."""
    with path.open("rb") as file:
        length = header_bytes(file.read(LENGTH_BYTES), size)
        raw = file.read(length)
    if len(raw) < length:
        raise HeaderError(f"it ended at byte {LENGTH_BYTES + len(raw)}, within its header", short=True)
    return parse_header(raw, size)


def sha256(path: Path, *, keep: bool = False) -> str:
    """The digest of a file, which leaves nothing behind in the page cache: GPU and programs share that memory."""
    digest = hashlib.sha256()
    for chunk in _chunks(path, keep=keep):
        digest.update(chunk)
    return digest.hexdigest()


def git_sha1(path: Path, size: int) -> str:
    """The name that git gives to these bytes."""
    digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    for chunk in _chunks(path, keep=True):
        digest.update(chunk)
    return digest.hexdigest()


def _chunks(path: Path, *, keep: bool) -> Iterator[memoryview]:
    buffer = memoryview(bytearray(CHUNK_BYTES))
    place = 0
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(buffer):
            yield buffer[:count]
            if not keep:
                os.posix_fadvise(file.fileno(), place, count, os.POSIX_FADV_DONTNEED)
            place += count


def free_bytes(folder: Path) -> int | None:
    """What a process may still write where this folder is, or will be."""
    for place in (folder, *folder.parents):
        try:
            seen = os.statvfs(place)
        except OSError:
            continue
        return seen.f_bavail * seen.f_frsize
    return None
