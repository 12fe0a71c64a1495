# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an installation or a removal would do, and why it is refused.

B(Private) to the collection: it can change at any time.

apt-get does not say whether there is room for what it would unpack: apt-cache knows sizes, the file system the room.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._driver.look import DPKG_UPDATES
from ansible_collections.switchless.spark.plugins.module_utils._driver.simulate import REMOVE, Move, Plan, parse
from ansible_collections.switchless.spark.plugins.module_utils._driver.verdicts import (
    BLOCKED,
    SEVERITY,
    UNKNOWN,
    Reason,
    evidence,
    listed,
    worst,
)
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Result, Runner

SCHEMA = 1
ARCHIVES, UNPACKED = ("var", "cache", "apt", "archives"), ("usr",)
RESERVE = 512 * 1024**2  # what has to stay free, in bytes
GIB = 1024**3
# A minus behind a name would remove it, and a pattern would be searched for.
NAME = re.compile(r"[a-z0-9][a-z0-9.+-]*[a-z0-9+](?::[a-z0-9-]+)?(?:=[A-Za-z0-9.+:~-]+)?")
_UNKNOWN = re.compile(
    r"E: (?:Unable to locate package (?P<none>\S+)|Package '(?P<no_candidate>[^']+)' has no installation candidate"
    r"|Version '(?P<version>[^']+)' for '(?P<name>[^']+)' was not found)"
)
_SELECTED = re.compile(r"Note, selecting '[^']+' for (?:regex|glob|task) '(?P<pattern>[^']+)'")


@dataclass(frozen=True, slots=True)
class Disk:
    """What is needed and what is free, in bytes. Null is not known."""

    download_bytes: int | None = None
    unpacked_bytes: int | None = None
    free_bytes: int | None = None  # where it is unpacked
    archives_free_bytes: int | None = None
    same: bool = True  # both are one file system

    @property
    def known(self) -> bool:
        return None not in (self.download_bytes, self.unpacked_bytes, self.free_bytes, self.archives_free_bytes)

    @property
    def lack(self) -> str | None:
        """Where there is too little, in words."""
        if self.download_bytes is None or self.unpacked_bytes is None:
            return None
        here = self.unpacked_bytes + (self.download_bytes if self.same else 0)
        for where, needed, free in (
            ("/usr", here, self.free_bytes),
            ("/var/cache/apt/archives", 0 if self.same else self.download_bytes, self.archives_free_bytes),
        ):
            if needed and free is not None and needed + RESERVE > free:
                return f"{needed / GIB:.1f} GiB are needed at {where} and {free / GIB:.1f} GiB are free"
        return None


@dataclass(frozen=True, slots=True)
class Asked:
    """What apt is asked for."""

    packages: tuple[str, ...]
    remove: bool = False
    recommends: bool = False

    @property
    def argv(self) -> tuple[str, ...]:
        recommends = f"APT::Install-Recommends={'yes' if self.recommends else 'no'}"
        return ("apt-get", "-s", "-o", recommends, "remove" if self.remove else "install", *self.packages)


@dataclass(frozen=True, slots=True)
class Seen:
    """Its answer. Without a plan there is no apt-get."""

    plan: Plan | None
    unknown: tuple[str, ...] = ()
    disk: Disk = Disk()
    interrupted: bool = False


def unknown(result: Result) -> tuple[str, ...]:
    """The names that apt does not know, or knows in no such version, or took for a pattern."""
    found = []
    for line in (*result.stdout.splitlines(), *result.stderr.splitlines()):
        if match := _UNKNOWN.fullmatch(line.strip()):
            versioned = f"{match['name']}={match['version']}" if match["name"] else None
            found.append(match["none"] or match["no_candidate"] or versioned)
        elif match := _SELECTED.match(line):
            found.append(match["pattern"])
    return tuple(dict.fromkeys(name for name in found if name is not None))


def sizes(text: str) -> dict[tuple[str, str], tuple[int, int]]:
    """Name and version to bytes of the archive and of what is unpacked, from C(apt-cache show)."""
    found = {}
    for paragraph in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in paragraph.splitlines() if re.match(r"[A-Z][\w-]*: ", line))
        size, unpacked = fields.get("Size", ""), fields.get("Installed-Size", "")
        if size.isdecimal():  # the other field may be left out
            kept = int(unpacked) * 1024 if unpacked.isdecimal() else int(size)
            found[fields.get("Package", ""), fields.get("Version", "")] = (int(size), kept)
    return found


