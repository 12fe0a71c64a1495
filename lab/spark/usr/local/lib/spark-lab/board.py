# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What this node's hardware is: board.json, written by the lab at each boot, and overrides.json, where faults are.

Keys of the overrides, all optional: `pci` and `ports` (files that differ; of a port `net` and `rdma` always, `net_up`
and `rdma_up` while it has a link), `absent` (functions that a boot does not find), `boot_log` (more lines of the boot),
`removal` (when hot-plug takes the NIC off the bus, in seconds since boot, and what the kernel says then).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path("/var/lib/spark-lab/board")
SYS = Path("/sys")
MARKER = Path("/etc/nvidia/cx7-hotplug-enabled")
LANE = {
    "current_link_speed": "32.0 GT/s PCIe", "current_link_width": "4",
    "max_link_speed": "32.0 GT/s PCIe", "max_link_width": "4",
}  # fmt: skip
ASLEEP = {"current_link_speed": "2.5 GT/s PCIe"}  # a root port with nothing behind it


def read() -> dict[str, Any]:
    board: dict[str, Any] = json.loads((FOLDER / "board.json").read_text())
    try:
        overrides = json.loads((FOLDER / "overrides.json").read_text())
    except (OSError, ValueError):
        overrides = {}
    board["overrides"] = overrides if isinstance(overrides, dict) else {}
    return board


def version() -> int:
    """Which overrides there are, by the time of their file in nanoseconds; 0 for none."""
    try:
        return (FOLDER / "overrides.json").stat().st_mtime_ns
    except OSError:
        return 0


def pci_path(address: str) -> Path:
    """Where a PCI function lies below /sys: under the root port of its domain."""
    return root_path(address) / address


def root_path(address: str) -> Path:
    """Where the root port of a function lies; that of the root port itself is the same."""
    domain = address.split(":", 1)[0]
    return SYS / "devices" / f"pci{domain}:00" / f"{domain}:00:00.0"


def lane(spark: dict[str, Any], address: str) -> dict[str, str]:
    """What the PCIe link of a function or of a root port shows."""
    changed: dict[str, str] = spark["overrides"].get("pci", {}).get(address, {})
    return LANE | changed


def absent(spark: dict[str, Any]) -> set[str]:
    """PCI addresses of the functions that this boot does not find."""
    return set(spark["overrides"].get("absent", []))


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
