# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scripts that stand in for programs."""

from __future__ import annotations

import sys
from pathlib import Path


def stand_in(path: Path, script: str, options: str = "") -> Path:
    """A script that can be run. Its first line cannot hold a path with a space, and the checkout may have one."""
    python = path.with_name("python")
    if not python.is_symlink():
        python.symlink_to(sys.executable)
    path.write_text(f"#!{python} {options}".rstrip() + f"\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path
