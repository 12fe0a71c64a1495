# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run on one node: what it reads, writes, has done, and what it says of it.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._node.change import File, keep_copy, write
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Runner

from . import allowed, kept, protection
from .judge import judge, reasons
from .look import look
from .node import Node
from .verdicts import PENDING_REBOOT, Pin, worst

BACKUPS = ("var", "lib", "switchless", "backup")
Rows = dict[str, str]


class StoppedError(Exception):
    """It was not done, or not to its end. The text says all of it."""

    def __init__(self, text: str, driver: dict[str, Any] | None = None) -> None:
        super().__init__(text)
        self.driver = driver


@dataclass
class Session:
    """What is done, or would be in check mode, is in C(actions)."""

    root: Tree
    runner: Runner
    pin: Pin
    allow_change: bool = False
    check_mode: bool = False
    actions: list[str] = field(default_factory=list)
    diff: list[dict[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    reboot_wanted: bool = False
    driver: dict[str, Any] = field(default_factory=dict)

    def look(self) -> Node:
        return Node(look(self.root, self.runner, self.pin), self.pin)

    def stop(self, node: Node, text: str) -> StoppedError:
        return StoppedError(text, judge(node.seen, self.pin))

    def memory(self) -> kept.Kept:
        try:
            return kept.load(self.root.read(*kept.FILE))
        except kept.UnreadableError as error:
            raise StoppedError(
                f"{self.root.path(*kept.FILE)} does not hold what was written there: {error}. Which holds are the "
                "user's is therefore not known; look at the file, then remove it to take all that are there for theirs."
            ) from error

    @staticmethod
    def marks(node: Node) -> Rows:
        """Package to what a diff shows of it."""
        return {
            row.name: f"{row.package.version} {'held' if row.package.held else 'free'}"
            f" {'automatic' if row.auto else 'manual'}"
            for row in node.rows
        }

    def show(self, what: str, before: str, after: str) -> None:
        if before != after:
            self.diff.append({"before_header": what, "after_header": what, "before": before, "after": after})

    def show_packages(self, before: Rows, after: Rows) -> None:
        texts = ["".join(f"{name} {text}\n" for name, text in sorted(rows.items())) for rows in (before, after)]
        self.show("packages", *texts)

    def finish(self, node: Node) -> None:
        self.driver = judge(node.seen, self.pin)
        self.reboot_wanted |= worst(reasons(node.seen, self.pin)) == PENDING_REBOOT or allowed.awaits_reboot(node)

    def write(self, file: tuple[str, ...], content: str | None) -> None:
        """Write or remove one of our files; what somebody else has made of it is kept."""
        path = str(self.root.path(*file))
        wanted = File(path, content, 0o644)
        if not wanted.differs():
            return
        there = wanted.read()
        self.actions.append(f"{'remove' if content is None else 'write'} {path}")
        self.show(path, there or "", content or "")
        if self.check_mode:
            return
        ours = [text for known, text in protection.FILES if known == file]
        if there is not None and there not in (content, *ours) and file != kept.FILE:
            self.actions.append(f"keep a copy of it as {keep_copy(path, self.root.path(*BACKUPS))}")
        write(wanted)

    def remember(self, memory: kept.Kept) -> None:
        if not self.check_mode:
            write(File(str(self.root.path(*kept.FILE)), kept.dump(memory), 0o644))
