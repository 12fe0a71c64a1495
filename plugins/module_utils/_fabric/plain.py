# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Values as plain Python objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_EXACT = frozenset((str, int, float, bool, type(None)))


def plain(value: object) -> object:
    """The same value out of exact `str`, `int`, `float`, `bool`, `None`, `list` and `dict`.

    ansible-core 2.19 and later hands filters subclasses of these that carry tags (where a value came from, whether a
    template may be run) and containers that template their items when read. None of that belongs in a plan.
    Anything else is returned as it is.
    """
    if type(value) in _EXACT:
        return value
    if isinstance(value, str):
        # Not str(value): that asks a subclass, this asks for the characters.
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Mapping):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return value


def as_list(value: object) -> list[object] | None:
    """A list or tuple as a list, nothing for all else. Text is no list."""
    return list(value) if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) else None
