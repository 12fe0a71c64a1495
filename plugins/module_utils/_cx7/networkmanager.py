# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ports NetworkManager holds."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Runner

ARGV = ("nmcli", "-t", "-f", "DEVICE,STATE", "device")
_UNESCAPED_COLON = re.compile(r"(?<!\\):")


def parse(text: str) -> dict[str, str]:
    """C(enp1s0f0np0:connected) lines; nmcli escapes colons and backslashes within a field."""
    states = {}
    for line in text.splitlines():
        fields = [re.sub(r"\\(.)", r"\1", part) for part in _UNESCAPED_COLON.split(line)]
        if len(fields) == 2 and fields[0]:
            states[fields[0]] = fields[1]
    return states


def read(runner: Runner) -> Mapping[str, str] | None:
    """Device → state; None when NetworkManager is not installed or not running."""
    result = runner.run(ARGV)
    return parse(result.stdout) if result.rc == 0 else None
