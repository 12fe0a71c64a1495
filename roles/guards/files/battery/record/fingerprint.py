# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a pass is worth nothing without, and how two of them differ."""

from __future__ import annotations

from collections.abc import Mapping


def differences(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[str, ...]:
    """Each name that is not the same, as `name: old → new`."""
    return tuple(
        f"{name}: {old.get(name, 'not there')} → {new.get(name, 'not there')}"
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    )
