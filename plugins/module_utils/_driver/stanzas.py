# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What C(apt-cache show) tells of packages: which driver a build of a kernel's modules is for, and how large it is.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from . import version

SHOW = ("apt-cache", "show")
# Builds .32 and .32+1 of one kernel's modules hold different drivers; each asks for the libraries of its own.
_NEEDS = re.compile(r"nvidia-kernel-common(?:-\d{3})?(?:-server)? \((?:>=|=) (?P<version>[^)]+)\)")


@dataclass(frozen=True, slots=True)
class Stanza:
    """One version of a package. Sizes in bytes."""

    name: str
    version: str
    depends: str = ""
    download: int = 0
    installed: int = 0

    @property
    def driver(self) -> str | None:
        """The driver that a package of modules is for. Null when it does not say."""
        match = _NEEDS.search(self.depends)
        return version.driver(match["version"]) if match else None


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() else 0


def parse(text: str) -> tuple[Stanza, ...]:
    """The output of C(SHOW). Every version is there, one that is installed and offered twice."""
    found: dict[tuple[str, str], Stanza] = {}
    for paragraph in re.split(r"\n\s*\n", text):
        fields = dict(line.partition(": ")[::2] for line in paragraph.splitlines() if not line.startswith(" "))
        name, own = fields.get("Package"), fields.get("Version")
        if not name or not own:
            continue
        depends = ", ".join(fields[field] for field in ("Pre-Depends", "Depends") if fields.get(field))
        stanza = Stanza(name, own, depends, _number(fields.get("Size")), _number(fields.get("Installed-Size")) * 1024)
        known = found.get((name, own))
        if known is None or stanza.download > known.download:
            found[(name, own)] = stanza
    return tuple(found.values())
