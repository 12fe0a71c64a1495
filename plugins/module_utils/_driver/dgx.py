# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which DGX OS a node has, and whether its last update over the air is whole.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from .verdicts import CONFIG, OK, UNKNOWN, Reason

RELEASE = ("etc", "dgx-release")
CHECK = ("opt", "nvidia", "spark-ota-check", "check_ota_status.py")  # older updates lack it
SECONDS = 30
TORN = ("timeout", "--kill-after=2", str(SECONDS), "python3", f"/{'/'.join(CHECK)}", "torn-score")
"""Asks the NIC by mstflint, so it is not for every run: that crashed a kernel whose NIC had been hot-plugged."""
_LINE = re.compile(r'(?P<key>DGX_\w+)="(?P<value>[^"]*)"')
_SCORE = re.compile(r"(?:.*\btorn-score: *)?(?P<score>\d+)")


@dataclass(frozen=True, slots=True)
class Release:
    """C(version) is that of the last update, else that of the factory. The platform is no way to tell a Spark."""

    version: str | None = None
    platform: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def parse(text: str | None) -> Release | None:
    """C(/etc/dgx-release), which only grows: the last line of a kind counts, whatever language its date is in."""
    said = {match["key"]: match["value"].strip() for line in (text or "").splitlines() if (match := _LINE.match(line))}
    if not said:
        return None
    version = said.get("DGX_OTA_VERSION") or said.get("DGX_SWBUILD_VERSION")
    return Release(version or None, said.get("DGX_PLATFORM") or None)


def torn_score(text: str | None) -> int | None:
    """What C(check_ota_status.py torn-score) prints. The number of an update, as in OTA2607, is no score."""
    for line in reversed((text or "").splitlines()):
        match = _SCORE.fullmatch(line.strip())
        if match is not None:
            return int(match["score"])
    return None


def judge(score: int | None) -> Reason:
    """Whether firmware and packages of the last update belong together."""
    if score is None:
        return Reason(
            "ota_unknown", UNKNOWN, "nobody says whether the last OTA update is whole", "a torn-score", "ask it as root"
        )
    if score == 0:
        return Reason("ota_whole", OK, "the last OTA update is whole")
    return Reason(
        "ota_torn",
        CONFIG,
        f"the last OTA update is torn (score {score})",
        "score 0",
        "finish it in the DGX Dashboard before the driver or the firmware is changed; a package that was removed on "
        "purpose counts too",
    )
