# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was held and marked on a node by the collection, so that only that is given back: other holds are the user's.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from .protection import Marks

SCHEMA = 1
FILE = ("var", "lib", "switchless", "nvidia_driver.json")


class UnreadableError(ValueError):
    """The memory is there and is not what was written: it must not be taken for an empty one."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Names of packages."""

    held: frozenset[str] = frozenset()
    marked: frozenset[str] = frozenset()

    def plus(self, marks: Marks) -> Kept:
        return Kept(self.held | set(marks.hold), self.marked | set(marks.manual))


def load(text: str | None) -> Kept:
    """The file's content. No file is nothing."""
    if text is None:
        return Kept()
    try:
        document = json.loads(text)
        if document["schema"] != SCHEMA:
            raise UnreadableError(f"it has schema {document['schema']!r}, this version reads {SCHEMA}")
        return Kept(frozenset(map(str, document["held"])), frozenset(map(str, document["marked"])))
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableError(str(error) or type(error).__name__) from error


def dump(kept: Kept) -> str:
    """The file's content."""
    return json.dumps({"schema": SCHEMA, "held": sorted(kept.held), "marked": sorted(kept.marked)}, indent=1) + "\n"
