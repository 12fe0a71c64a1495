# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What unattended-upgrades may touch.

B(Private) to the collection: it can change at any time.

Its blacklist are patterns of Python's C(re.match): C(nvidia-) covers C(nvidia-driver-580-open) and neither
C(libnvidia-compute-580) nor C(linux-modules-nvidia-580-open-nvidia-hwe-24.04).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

CONFIG = ("apt-config", "dump")
PACKAGE = "unattended-upgrades"
_LINE = re.compile(r'(?P<key>[^\s"]+) "(?P<value>.*)";')
_BLACKLIST = "unattended-upgrade::package-blacklist::"  # keys know no case
_SWITCHES = ("apt::periodic::unattended-upgrade", "apt::periodic::enable")


@dataclass(frozen=True, slots=True)
class Unattended:
    """C(enabled) is what apt's timer does; patterns that are none match nothing."""

    enabled: bool
    patterns: tuple[str, ...] = ()

    def covers(self, name: str) -> bool:
        return any(_matches(pattern, name) for pattern in self.patterns)

    def uncovered(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(name for name in names if not self.covers(name))


def _matches(pattern: str, name: str) -> bool:
    try:
        return re.match(pattern, name) is not None
    except re.error:
        return False


def parse(text: str) -> Unattended:
    """The output of C(CONFIG)."""
    values: dict[str, str] = {}
    patterns = []
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        key = match["key"].lower()
        if key.startswith(_BLACKLIST):
            patterns.append(match["value"])
        values[key] = match["value"]
    run, enabled = (values.get(switch) for switch in _SWITCHES)
    return Unattended(enabled=run not in (None, "", "0") and enabled != "0", patterns=tuple(patterns))
