# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings the whole family of a driver to its pinned version: planned, simulated, then done in one run of apt-get.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.switchless.spark.plugins.module_utils._node.runner import run_checked

from . import allowed, policy, protection, stanzas, target, words
from .judge import reasons
from .node import Node
from .session import Session
from .simulate import Plan, parse
from .target import Change


def without_return(change: Change, offers: Mapping[str, policy.Policy]) -> list[str]:
    """Packages whose present version no repository has any more."""
    found = []
    for one in change.targets:
        offer = offers.get(one.name, policy.Policy()).offer(one.old)
        if offer is not None and all(map(policy.is_local, offer.sources)):
            found.append(one.name)
    return found


class Installer(Session):
    """The part of a run that moves packages."""

    def plan(self, node: Node) -> Change:
        """What to install, after every refusal that can be made before it."""
        names = target.names(node)
        offers = policy.parse(run_checked(self.runner, (*policy.POLICY, *names)).stdout)
        known = [name for name in names if name in offers]
        shown = stanzas.parse(run_checked(self.runner, (*stanzas.SHOW, *known)).stdout) if known else ()
        change = target.plan(node, offers, shown)
        if change.lacking:
            raise self.stop(
                node,
                f"Nothing was changed. The family of {self.pin.version} cannot be had whole:"
                f"{words.bullets(change.lacking)}\nChoose a version that all of them have, or see with apt-get update "
                "whether a repository does not answer; a part of a family does not work.",
            )
        plan = self.try_out(node, change)
        self.require_room(node, plan)
        if gone := without_return(change, offers):
            self.warnings.append(
                f"No repository has the present version of {', '.join(gone)} any more: apt-get cannot go back to it, "
                "unless /var/cache/apt/archives has the packages."
            )
        self.actions += [move.text for move in plan.moves]
        return change

    def try_out(self, node: Node, change: Change) -> Plan:
        """Simulate it, and refuse what goes beyond the change."""
        if not change:
            raise self.stop(node, words.refusal(node, reasons(node.seen, self.pin)) + words.NOTHING_TO_INSTALL)
        plan = parse(self.runner.run((*words.INSTALL, "-s", "install", *change.arguments)))
        if against := allowed.unwanted(node, change.targets, plan):
            raise self.stop(
                node,
                f"The driver was not changed. The change to {self.pin.version} would do more than that, or less:"
                f"{words.bullets(against)}\nExpected: no move but those of the driver's family and of the modules of "
                f"{node.kernel}. Simulated: apt-get -s install {' '.join(change.arguments)}",
            )
        return plan

    def require_room(self, node: Node, plan: Plan) -> None:
        brought = [f"{move.name}={move.new}" for move in plan.moves if move.new is not None]
        shown = stanzas.parse(run_checked(self.runner, (*stanzas.SHOW, *brought)).stdout)
        if short := allowed.room(self.root, self.runner, shown):
            text = f"Nothing was changed. The disk is too full for the change:{words.bullets(short)}\nFree space first."
            raise self.stop(node, text)

    def install(self, node: Node, change: Change) -> Node:
        self.try_out(node, change)  # once more, with the preferences in place
        result = self.runner.run((*words.QUIET, *words.INSTALL, "-y", "install", *change.arguments))
        after = self.look()
        if result.rc != 0:
            self.runner.run((*protection.HOLD, *(row.name for row in after.guarded)))
            raise self.stop(after, words.broken_off(after, change.targets, result))
        return after
