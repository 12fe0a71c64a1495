# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is seen of a node, and what it should be.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

OURS = "Written by switchless.spark, role host"
"""Part of the first line of every file of the role. A file without it is someone else's."""
HOSTS = "/etc/hosts"
MEMORY = "/var/lib/switchless/host.json"
BEGIN, END = "# BEGIN switchless.spark, role host", "# END switchless.spark, role host"


@dataclass(frozen=True, slots=True)
class Swap:
    """One device or file in C(/proc/swaps)."""

    path: str
    size_kib: int
    used_kib: int


@dataclass(frozen=True, slots=True)
class File:
    """C(content) is null where there is no file; C(folder) says whether the folder for it is there."""

    content: str | None = None
    mode: str | None = None
    folder: bool = True


@dataclass(frozen=True, slots=True)
class Unit:
    """What systemd says of a unit. Unknown texts are empty."""

    load: str = ""
    active: str = ""
    enabled: str = ""

    @property
    def runs(self) -> bool:
        return self.active in ("active", "activating", "reloading")

    @property
    def installed(self) -> bool:
        return self.load == "loaded"


@dataclass(frozen=True, slots=True)
class Seen:
    """A node. C(container) is empty on a machine; C(defaults) are those of systemd for the limits of its units."""

    container: str = ""
    default_target: str = ""
    available_kib: int | None = None
    core_pattern: str | None = None
    swaps: tuple[Swap, ...] = ()
    units: Mapping[str, Unit] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    sysctl: Mapping[str, str | None] = field(default_factory=dict)
    files: Mapping[str, File] = field(default_factory=dict)

    def unit(self, name: str) -> Unit:
        return self.units.get(name, Unit())

    def file(self, path: str) -> File:
        return self.files.get(path, File())

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Seen:
        """The same from what C(as_dict) gave; what else is in it is left out."""
        return cls(
            container=data["container"],
            default_target=data["default_target"],
            available_kib=data["available_kib"],
            core_pattern=data["core_pattern"],
            swaps=tuple(Swap(**swap) for swap in data["swaps"]),
            units={name: Unit(**unit) for name, unit in data["units"].items()},
            defaults=dict(data["defaults"]),
            sysctl=dict(data["sysctl"]),
            files={path: File(**file) for path, file in data["files"].items()},
        )


@dataclass(frozen=True, slots=True)
class WantedFile:
    """A file of the role. One that is not C(wanted) should not be there. C(reload): systemd has to read it."""

    path: str
    content: str
    wanted: bool
    reload: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the switches of the role say. C(hosts) are lines for C(/etc/hosts)."""

    headless: bool = False
    stop_desktop: bool = False
    swap_off: bool = False
    earlyoom: bool = False
    time_sync: bool = False
    hosts: tuple[str, ...] = ()
    sysctl: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    files: tuple[WantedFile, ...] = ()

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Wanted:
        switches = ("headless", "stop_desktop", "swap_off", "earlyoom", "time_sync")
        return cls(
            **{name: bool(data[name]) for name in switches},
            hosts=tuple(data["hosts"]),
            sysctl={str(key): words(value) for key, value in data["sysctl"].items()},
            defaults={str(key): str(value) for key, value in data["defaults"].items()},
            files=tuple(WantedFile(**file) for file in data["files"]),
        )


def words(value: object) -> str:
    """A kernel setting as one compares it: the kernel writes tabs between the numbers of some."""
    return " ".join(str(value).split())
