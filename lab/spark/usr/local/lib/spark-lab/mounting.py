# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""mount(2), for the stand-ins that lay something over /sys and /proc."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

MS_REMOUNT, MS_BIND, MS_REC = 32, 0x1000, 0x4000

libc = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: Path, kind: str = "", flags: int = 0, data: str = "") -> None:
    kinds, options = kind.encode() or None, data.encode() or None
    if libc.mount(source.encode(), os.fsencode(target), kinds, ctypes.c_ulong(flags), options) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), str(target))
