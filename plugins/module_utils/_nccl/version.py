# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Versions of NCCL, as its log, its library and people write them."""

from __future__ import annotations

import re

OLDEST = (2, 30, 7)
"""The first NCCL that chooses the device by subnet; older ones ignore NCCL_IB_SUBNET_AWARE_ROUTING without a word."""

_VERSION = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")


def parse(text: str | None) -> tuple[int, int, int] | None:
    """``2.30.7``, ``2.28.9+cuda13.0`` or ``v2.30.7-1`` as numbers; nothing for all else."""
    match = _VERSION.match(text.strip()) if text else None
    return None if match is None else (int(match[1]), int(match[2]), int(match[3] or 0))


def from_code(code: object) -> str | None:
    """What ncclGetVersion gives: 23007 is 2.30.7. Two digits for the minor number since 2.9."""
    if not isinstance(code, int) or isinstance(code, bool) or code < 20900:
        return None
    return f"{code // 10000}.{code // 100 % 100}.{code % 100}"


def too_old(text: str | None, oldest: tuple[int, int, int] = OLDEST) -> bool:
    """Whether a version is known and too old. One that is not known is not said to be old."""
    version = parse(text)
    return version is not None and version < oldest


def words(version: tuple[int, int, int] = OLDEST) -> str:
    """As people write it."""
    return ".".join(map(str, version))
