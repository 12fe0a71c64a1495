# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings a node to its pin and keeps it there, or gives back what was taken for it.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

from ansible_collections.switchless.spark.plugins.module_utils._node.runner import run_checked

from . import allowed, cdi, kept, protection, words
from .install import Installer
from .judge import reasons
from .node import Node
from .protection import Marks
from .target import Change

ROUNDS = 3  # a hold can make apt think of moving another package


class Converge(Installer):
    """Read, refuse or plan, apply, read again."""

    def present(self) -> None:
        memory = self.memory()
        node = first = self.look()
        found = reasons(node.seen, self.pin)
        if left := allowed.against(node, found, allow_change=self.allow_change, before=True):
            curable = not self.allow_change and not allowed.against(node, found, allow_change=True, before=True)
            raise self.stop(node, words.refusal(node, left, curable=curable))
        change = self.plan(node) if allowed.wants_packages(node, found) else Change()
        for file, content in protection.FILES:
            self.write(file, content)
        if self.check_mode:
            self.foresee(node, change)
            return
        written = bool(self.actions)
        if change:
            node, written = self.install(node, change), False
        node = self.protect(node, memory, stale=written)
        if left := allowed.against(node, reasons(node.seen, self.pin), allow_change=self.allow_change, before=False):
            raise self.stop(
                node,
                f"Done: {'; '.join(self.actions) or 'nothing'}. Read again, the driver is not kept:"
                + words.bullets(reason.text for reason in left),
            )
        self.show_packages(self.marks(first), self.marks(node))
        self.regenerate(node)
        self.finish(node)

    def foresee(self, node: Node, change: Change) -> None:
        """Check mode: what the rest would do."""
        marks = protection.missing(node)
        rows = {name: text.split(" ") for name, text in self.marks(node).items()}
        for name in change.replaced:
            del rows[name]
        for one in change.targets:
            rows[one.name] = [one.version, "held", "manual"]
        new = [one.name for one in change.targets if one.old is None]
        marks = Marks(
            tuple(name for name in dict.fromkeys((*marks.hold, *new)) if name in rows),
            tuple(name for name in marks.manual if name in rows),
        )
        for name in marks.hold:
            rows[name][1] = "held"
        for name in marks.manual:
            rows[name][2] = "manual"
        self.say(marks)
        self.show_packages(self.marks(node), {name: " ".join(text) for name, text in rows.items()})
        if not change:
            self.regenerate(node)
        self.reboot_wanted = bool(change)
        self.finish(node)

    def say(self, marks: Marks) -> None:
        if marks.hold:
            self.actions.append(f"hold {' '.join(marks.hold)}")
        if marks.manual:
            self.actions.append(f"mark as manual {' '.join(marks.manual)}")

    def protect(self, node: Node, memory: kept.Kept, *, stale: bool) -> Node:
        """Gives the node as it is then. C(stale): files were written since it was read."""
        for _round in range(ROUNDS):
            marks = protection.missing(node)
            if not marks:
                return self.look() if stale else node
            stale = False
            memory = memory.plus(marks)
            self.remember(memory)  # first: what is not remembered is never given back
            self.say(marks)
            for command, names in ((protection.HOLD, marks.hold), (protection.MANUAL, marks.manual)):
                if names:
                    run_checked(self.runner, (*command, *names))
            node = self.look()
        return node

    def regenerate(self, node: Node) -> None:
        """The containers' specification, once the driver that is loaded is the installed one."""
        version = node.installed
        if version is None or node.seen.loaded != version:
            return
        for path in cdi.stale(self.root, version):
            if self.runner.run(cdi.PRESENT).missing:
                self.warnings.append(f"{path} names another driver than {version}, and there is no nvidia-ctk.")
                continue
            self.actions.append(f"generate {path} for {version}")
            if self.check_mode:
                continue
            run_checked(self.runner, cdi.generate(path))
            if path in cdi.stale(self.root, version):
                raise self.stop(node, f"nvidia-ctk cdi generate left another driver than {version} in {path}")

    def absent(self) -> None:
        """Give back what was taken, and no more. The driver stays."""
        memory = self.memory()
        node = first = self.look()
        if node.seen.packages is None or (memory.marked and node.seen.auto is None):
            raise self.stop(node, "Nothing was changed: dpkg-query or apt-mark does not list packages and their marks.")
        there = {one.name: one for one in node.seen.packages if one.installed}
        unhold = sorted(name for name in memory.held if name in there and there[name].held)
        auto = sorted(name for name in memory.marked if name in there and name not in (node.seen.auto or ()))
        todo = ((protection.UNHOLD, unhold, "unhold"), (protection.AUTO, auto, "mark as automatic"))
        for command, names, verb in todo:
            if names:
                self.actions.append(f"{verb} {' '.join(names)}")
                if not self.check_mode:
                    run_checked(self.runner, (*command, *names))
        for file, _content in protection.FILES:
            self.write(file, None)
        self.write(kept.FILE, None)
        if self.actions and not self.check_mode:
            node = self.look()
            if left := [one.name for one in node.seen.packages or () if one.name in unhold and one.held]:
                raise self.stop(node, f"Still held after apt-mark unhold: {', '.join(left)}")
        self.show_packages(self.marks(first), self.marks(node))
        self.finish(node)
        self.reboot_wanted = False
