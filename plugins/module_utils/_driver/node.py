# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node as the rules see it: the driver's packages beside what apt and dpkg say of them.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from . import packages, policy, version
from .family import DRIVER, FIRMWARE, KERNEL, MODULES, TOOL, Member, member
from .look import OnDisk, Seen
from .packages import Package
from .verdicts import Pin, flavour


@dataclass(frozen=True, slots=True)
class Row:
    """One installed package of the driver or of a kernel."""

    package: Package
    member: Member
    policy: policy.Policy | None
    origins: tuple[str, ...]
    auto: bool | None

    @property
    def name(self) -> str:
        return self.package.name

    @property
    def safe(self) -> bool:
        """Whether an upgrade leaves it where it is: held, or kept by a preference."""
        return self.package.held or (self.policy is not None and self.policy.pinned)

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.member.kind,
            "flavour": flavour(self.member.open),
            "kernel": self.member.kernel,
            "installed": self.package.version,
            "driver_version": version.driver(self.package.version) if self.member.kind in (DRIVER, FIRMWARE) else None,
            "candidate": self.policy.candidate if self.policy is not None else None,
            "held": self.package.held,
            "pinned": self.policy.pinned if self.policy is not None else None,
            "auto": self.auto,
            "status": self.package.status,
            "origins": list(self.origins),
        }


@dataclass(frozen=True)
class Node:
    """What was seen and what is wanted."""

    seen: Seen
    pin: Pin

    @property
    def kernel(self) -> str | None:
        """The kernel that is wanted."""
        return self.pin.kernel or self.seen.boot.running_kernel

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        found = []
        for package in self.seen.packages or ():
            own = member(package.name)
            if own is None or not package.installed:
                continue
            known = (self.seen.policies or {}).get(package.name)
            offer = known.offer(package.version) if known is not None else None
            found.append(
                Row(
                    package,
                    own,
                    known,
                    policy.origins(offer.sources if offer is not None else (), self.seen.repositories or {}),
                    package.name in self.seen.auto if self.seen.auto is not None else None,
                )
            )
        return tuple(found)

    def of(self, *kinds: str) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.member.kind in kinds)

    @cached_property
    def guarded(self) -> tuple[Row, ...]:
        """Those that must not move: the driver's, metapackages of kernels, and all of the wanted kernel."""
        return tuple(
            row
            for row in self.rows
            if (row.member.kind in (KERNEL, MODULES) and row.member.kernel in (None, self.kernel))
            or row.member.kind in (DRIVER, TOOL)
        )

    @cached_property
    def versions(self) -> dict[str | None, list[str]]:
        """Driver version to the packages that have it. Null are versions that cannot be read."""
        found: dict[str | None, list[str]] = {}
        for row in self.of(DRIVER):
            found.setdefault(version.driver(row.package.version), []).append(row.name)
        return found

    @property
    def installed(self) -> str | None:
        """The one version that all packages of the driver have."""
        return packages.installed_driver(self.seen.packages or ())

    @property
    def in_container(self) -> bool:
        return self.seen.boot.container is not None and not any(kernel.image for kernel in self.seen.boot.kernels)

    @property
    def comes_as_pinned(self) -> bool:
        """Whether the next boot loads the pinned driver in its flavour, with its libraries beside it."""
        boot, coming = self.seen.boot, self.seen.boot.driver_next
        return (
            self.installed == self.pin.version
            and coming is not None
            and coming.version == self.pin.version
            and self.disk(boot.next_kernel).open == self.pin.open
            and all(row.member.open in (None, self.pin.open) for row in self.of(DRIVER))
        )

    def disk(self, kernel: str | None) -> OnDisk:
        return self.seen.on_disk.get(kernel or "", OnDisk())

    def states(self, rows: Iterable[Row]) -> tuple[str, ...]:
        """As dpkg lists them."""
        return tuple(f"{row.package.status} {row.name} {row.package.version}" for row in rows)
