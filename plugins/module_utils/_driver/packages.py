# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages as dpkg and apt-mark list them.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from . import version
from .family import DRIVER, member

QUERY = ("dpkg-query", "-W", "-f", r"${db:Status-Abbrev}\t${Package}\t${Architecture}\t${Version}\n")
AUTO = ("apt-mark", "showauto")


@dataclass(frozen=True, slots=True)
class Package:
    """One package with dpkg's two or three letters: what is wanted, what is, and whether it must be installed anew."""

    name: str
    version: str
    architecture: str
    status: str

    @property
    def installed(self) -> bool:
        """Whether more than its configuration files is there."""
        return self.status[1:2] not in ("n", "c", "")

    @property
    def finished(self) -> bool:
        """Whether dpkg was left to do its work."""
        return self.status[1:2] in ("i", "n", "c") and not self.status[2:].strip()

    @property
    def held(self) -> bool:
        return self.status[:1] == "h"


def parse(text: str) -> tuple[Package, ...]:
    """The output of C(QUERY), sorted."""
    found = []
    for line in text.splitlines():
        status, name, architecture, version = [*line.split("\t"), "", "", ""][:4]
        if name:
            found.append(Package(name, version, architecture, status.rstrip()))
    return tuple(sorted(found, key=lambda package: (package.name, package.architecture)))


def parse_names(text: str) -> frozenset[str]:
    """One name a line, as apt-mark lists them. C(x set on hold.) is a sentence and no name."""
    return frozenset(line.strip().partition(":")[0] for line in text.splitlines() if len(line.split()) == 1)


def installed_driver(packages: Iterable[Package]) -> str | None:
    """The one version that all packages of the driver have."""
    drivers = (
        package for package in packages if package.installed and (own := member(package.name)) and own.kind == DRIVER
    )
    versions = {version.driver(package.version) for package in drivers}
    return versions.pop() if len(versions) == 1 else None