def _disk(root: Tree, runner: Runner, moves: tuple[Move, ...]) -> Disk:
    comes = [(move.name, move.new) for move in moves if move.new is not None]
    command = ("apt-cache", "show", *(f"{name}={version}" for name, version in comes))
    told = sizes(runner.run(command).stdout) if comes else {}
    known = [told[one] for one in comes if one in told]
    whole = len(known) == len(comes)
    try:
        usr, archives = os.statvfs(root.path(*UNPACKED)), os.statvfs(root.path(*ARCHIVES))
        same = root.path(*UNPACKED).stat().st_dev == root.path(*ARCHIVES).stat().st_dev
    except OSError:
        return Disk()
    return Disk(
        sum(size for size, _unpacked in known) if whole else None,
        sum(unpacked for _size, unpacked in known) if whole else None,
        usr.f_bavail * usr.f_frsize,
        archives.f_bavail * archives.f_frsize,
        same,
    )


def look(root: Tree, runner: Runner, asked: Asked) -> Seen:
    """Let apt play it through. Nothing is changed, and no list is refreshed."""
    result = runner.run(asked.argv)
    if result.missing:
        return Seen(None)
    plan = parse(result)
    interrupted = any(name.isdecimal() for name in root.names(*DPKG_UPDATES))
    return Seen(plan, unknown(result), _disk(root, runner, plan.moves), interrupted)


def _strangers(plan: Plan, asked: Asked) -> tuple[Move, ...]:
    """What would be removed without being asked for."""
    names = {name.partition("=")[0].partition(":")[0] for name in asked.packages} if asked.remove else set()
    return tuple(move for move in plan.moves if move.action == REMOVE and move.name not in names)


def _rules(seen: Seen, asked: Asked) -> Iterator[Reason]:
    plan, word = seen.plan, "removal" if asked.remove else "installation"
    if plan is None:
        yield Reason("no_apt", UNKNOWN, "apt-get is not there", "apt-get", "")
        return
    if seen.interrupted:
        yield Reason("dpkg_interrupted", BLOCKED, "dpkg was interrupted", "a finished dpkg", "dpkg --configure -a")
    if plan.pinned_moves:
        texts = tuple(move.text for move in plan.pinned_moves)
        yield Reason(
            "would_move",
            BLOCKED,
            f"the {word} would move the driver or a kernel: {listed(texts)}",
            "driver and kernel stay as they are",
            "ask for packages that bring no driver (cuda-toolkit-X-Y instead of cuda), or pin the driver first",
            evidence(texts),
        )
    if strangers := _strangers(plan, asked):
        texts = tuple(move.text for move in strangers)
        seen_text = f"the {word} would also {listed(texts)}"
        yield Reason("would_remove", BLOCKED, seen_text, "nothing else goes", "ask for less", evidence(texts))
    if seen.unknown:
        yield Reason(
            "package_unknown",
            BLOCKED,
            f"apt does not know {listed(seen.unknown)}",
            "names and versions that a repository has",
            "correct the name, or add NVIDIA's CUDA repository and refresh the lists (apt-get update)",
        )
    elif plan.errors:
        refuses = f"apt refuses the {word}: {plan.errors[-1]}"
        yield Reason("apt_refuses", BLOCKED, refuses, "a plan", "solve it by hand", evidence(plan.errors))
    elif plan.unread or not plan.complete:
        yield Reason(
            "plan_unreadable", UNKNOWN, "the plan of apt cannot be read to its end", "a plan", "", evidence(plan.unread)
        )
    if (lack := seen.disk.lack) is not None:
        yield Reason(
            "disk_full", BLOCKED, lack, "that, and half a GiB left over", "make room: apt-get clean, old kernels"
        )
    elif not seen.disk.known and not plan.errors:
        yield Reason("room_unknown", UNKNOWN, "how much is needed or free is not known", "sizes by apt-cache show", "")


def judge(seen: Seen, asked: Asked) -> dict[str, Any]:
    """What the module returns."""
    found = sorted(_rules(seen, asked), key=lambda reason: SEVERITY.index(reason.verdict))
    plan = seen.plan
    return {
        "schema": SCHEMA,
        "verdict": worst(found),
        "refused": bool(found),
        "reasons": [reason.as_dict() for reason in found],
        "rc": plan.rc if plan is not None else None,
        "moves": [move.as_dict() for move in plan.moves] if plan is not None else [],
        "guarded": [move.as_dict() for move in plan.pinned_moves] if plan is not None else [],
        "installs": sorted({move.name for move in plan.moves if move.action == "install"}) if plan is not None else [],
        "unknown": list(seen.unknown),
        "errors": list(plan.errors) if plan is not None else [],
        "disk": asdict(seen.disk),
    }
