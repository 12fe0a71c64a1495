# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What speaks against a change: reasons that it does not cure, moves that nobody asked for, a disk that is too full.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Runner

from . import version
from .family import DRIVER, FIRMWARE, KERNEL, MODULES
from .node import Node
from .simulate import REMOVE, Move, Plan
from .stanzas import Stanza
from .target import Target
from .verdicts import OK, PENDING_REBOOT, Reason

CURED_BY_MARKS = frozenset({"not_held", "would_move", "marked_automatic", "blacklist_too_short"})
CURED_BY_PACKAGES = frozenset(
    {"not_the_pin", "mixed_family", "wrong_flavour", "tool_of_other_branch", "next_does_not_fit", "driver_missing"}
)
# What the loaded module shows. Packages alone do not change it, the reboot after them does.
OF_THE_LOADED = frozenset(
    {
        "loaded_is_another",
        "smi_mismatch",
        "not_loaded",
        "wrong_flavour_loaded",
        "gpu_refuses_flavour",
        "gpu_refuses_firmware",
    }
)
MIB = 1024 * 1024
# An initrd with the driver's modules is written beside the old one, and dpkg unpacks beside what is there.
BOOT_BYTES, REST_BYTES = 256 * MIB, 512 * MIB
ARCHIVES, PROGRAMS, BOOT = "var/cache/apt/archives", "usr", "boot"


def wants_packages(node: Node, found: Iterable[Reason]) -> bool:
    """Whether other packages are what cures it."""
    codes = {reason.code for reason in found} & CURED_BY_PACKAGES
    if node.seen.boot.next_kernel != node.kernel:
        codes -= {"driver_missing"}
    return bool(codes)


def awaits_reboot(node: Node) -> bool:
    """Whether another module is loaded than the pinned one that the next boot loads."""
    return node.comes_as_pinned and (node.seen.loaded, node.seen.loaded_open) != (node.pin.version, node.pin.open)


def against(node: Node, found: Sequence[Reason], *, allow_change: bool, before: bool) -> tuple[Reason, ...]:
    """The reasons for which nothing is done, or, after it, those that are left."""
    packages = before and allow_change and wants_packages(node, found)
    cured = (CURED_BY_MARKS if before else frozenset()) | (CURED_BY_PACKAGES if packages else frozenset())
    if packages and node.seen.boot.next_kernel != node.kernel:
        cured -= {"driver_missing"}
    left = []
    for reason in found:
        if reason.verdict == OK or reason.code in cured:
            continue
        waits = reason.verdict == PENDING_REBOOT or awaits_reboot(node) or packages
        passes = allow_change and waits if reason.code in OF_THE_LOADED else reason.verdict == PENDING_REBOOT
        if not passes:
            left.append(reason)
    return tuple(left)


def _wanted(node: Node, move: Move, targets: dict[str, str]) -> bool:
    """Whether one move belongs to the change."""
    own, pin = move.family, node.pin
    if own is None:
        return move.action != REMOVE
    if move.action != REMOVE and move.name in targets:
        return move.new == targets[move.name]
    if own.kind == FIRMWARE:
        return move.action == REMOVE or version.driver(move.new) == pin.version
    if own.kind == DRIVER and move.action != REMOVE:
        return version.driver(move.new) == pin.version and own.open in (None, pin.open)
    other = own.branch != pin.branch or own.open not in (None, pin.open)
    if own.kind == DRIVER:
        return other and move.name not in targets
    # The modules of another kernel are lost with the libraries that they were built for, if none are built anew.
    return own.kind == MODULES and move.action == REMOVE and (other or own.kernel not in (None, node.kernel))


def unwanted(node: Node, targets: Iterable[Target], plan: Plan) -> tuple[str, ...]:
    """What a simulated change would do beyond what it is for, or leave undone."""
    if plan.rc != 0:
        return tuple(f"apt-get -s install: {line}" for line in plan.errors)
    if plan.unread or not plan.complete:
        return (f"not understood: {plan.unread[0]}" if plan.unread else "apt-get -s install came to no end",)
    wanted = {target.name: target.version for target in targets}
    done = {move.name: move.new for move in plan.moves if move.action != REMOVE}
    found = [
        f"{move.text}{': a kernel' if move.family is not None and move.family.kind == KERNEL else ''}"
        for move in plan.moves
        if not _wanted(node, move, wanted)
    ]
    found += [f"leave {name} as it is, not {new}" for name, new in wanted.items() if done.get(name) != new]
    return tuple(found)


def room(root: Tree, runner: Runner, stanzas: Iterable[Stanza]) -> tuple[str, ...]:
    """File systems that are too full for these packages."""
    brought = list(stanzas)
    needs = {
        ARCHIVES: sum(stanza.download for stanza in brought),
        PROGRAMS: sum(stanza.installed for stanza in brought) + REST_BYTES,
        BOOT: BOOT_BYTES,
    }
    there = {part: need for part, need in needs.items() if root.exists(part)}
    paths = [str(root.path(part)) for part in there]
    result = runner.run(("df", "-B1", "--output=avail,target", *paths))
    rows = [line.split(None, 1) for line in result.stdout.splitlines()[1:]]
    if result.rc != 0 or len(rows) != len(paths) or not all(row[0].isdecimal() for row in rows):
        return (f"df does not say how much is free: {(result.stderr or result.stdout).strip()}",)
    free = {row[1]: int(row[0]) for row in rows}
    wanted: dict[str, int] = {}
    for row, need in zip(rows, there.values(), strict=True):
        wanted[row[1]] = wanted.get(row[1], 0) + need
    return tuple(
        f"{free[mount] // MIB} MiB are free on {mount}, {need // MIB} MiB are needed"
        for mount, need in wanted.items()
        if free[mount] < need
    )
