# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kernel module that modinfo and depmod can read, and nothing else: an ELF file with a .modinfo section."""

from __future__ import annotations

import struct
from collections.abc import Mapping

ELF_HEADER = "<16sHHIQQQIHHHHHH"
SECTION = "<IIQQQQIIQQ"
AARCH64 = 183
RELOCATABLE = 1
PROGBITS, STRTAB = 1, 3
ALLOCATED = 2


def module(information: Mapping[str, str]) -> bytes:
    """The file."""
    names = b"\0.modinfo\0.shstrtab\0"
    data = b"".join(f"{key}={value}\0".encode() for key, value in information.items())
    size = struct.calcsize(ELF_HEADER)
    table = -(-(size + len(data) + len(names)) // 8) * 8
    start = struct.pack("<4sBBB9x", b"\x7fELF", 2, 1, 1)
    header = struct.pack(ELF_HEADER, start, RELOCATABLE, AARCH64, 1, 0, 0, table, 0, size, 0, 0, 64, 3, 2)
    sections = (
        bytes(struct.calcsize(SECTION)),
        _section(names.index(b".modinfo"), PROGBITS, ALLOCATED, size, len(data)),
        _section(names.index(b".shstrtab"), STRTAB, 0, size + len(data), len(names)),
    )
    return (header + data + names).ljust(table, b"\0") + b"".join(sections)


def _section(name: int, kind: int, flags: int, offset: int, size: int) -> bytes:
    return struct.pack(SECTION, name, kind, flags, 0, offset, size, 0, 0, 1, 0)
