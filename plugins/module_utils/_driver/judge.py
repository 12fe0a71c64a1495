# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict on a node's driver, with everything that led to it.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from . import rules_apt, rules_packages, rules_running
from .family import DRIVER
from .look import Seen
from .node import Node
from .simulate import Plan
from .verdicts import OK, SEVERITY, Pin, Reason, flavour, worst

SCHEMA = 1


def reasons(seen: Seen, pin: Pin) -> tuple[Reason, ...]:
    """The worst first; notes last."""
    node = Node(seen, pin)
    found = [*rules_running.rules(node), *rules_packages.rules(node), *rules_apt.rules(node)]
    ordered = sorted(dict.fromkeys(found), key=lambda reason: SEVERITY.index(reason.verdict))
    if worst(ordered) == OK:
        said = f"the {pin.flavour} driver {pin.version} is loaded, installed and kept, and the next boot keeps it"
        ordered.insert(0, Reason("as_pinned", OK, said))
    return tuple(ordered)


def _plan(plan: Plan | None) -> dict[str, Any] | None:
    if plan is None:
        return None
    return {
        "rc": plan.rc,
        "moves": [move.as_dict() for move in plan.pinned_moves],
        "others": len(plan.moves) - len(plan.pinned_moves),
        "kept_back": list(plan.kept_back),
        "deferred": list(plan.deferred),
        "errors": list(plan.errors),
    }


def judge(seen: Seen, pin: Pin) -> dict[str, Any]:
    """What the module returns."""
    node, boot = Node(seen, pin), seen.boot
    found = reasons(seen, pin)
    upcoming, running = node.disk(boot.next_kernel), node.disk(boot.running_kernel)
    candidates = {row.name: row.policy.candidate for row in node.of(DRIVER) if row.policy is not None}
    return {
        "schema": SCHEMA,
        "verdict": worst(found),
        "reasons": [reason.as_dict() for reason in found],
        "pin": {"version": pin.version, "flavour": pin.flavour, "kernel": node.kernel},
        "loaded": {"version": seen.loaded, "flavour": flavour(seen.loaded_open), "source": running.source},
        "installed": node.installed,
        "candidate": next((value for name, value in candidates.items() if name.startswith("nvidia-driver-")), None),
        "running_kernel": boot.running_kernel,
        "next_kernel": boot.next_kernel,
        "pending_kernel": boot.next_kernel if boot.next_kernel != boot.running_kernel else None,
        "next_driver": asdict(boot.driver_next) | {"source": upcoming.source} if boot.driver_next is not None else None,
        "reboot_required": boot.reboot_required,
        "packages": [row.as_dict() for row in node.rows],
        "interrupted": [package.name for package in seen.packages or () if package.installed and not package.finished],
        "upgrade": _plan(seen.plan),
        "upgrade_with_phased": _plan(seen.phased_plan),
        "unattended_upgrades": asdict(seen.unattended) if seen.unattended is not None else None,
        "dkms": list(seen.dkms) if seen.dkms is not None else None,
        "smi": seen.smi.as_dict() if seen.smi is not None else None,
        "dgx": seen.release.as_dict() if seen.release is not None else None,
        "history": [entry.as_dict() for entry in seen.history],
    }
