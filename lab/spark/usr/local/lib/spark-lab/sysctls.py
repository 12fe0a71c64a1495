# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies of the machine-wide sysctls: a write must neither fail here nor reach the machine under the lab."""

from __future__ import annotations

import os
from pathlib import Path

from mounting import MS_BIND, MS_REC, mount

STORE, REAL = Path("/run/spark-lab/sysctl"), Path("/proc/sys")


def own(release: str) -> None:
    """`release` is what the node calls its kernel."""
    STORE.mkdir(parents=True)
    mount("spark-lab", STORE, "tmpfs", data="mode=755,size=4m")
    for name in ("vm", "kernel", "fs"):
        copy_all(REAL / name, STORE / name)
    (STORE / "kernel" / "osrelease").write_text(release + "\n")
    for name in ("random", "hostname", "domainname", "version", "ostype"):
        mount(str(REAL / "kernel" / name), STORE / "kernel" / name, flags=MS_BIND | MS_REC)
    for name in ("vm", "kernel", "fs"):
        mount(str(STORE / name), REAL / name, flags=MS_BIND | MS_REC)
    for path in sorted([*(REAL / "net" / "core").iterdir(), *(REAL / "net" / "netfilter").rglob("*")]):
        if path.is_file() and not path.stat().st_mode & 0o222:
            copied = STORE / path.relative_to(REAL)
            copied.parent.mkdir(parents=True, exist_ok=True)
            copy(path, copied)
            mount(str(copied), path, flags=MS_BIND)


def copy_all(source: Path, target: Path) -> None:
    for folder, _, names in os.walk(source):
        new = target / Path(folder).relative_to(source)
        new.mkdir(parents=True, exist_ok=True)
        for name in names:
            copy(Path(folder) / name, new / name)


def copy(source: Path, target: Path) -> None:
    try:
        text = source.read_text(errors="replace")
    except OSError:  # write-only ones, such as drop_caches on some kernels
        text = ""
    target.write_text(text)
    target.chmod(0o644)
