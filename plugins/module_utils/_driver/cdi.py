# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Specifications of the container device interface: they name the driver's libraries by version.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

import re

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree

FILES = (("etc", "cdi", "nvidia.yaml"), ("var", "run", "cdi", "nvidia.yaml"))
PRESENT = ("nvidia-ctk", "--version")
_LIBRARY = re.compile(r"\.so\.(\d{3}\.\d+(?:\.\d+)?)\b")


def generate(path: str) -> tuple[str, ...]:
    return ("nvidia-ctk", "cdi", "generate", f"--output={path}")


def versions(root: Tree, file: tuple[str, ...]) -> frozenset[str]:
    """The drivers whose libraries a specification names."""
    try:
        text = root.path(*file).read_text("utf-8", "replace")
    except OSError:
        return frozenset()
    return frozenset(_LIBRARY.findall(text))


def stale(root: Tree, version: str) -> tuple[str, ...]:
    """Specifications that name another driver's libraries."""
    return tuple(str(root.path(*file)) for file in FILES if versions(root, file) - {version})
