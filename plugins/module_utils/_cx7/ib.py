# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text that C(/sys/class/infiniband/DEV/ports/1) shows."""

from __future__ import annotations

import re

_NUMBERED = re.compile(r"\d+:\s*(?P<name>.+)")
_RATE = re.compile(r"(?P<gbps>\d+(?:\.\d+)?) Gb/sec")


def name_of(text: str | None) -> str | None:
    """C(4: ACTIVE) → C(ACTIVE), C(5: LinkUp) → C(LinkUp)."""
    match = _NUMBERED.fullmatch((text or "").strip())
    return match["name"] if match else None


def rate_gbps(text: str | None) -> float | None:
    """C(200 Gb/sec (2X NDR)) → 200. A port that is down says 40 Gb/sec (4X QDR): a placeholder, see health."""
    match = _RATE.match((text or "").strip())
    return float(match["gbps"]) if match else None
