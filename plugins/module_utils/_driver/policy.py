# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What apt would choose and where it comes from: C(apt-cache policy).

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

POLICY = ("apt-cache", "policy")  # with names: the packages; without: the repositories
DPKG_STATUS = "/var/lib/dpkg/status"
PINNED = 1000  # from here on a version stays, whatever else is offered

_NAME = re.compile(r"(?P<name>[a-z0-9][a-z0-9+.-]*)(?::\w+)?:")
_FIELD = re.compile(r"  (?P<field>Installed|Candidate): (?P<version>\S+)")
_VERSION = re.compile(
    r" (?P<mark>\*\*\*|   ) (?P<version>\S+)(?: (?P<priority>-?\d+))?(?: \(phased (?P<phased>\d+)%\))?"
)
_SOURCE = re.compile(r" {5,}(?P<priority>-?\d+) (?P<source>\S.*)")  # the number is a priority, not a branch
_REPOSITORY = re.compile(r" *(?P<priority>-?\d+) (?P<source>\S.*)")
_RELEASE = re.compile(r" +release (?P<fields>.*)")
_KEYS = re.compile(r"(?:^|,)(?P<key>[a-z])=(?P<value>.*?)(?=,[a-z]=|$)")


@dataclass(frozen=True, slots=True)
class Offer:
    """One version in a package's table."""

    version: str
    priority: int | None
    phased: int | None = None  # percent of all machines that may have it now
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    """One package."""

    installed: str | None = None
    candidate: str | None = None
    offers: tuple[Offer, ...] = ()

    def offer(self, version: str | None) -> Offer | None:
        return next((offer for offer in self.offers if offer.version == version), None)

    @property
    def pinned(self) -> bool:
        """Whether a preference keeps the installed version."""
        offer = self.offer(self.installed)
        return offer is not None and offer.priority is not None and offer.priority >= PINNED


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository of which apt has the lists."""

    source: str
    priority: int
    origin: str | None = None
    label: str | None = None
    suite: str | None = None


@dataclass
class _Draft:
    fields: dict[str, str] = field(default_factory=dict)
    offers: list[Offer] = field(default_factory=list)


def parse(text: str) -> dict[str, Policy]:
    """By package. One that apt has never heard of is not in its answer."""
    drafts: dict[str, _Draft] = {}
    draft = _Draft()
    for line in text.splitlines():
        if match := _NAME.fullmatch(line):
            draft = drafts.setdefault(match["name"], _Draft())
        elif match := _FIELD.fullmatch(line):
            draft.fields[match["field"]] = match["version"]
        elif match := _VERSION.fullmatch(line):
            priority, phased = (int(match[name]) if match[name] else None for name in ("priority", "phased"))
            draft.offers.append(Offer(match["version"], priority, phased))
        elif (match := _SOURCE.fullmatch(line)) and draft.offers:
            last = draft.offers[-1]
            draft.offers[-1] = Offer(last.version, last.priority, last.phased, (*last.sources, match["source"]))
    return {
        name: Policy(
            **{key.lower(): version for key, version in found.fields.items() if version != "(none)"},
            offers=tuple(found.offers),
        )
        for name, found in sorted(drafts.items())
    }


def parse_repositories(text: str) -> dict[str, Repository]:
    """By source, as the packages' tables name it."""
    found: dict[str, Repository] = {}
    last: str | None = None
    for line in text.splitlines():
        if line.startswith("Pinned packages"):
            break
        if match := _REPOSITORY.fullmatch(line):
            last = match["source"]
            found[last] = Repository(last, int(match["priority"]))
        elif (match := _RELEASE.fullmatch(line)) and last is not None:
            said = {item["key"]: item["value"] for item in _KEYS.finditer(match["fields"])}
            repository = found[last]
            found[last] = Repository(last, repository.priority, said.get("o"), said.get("l"), said.get("a"))
    return found


def is_local(source: str) -> bool:
    """What dpkg has installed is no repository."""
    return source.endswith(DPKG_STATUS)


def origins(sources: Iterable[str], repositories: Mapping[str, Repository]) -> tuple[str, ...]:
    """Where a version can be had, by the repositories' labels, otherwise as apt writes it."""
    names = []
    for source in sources:
        if not is_local(source):
            repository = repositories.get(source)
            label = (repository.label or repository.origin) if repository is not None else None
            suite = f" {repository.suite}" if repository is not None and repository.suite else ""
            names.append(f"{label}{suite}" if label else source)
    return tuple(dict.fromkeys(names))
