# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One stand-in package, and how dpkg-deb makes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from lab.common import run

MAIN, RESTRICTED, COMMON = "main", "restricted", "common"

Files = dict[str, tuple[str | bytes, int]]


@dataclass(frozen=True)
class Package:
    """Files are by path: text or bytes, and mode. `component` is the part of the repository that it lies in."""

    name: str
    version: str
    depends: str = ""
    text: str = ""
    component: str = MAIN
    fields: dict[str, str] = field(default_factory=dict)
    files: Files = field(default_factory=dict)
    scripts: dict[str, str] = field(default_factory=dict)

    @property
    def file_name(self) -> str:
        return f"{self.name}_{self.version}_all.deb"

    def control(self) -> str:
        fields = {
            "Package": self.name,
            "Version": self.version,
            "Architecture": "all",
            "Section": "misc",
            "Priority": "optional",
            "Maintainer": "spark-lab <lab@localhost>",
            "Depends": self.depends,
            **self.fields,
            "Description": self.text or f"stand-in for {self.name}",
        }
        return "".join(f"{key}: {value}\n" for key, value in fields.items() if value)


def _write(path: Path, content: str | bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(mode)


def build(package: Package, folder: Path, target: Path) -> None:
    """Make the package's file in `target`; `folder` is for what goes into it, and is not there yet."""
    _write(folder / "DEBIAN" / "control", package.control(), 0o644)
    for name, text in package.scripts.items():
        _write(folder / "DEBIAN" / name, f"#!/bin/sh\nset -e\n{text}", 0o755)
    for name, (content, mode) in package.files.items():
        _write(folder / name, content, mode)
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
    run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", folder, target / package.file_name])
