# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has to be installed for a node to have the pinned driver: all of its family, and the modules built for it.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from . import policy, version
from .family import DRIVER, MODULES, TOOL, of_branch
from .look import BUILT
from .node import Node, Row
from .policy import Offer, Policy
from .protection import CUDA_LABEL
from .stanzas import Stanza
from .verdicts import Pin, listed

_FLAVOUR = re.compile(r"(-\d{3}(?:-server)?)(?:-open)?(?=-|$)")


@dataclass(frozen=True, slots=True)
class Target:
    """One package at one version."""

    name: str
    version: str
    old: str | None = None

    @property
    def argument(self) -> str:
        """As apt-get takes it."""
        return f"{self.name}={self.version}"


@dataclass(frozen=True, slots=True)
class Change:
    """What to install, what it replaces, and what cannot be had, in words."""

    targets: tuple[Target, ...] = ()
    replaced: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.targets or self.replaced)

    @property
    def arguments(self) -> tuple[str, ...]:
        """As apt-get takes them: a dash behind a name removes it."""
        return (*(target.argument for target in self.targets), *(f"{name}-" for name in self.replaced))


def renamed(row: Row, pin: Pin) -> str:
    """The same package of the pinned branch and flavour."""
    name = of_branch(row.name, pin.branch)
    if row.member.open is None or row.member.open == pin.open:
        return name
    return _FLAVOUR.sub(r"\1-open" if pin.open else r"\1", name, count=1)


def modules_name(node: Node) -> str | None:
    """The modules of the wanted kernel. Nothing where DKMS builds them, as a stock Spark never does."""
    if node.kernel is None or node.disk(node.kernel).source == BUILT:
        return None
    for row in node.of(MODULES):
        if row.member.kernel == node.kernel and row.name.startswith("linux-modules-"):
            return renamed(row, node.pin)
    return f"linux-modules-nvidia-{node.pin.branch}{'-open' if node.pin.open else ''}-{node.kernel}"


def names(node: Node) -> tuple[str, ...]:
    """All that apt has to be asked about."""
    own = modules_name(node)
    found = {renamed(row, node.pin) for row in node.of(DRIVER, MODULES)} | {row.name for row in node.of(TOOL)}
    return tuple(sorted(found | ({own} if own is not None else set())))


@dataclass(frozen=True)
class Planner:
    """What is wanted, and what apt has."""

    node: Node
    offers: Mapping[str, Policy]
    stanzas: tuple[Stanza, ...]

    def labels(self, offer: Offer) -> set[str | None]:
        known = self.node.seen.repositories or {}
        remote = [source for source in offer.sources if not policy.is_local(source)]
        return {known[source].label if source in known else None for source in remote}

    def available(self, name: str) -> list[Offer]:
        """What another repository than CUDA's has."""
        return [one for one in self.offers.get(name, Policy()).offers if self.labels(one) - {CUDA_LABEL}]

    def installed(self, name: str) -> str | None:
        return next((row.package.version for row in self.node.rows if row.name == name), None)

    def target(self, name: str, wanted: str) -> Iterable[Target]:
        old = self.installed(name)
        return () if old == wanted else (Target(name, wanted, old),)

    def plan(self) -> Change:
        targets: list[Target] = []
        lacking: list[str] = []
        for add in (self._drivers, self._modules, self._tools):
            add(targets, lacking)
        ordered = sorted(set(targets), key=lambda target: target.name)
        return Change(tuple(ordered), self._replaced(), tuple(lacking))

    def _replaced(self) -> tuple[str, ...]:
        """Those of another branch or flavour. Not all of them exclude each other, and one nvidia.ko is enough."""
        rows = [row for row in self.node.of(DRIVER, MODULES) if renamed(row, self.node.pin) != row.name]
        own = (None, self.node.kernel)
        return tuple(row.name for row in rows if row.member.kind == DRIVER or row.member.kernel in own)

    def _drivers(self, targets: list[Target], lacking: list[str]) -> None:
        pin = self.node.pin
        wanted = sorted({renamed(row, pin) for row in self.node.of(DRIVER)})
        missing = [name for name in wanted if version.driver(self.installed(name)) != pin.version]
        found = {
            name: [one.version for one in self.available(name) if version.driver(one.version) == pin.version]
            for name in missing
        }
        common = set.intersection(*map(set, found.values())) if found else set()
        for name, versions in found.items():
            if not versions:
                elsewhere = [one for one in self.offers.get(name, Policy()).offers if CUDA_LABEL in self.labels(one)]
                kept_out = any(version.driver(one.version) == pin.version for one in elsewhere)
                why = f" outside of the repository {CUDA_LABEL}, whose drivers are kept out" if kept_out else ""
                lacking.append(f"{name}: no repository has {pin.version}{why}")
                continue
            best = max(common or versions, key=version.key)
            targets += self.target(name, best)

    def _build(self, name: str) -> str | None:
        """The version of a kernel's modules that holds the pinned driver."""
        available = {one.version for one in self.available(name)}
        fitting = [
            one.version
            for one in self.stanzas
            if one.name == name and one.driver == self.node.pin.version
            if one.version in available or one.version == self.installed(name)
        ]
        return max(fitting, key=version.key, default=None)

    def _modules(self, targets: list[Target], lacking: list[str]) -> None:
        own, pin, kernel = modules_name(self.node), self.node.pin, self.node.kernel
        if own is None:
            return
        old = self.installed(own)
        on_disk = self.node.disk(kernel)
        fits = old is not None and on_disk.version == pin.version and on_disk.open == pin.open
        build = old if fits else self._build(own)
        if build is None:
            builds = [f"{one.version} for {one.driver or 'no driver that it names'}" for one in self._shown(own)]
            there = f"there are {listed(builds)}" if builds else "there is none"
            lacking.append(f"{own}: no build of it is for {pin.version}, {there}")
            return
        targets += self.target(own, build)
        for row in self.node.of(MODULES):
            name = renamed(row, pin)
            if row.member.kernel in (None, kernel) and name != own:
                if build in {one.version for one in self.available(name)}:
                    targets += self.target(name, build)
                elif name != row.name:
                    lacking.append(f"{name}: no repository has {build}")
            elif row.member.kernel != kernel and (other := self._build(name)) is not None:
                targets += self.target(name, other)

    def _shown(self, name: str) -> list[Stanza]:
        return sorted((one for one in self.stanzas if one.name == name), key=lambda one: version.key(one.version))

    def _tools(self, targets: list[Target], lacking: list[str]) -> None:
        """Only those of a later branch: older ones do. An explicit version may come from NVIDIA's repository, too."""
        branch = self.node.pin.branch or 0
        for row in self.node.of(TOOL):
            if (version.branch(row.package.version) or 0) <= branch:
                continue
            offers = [one for one in self.offers.get(row.name, Policy()).offers if self.labels(one)]
            fitting = [one for one in offers if version.branch(one.version) == branch]
            if fitting:
                best = max(fitting, key=lambda one: (bool(self.labels(one) - {CUDA_LABEL}), version.key(one.version)))
                targets += self.target(row.name, best.version)
            else:
                lacking.append(f"{row.name}: no repository has one of branch {branch}")


def plan(node: Node, offers: Mapping[str, Policy], stanzas: tuple[Stanza, ...]) -> Change:
    """What brings the node to its pin."""
    return Planner(node, offers, stanzas).plan()
