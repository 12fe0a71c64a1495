# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The answer of a program that prints one JSON object, whatever else is printed beside it.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def answer(stdout: str) -> Mapping[str, Any] | None:
    """The last object that stands on a line of its own; nothing when there is none."""
    for line in reversed(stdout.splitlines()):
        if line.startswith("{"):
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if isinstance(said, Mapping):
                return said
    return None
