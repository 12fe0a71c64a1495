# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a node for the role host.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree, integer
from ansible_collections.switchless.spark.plugins.module_utils._node.fabric import sysctl_path
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Runner

from .model import File, Seen, Swap, Unit, words

CLOCKS = (
    "chrony.service",
    "chronyd.service",
    "systemd-timesyncd.service",
    "ntpsec.service",
    "ntp.service",
    "openntpd.service",
)
DESKTOP, EARLYOOM, SWAP = "display-manager.service", "earlyoom.service", "swap.target"
UNITS = (DESKTOP, EARLYOOM, SWAP, *CLOCKS)
LIMITS = tuple(f"DefaultLimit{name}{end}" for name in ("CORE", "MEMLOCK", "NOFILE") for end in ("", "Soft"))


def look(tree: Tree, runner: Runner, files: Sequence[str], sysctl: Sequence[str]) -> Seen:
    """All of it. What cannot be read is empty or null."""
    virtual = runner.run(["systemd-detect-virt", "--container"])
    limits = runner.run(["systemctl", "show", f"--property={','.join(LIMITS)}"])
    return Seen(
        container=virtual.stdout.strip() if virtual.rc == 0 else "",
        default_target=runner.run(["systemctl", "get-default"]).stdout.strip(),
        available_kib=available(tree.read("proc/meminfo") or ""),
        core_pattern=tree.read("proc/sys/kernel/core_pattern"),
        swaps=swaps(tree.read("proc/swaps") or ""),
        units=units(runner),
        defaults=properties(limits.stdout),
        sysctl={key: setting(tree, key) for key in sysctl},
        files={path: file(tree, path) for path in files},
    )


def available(meminfo: str) -> int | None:
    """What the kernel thinks that programs can still get, in KiB."""
    found = [line.split()[1] for line in meminfo.splitlines() if line.startswith("MemAvailable:")]
    return integer(found[0]) if found else None


def swaps(text: str) -> tuple[Swap, ...]:
    """C(/proc/swaps). A blank in a path is written as C(\\040) there."""
    rows = [line.split() for line in text.splitlines()[1:]]
    return tuple(Swap(row[0], int(row[2]), int(row[3])) for row in rows if len(row) == 5)


def properties(text: str) -> dict[str, str]:
    """The answer of C(systemctl show)."""
    return {name: value for name, equals, value in (line.partition("=") for line in text.splitlines()) if equals}


def units(runner: Runner) -> Mapping[str, Unit]:
    """systemd answers in the order in which it was asked, with a blank line in between."""
    shown = runner.run(["systemctl", "show", "--property=LoadState,ActiveState,UnitFileState", *UNITS]).stdout
    blocks = [properties(block) for block in shown.strip().split("\n\n")]
    if len(blocks) != len(UNITS):
        return {name: Unit() for name in UNITS}
    return {
        name: Unit(block.get("LoadState", ""), block.get("ActiveState", ""), block.get("UnitFileState", ""))
        for name, block in zip(UNITS, blocks, strict=True)
    }


def setting(tree: Tree, key: str) -> str | None:
    """A kernel setting; null when this kernel does not have it."""
    value = tree.read("proc/sys", sysctl_path(key))
    return None if value is None else words(value)


def file(tree: Tree, path: str) -> File:
    """A file as it is, and whether the folder that it belongs into is there."""
    place = tree.path(path.lstrip("/"))
    folder = place.parent.is_dir()
    try:
        content = place.read_text(encoding="utf-8", errors="replace")
        mode = f"{place.stat().st_mode & 0o7777:04o}"
    except OSError:
        return File(folder=folder)
    return File(content, mode, folder)
