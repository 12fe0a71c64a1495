# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions as dpkg orders them, and the driver's version inside a package's.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

import re

_PART = re.compile(r"([^0-9]*)([0-9]*)")
_DRIVER = re.compile(r"(?:\d+:)?(?P<driver>\d{3}\.\d+(?:\.\d+)?)(?P<rest>[-~+].*)?")
# Ubuntu's revisions hold a release, as in 0ubuntu0.24.04.1. Four numbers without one are what is left after a redaction
# that took the revision for an IPv4 address.
_FOUR = re.compile(r"(?<![\d.])\d+\.(\d+)\.(\d+)\.\d+(?![\d.])")
_RELEASE_MONTHS = ("04", "10")

Key = tuple[int, tuple[object, ...], tuple[object, ...]]


def _weight(character: str) -> int:
    """A tilde is before the end (0), letters are before all else."""
    if character == "~":
        return -1
    return ord(character) if character.isascii() and character.isalpha() else ord(character) + 256


def _half(text: str) -> tuple[object, ...]:
    parts = [part for part in _PART.findall(text) if part != ("", "")] or [("", "")]
    flat: list[object] = []
    for word, digits in parts:
        flat += [(*map(_weight, word), 0), int(digits or 0)]
    return (*flat, (0,))  # the end, so that what goes on with a tilde sorts before it


def key(version: str) -> Key:
    """Sorts versions as C(dpkg --compare-versions) does."""
    epoch, colon, rest = version.partition(":")
    if not colon:
        epoch, rest = "0", version
    upstream, dash, revision = rest.rpartition("-")
    if not dash:
        upstream, revision = rest, ""
    return int(epoch) if epoch.isdecimal() else 0, _half(upstream), _half(revision)


def damaged(version: str) -> bool:
    """Whether somebody's redaction has put an address into it."""
    return any(
        month not in _RELEASE_MONTHS or len(year) != len("24")
        for year, month in _FOUR.findall(version.rpartition("-")[2])
    )


def driver(version: str | None) -> str | None:
    """C(580.173.02) of C(580.173.02-0ubuntu0.24.04.1). Nothing when it is not a driver's version, or is damaged."""
    match = _DRIVER.fullmatch(version or "")
    return None if match is None or damaged(version or "") else match["driver"]


def branch(version: str | None) -> int | None:
    """580 of any version that begins so, also a tool's."""
    match = re.match(r"(?:\d+:)?(\d{3})\.", version or "")
    return int(match[1]) if match else None
