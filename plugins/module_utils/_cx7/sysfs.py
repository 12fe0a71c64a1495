# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads files below a root. A file that is not there, vanishes or answers EINVAL is an answer: C(None)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

MAX_BYTES = 65536  # sysfs gives at most one page


@dataclass(frozen=True, slots=True)
class Tree:
    """A folder such as C(/sys), or a copy of one."""

    root: str

    def path(self, *parts: str) -> Path:
        return Path(self.root, *parts)

    def read(self, *parts: str) -> str | None:
        """The text without surrounding white space; None when it cannot be read (ENOENT, EINVAL, ENODEV, …)."""
        # Three system calls a file instead of eight: a NIC's GID tables alone are a thousand files.
        try:
            file = os.open("/".join((self.root, *parts)), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            return os.read(file, MAX_BYTES).decode("utf-8", "replace").strip()
        except OSError:
            return None
        finally:
            os.close(file)

    def names(self, *parts: str) -> list[str]:
        """Sorted names in a folder; none when it is not there."""
        try:
            return sorted(os.listdir("/".join((self.root, *parts))))  # noqa: PTH208 (a path for each of 1024 GIDs)
        except OSError:
            return []

    def exists(self, *parts: str) -> bool:
        return self.path(*parts).exists()

    def target(self, *parts: str) -> str | None:
        """The last part of what a link leads to, for example the PCI address behind C(class/net/IF/device)."""
        path = self.path(*parts)
        return path.resolve().name if path.exists() else None


def integer(text: str | None) -> int | None:
    """A number as sysfs writes it, decimal or 0x; None for anything else."""
    if text is None:
        return None
    try:
        return int(text, 0)
    except ValueError:
        return None


def flag(text: str | None) -> bool | None:
    """C(1) and C(0); None for anything else."""
    return {"1": True, "0": False}.get(text or "")
