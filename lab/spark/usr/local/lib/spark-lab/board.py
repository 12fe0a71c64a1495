# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What this node's hardware is: board.json, written by the lab at each boot, and overrides.json, where faults are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path("/var/lib/spark-lab/board")
SYS = Path("/sys")


def read() -> dict[str, Any]:
    board: dict[str, Any] = json.loads((FOLDER / "board.json").read_text())
    try:
        overrides = json.loads((FOLDER / "overrides.json").read_text())
    except (OSError, ValueError):
        overrides = {}
    board["overrides"] = overrides if isinstance(overrides, dict) else {}
    return board


def pci_path(address: str) -> Path:
    """Where a PCI function lies below /sys: under the root port of its domain."""
    domain = address.split(":", 1)[0]
    return SYS / "devices" / f"pci{domain}:00" / f"{domain}:00:00.0" / address


def replace(path: Path, text: str) -> None:
    """A new content, so that a reader sees the old or the new one; nothing if it is the same."""
    if not path.is_symlink() and path.exists() and path.read_text() == text:
        return
    new = path.with_name(f".{path.name}")
    new.write_text(text)
    new.chmod(0o444)
    new.rename(path)


def point(path: Path, target: Path | str) -> None:
    """The same for a symbolic link."""
    if path.is_symlink() and str(path.readlink()) == str(target):
        return
    new = path.with_name(f".{path.name}")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    new.rename(path)
