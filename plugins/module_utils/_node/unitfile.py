# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Lines of systemd's unit and configuration files."""

from __future__ import annotations

from collections.abc import Iterator


def joined(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments, with the number of their first; a backslash at the end goes on in the next one."""
    begun, parts = 0, ""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.lstrip().startswith(("#", ";")):
            continue
        begun = begun or number
        if line.endswith("\\"):
            parts += line[:-1] + " "
            continue
        yield begun, parts + line
        begun, parts = 0, ""
    if parts:
        yield begun, parts
