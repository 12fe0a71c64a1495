# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a case of a failing run is made of, and the lines that must never be reported."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Case:
    """C(says) are words that cause, cure or check must have; C(line) is part of the line that is to be shown."""

    name: str
    logs: dict[int, str]
    code: str | None
    rank: int | None = None
    line: str = ""
    says: tuple[str, ...] = ()


QP = "Call to ibv_modify_qp failed with"
WARN = "spark-a:1:2 [0] misc/ibvwrap.cc:309 NCCL WARN"
HEALTHY = (Path(__file__).parent / "written" / "healthy.txt").read_text().splitlines()
"""Lines N01 to N14: healthy runs have them."""
