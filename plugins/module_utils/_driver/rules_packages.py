# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the packages on the node say: whole, of one version, of the right flavour, as wanted.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import policy, version
from .family import DRIVER, MODULES, TOOL, of_branch
from .node import Node
from .verdicts import BLOCKED, CONFIG, UNKNOWN, Reason, evidence, flavour, listed


def rules(node: Node) -> Iterator[Reason]:
    if node.seen.packages is None:
        yield Reason("packages_unknown", UNKNOWN, "dpkg-query does not list the packages", "a list", "run it as root")
        return
    yield from _interrupted(node)
    if not node.of(DRIVER):
        yield Reason(
            "no_driver",
            CONFIG,
            "no package of the driver is installed",
            f"nvidia-driver-{node.pin.branch}-{node.pin.flavour} {node.pin.version}",
            "install the driver of DGX OS",
        )
        return
    yield from _versions(node)
    yield from _flavour(node)
    yield from _tools(node)


def _interrupted(node: Node) -> Iterator[Reason]:
    broken = [package for package in node.seen.packages or () if package.installed and not package.finished]
    if broken or node.seen.unfinished_updates:
        what = (
            f"dpkg was interrupted at {listed(package.name for package in broken)}"
            if broken
            else ("dpkg was interrupted: /var/lib/dpkg/updates is not empty")
        )
        yield Reason(
            "dpkg_interrupted",
            BLOCKED,
            what,
            "every package in state ii or hi",
            "free disk space if it is short, run dpkg --configure -a and apt-get -f install, and read this again",
            evidence(f"{package.status} {package.name} {package.version}" for package in broken),
        )


def _versions(node: Node) -> Iterator[Reason]:
    rows = node.of(DRIVER)
    if unread := node.versions.get(None):
        yield Reason(
            "version_unreadable",
            UNKNOWN,
            f"the version of {listed(unread)} is none of a driver",
            "one such as 580.173.02-0ubuntu0.24.04.1",
            "look at the package with apt-cache policy: text in which addresses were replaced is no evidence",
            evidence(node.states(row for row in rows if row.name in unread)),
        )
    known = [one for one in node.versions if one is not None]
    if len(known) > 1:
        yield Reason(
            "mixed_family",
            CONFIG,
            f"the driver's packages have {len(known)} versions: "
            + ", ".join(f"{one} ({listed(node.versions[one], 2)})" for one in sorted(known, key=version.key)),
            f"{node.pin.version} in all of them",
            f"bring all of them to {node.pin.version} in one run of apt-get; a part of a family does not work",
            evidence(node.states(rows)),
        )
    others = [one for one in known if one != node.pin.version]
    if others:
        yield from _not_the_pin(node, others)


def _not_the_pin(node: Node, others: list[str]) -> Iterator[Reason]:
    offered, lacking = availability(node)
    branches = {version.branch(f"{one}.") for one in others}
    step = "another branch of the driver" if branches != {node.pin.branch} else "another version of the driver"
    if lacking:
        remedy = f"it cannot be installed: no repository has it for {listed(lacking)}; choose a version that all have"
    else:
        remedy = "all of its packages can be had: let the role change it with nvidia_driver_allow_change: true"
    yield Reason(
        "not_the_pin",
        CONFIG,
        f"{step} is installed, {', '.join(sorted(others, key=version.key))}",
        f"the pinned {node.pin.version}",
        f"{remedy}; a newer one is not a better one, it has to fit the firmware of the last OTA update",
        evidence(offered),
    )


def availability(node: Node) -> tuple[list[str], list[str]]:
    """The pinned version in the repositories: where it is offered, and the packages for which it is not."""
    offered, lacking = [], []
    for row in node.of(DRIVER):
        name = of_branch(row.name, node.pin.branch)
        known = (node.seen.policies or {}).get(name, policy.Policy())
        lines = [
            f"{name} {offer.version} from {', '.join(where)}"
            for offer in known.offers
            if version.driver(offer.version) == node.pin.version
            and (where := policy.origins(offer.sources, node.seen.repositories or {}))
        ]
        offered += lines
        if not lines:
            lacking.append(name)
    return offered, lacking


def _flavour(node: Node) -> Iterator[Reason]:
    wrong = [
        row
        for row in node.of(DRIVER, MODULES)
        if row.member.open is not None
        and row.member.open != node.pin.open
        and (row.member.kind == DRIVER or row.member.kernel in (None, node.kernel, node.seen.boot.next_kernel))
    ]
    if wrong:
        yield Reason(
            "wrong_flavour",
            CONFIG,
            f"packages of the {flavour(not node.pin.open)} flavour are installed: {listed(row.name for row in wrong)}",
            f"only the {node.pin.flavour} one; GB10 has no other that works" if node.pin.open else node.pin.flavour,
            "install the packages of the same version that end in -open, and remove these" if node.pin.open else "",
            evidence(node.states(wrong)),
        )


def _tools(node: Node) -> Iterator[Reason]:
    ahead = [row for row in node.of(TOOL) if (version.branch(row.package.version) or 0) > (node.pin.branch or 0)]
    if ahead:
        yield Reason(
            "tool_of_other_branch",
            CONFIG,
            f"{listed(f'{row.name} {row.package.version}' for row in ahead)} beside driver {node.pin.branch}",
            f"a version of branch {node.pin.branch}",
            "install that version and hold it: the CUDA repository offers newer ones",
            evidence(f"{row.name} from {', '.join(row.origins) or 'no repository'}" for row in ahead),
        )
