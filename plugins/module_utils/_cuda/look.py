# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything a node shows of its CUDA toolkits, read once.

B(Private) to the collection: it can change at any time.

nvcc is asked by its absolute path: it is in PATH of login shells only.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._driver import packages, said
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Runner

from . import link
from .link import Alternatives

DISPLAY = ("update-alternatives", "--display", "cuda")
HANDLE = "/etc/alternatives/cuda"  # what the link of an alternative leads to
MEMORY = ("var", "lib", "switchless", "cuda.json")
ABSENT, ALTERNATIVE, OTHER_LINK, NO_LINK = "absent", "alternative", "other_link", "no_link"
HOPS = 8
_FOLDER = re.compile(r"cuda-(\d+\.\d+)")


@dataclass(frozen=True, slots=True)
class Toolkit:
    """One folder C(/usr/local/cuda-X.Y). C(nvcc) is there, but may not say its version."""

    version: str
    has_nvcc: bool = False
    nvcc: tuple[str, str] | None = None
    compat: bool = False

    @property
    def path(self) -> str:
        return f"{link.LINK}-{self.version}"


@dataclass(frozen=True, slots=True)
class Link:
    """What C(/usr/local/cuda) is, and where it leads in the end."""

    kind: str = ABSENT
    target: str | None = None
    leads_to: str | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """What the role wrote down: packages that it brought, the link that it set, and what that was before."""

    packages: tuple[str, ...] = ()
    link: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """All of it. Null is what could not be read."""

    toolkits: Mapping[str, Toolkit] = field(default_factory=dict)
    link: Link = field(default_factory=Link)
    alternatives: Alternatives | None = None
    no_alternatives: bool = False  # update-alternatives answered that there are none
    packages: Mapping[str, str] | None = None  # installed ones, by name
    smi: said.Smi | None = None
    memory: Memory = field(default_factory=Memory)


def _key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _toolkits(root: Tree, runner: Runner) -> dict[str, Toolkit]:
    matches = [_FOLDER.fullmatch(name) for name in root.names("usr", "local")]
    found = {}
    for version in sorted((match[1] for match in matches if match is not None), key=_key):
        folder = f"{link.LINK}-{version}"
        has_nvcc = root.exists(f"{folder}/bin/nvcc".lstrip("/"))
        result = runner.run((f"{folder}/bin/nvcc", "--version")) if has_nvcc else None
        nvcc = link.parse_nvcc(result.stdout) if result is not None and result.rc == 0 else None
        compat = root.exists(f"{folder}/compat/libcuda.so.1".lstrip("/"))
        found[version] = Toolkit(version, has_nvcc, nvcc, compat)
    return found


def _read_link(root: Tree, path: str) -> str | None:
    try:
        target = str(root.path(path.lstrip("/")).readlink())
    except OSError:
        return None
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target))


def _link(root: Tree) -> Link:
    first = _read_link(root, link.LINK)
    if first is None:
        return Link(NO_LINK) if root.exists(link.LINK.lstrip("/")) else Link()
    end, hops = first, 1
    while (following := _read_link(root, end)) is not None and hops < HOPS:
        end, hops = following, hops + 1
    return Link(ALTERNATIVE if first == HANDLE else OTHER_LINK, first, end)


def _memory(root: Tree) -> Memory:
    try:
        told = json.loads(root.read(*MEMORY) or "{}")
    except ValueError:
        return Memory()
    names, kept = (told.get("packages"), told.get("link")) if isinstance(told, dict) else (None, None)
    return Memory(
        tuple(sorted({name for name in names if isinstance(name, str)})) if isinstance(names, list) else (),
        kept if isinstance(kept, dict) else None,
    )


def _smi(root: Tree, runner: Runner) -> said.Smi | None:
    """nvidia-smi would load the driver, so it is asked of a loaded one only."""
    loaded = root.exists("sys", "module", "nvidia") or root.exists("proc", "driver", "nvidia", "version")
    return said.parse_smi(runner.run(said.SMI)) if loaded else None


def look(root: Tree, runner: Runner) -> Seen:
    """Toolkits, the link, alternatives, packages, the driver's ceiling and what the role remembers."""
    shown, listing = runner.run(DISPLAY), runner.run(packages.QUERY)
    listed = packages.parse(listing.stdout) if listing.rc == 0 else ()
    return Seen(
        toolkits=_toolkits(root, runner),
        link=_link(root),
        alternatives=link.parse(shown.stdout) if shown.rc == 0 else None,
        no_alternatives=shown.rc != 0 and "no alternatives for cuda" in shown.stderr,
        packages={one.name: one.version for one in listed if one.installed} or None,  # no node has none
        smi=_smi(root, runner),
        memory=_memory(root),
    )
