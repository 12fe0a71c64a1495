# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""mount(2) and umount(2), without the mount command's own ideas about paths and options."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
MNT_DETACH = 2

_libc = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: str | Path, kind: str = "", flags: int = 0, data: str = "") -> None:
    arguments = (
        source.encode(),
        os.fsencode(target),
        kind.encode() or None,
        ctypes.c_ulong(flags),
        data.encode() or None,
    )
    if _libc.mount(*arguments) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"mount {kind or 'bind'} {data}: {os.strerror(error)}", str(target))


def detach(target: str | Path) -> None:
    """Lazily take a mount, and all below it, out of this mount namespace."""
    if _libc.umount2(os.fsencode(target), MNT_DETACH) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), str(target))


def private_namespace() -> None:
    """From here on this process's mounts are its own, and vanish with it."""
    os.unshare(os.CLONE_NEWNS)
    mount("none", "/", flags=MS_REC | MS_PRIVATE)


def overlay(lower: list[str], folder: Path) -> None:
    """Mount folder/merged over folder/upper. Lower layers are relative to `folder`, so that no path needs escaping."""
    for name in ("upper", "work", "merged"):
        (folder / name).mkdir(exist_ok=True)
    os.chdir(folder)
    mount("spark-lab", "merged", "overlay", data=f"lowerdir={':'.join(lower)},upperdir=upper,workdir=work")
