# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the next upgrade would do, and what keeps it from that.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import policy, unattended, version
from .family import DRIVER, KERNEL, MODULES, TOOL, of_branch
from .look import BUILT
from .node import Node
from .simulate import INSTALL, REMOVE, Move, Plan
from .verdicts import BLOCKED, CONFIG, OK, UNKNOWN, Reason, evidence, listed


def rules(node: Node) -> Iterator[Reason]:
    if node.of(DRIVER):
        yield from _guards(node)
        yield from _repository(node)
        yield from _blacklist(node)
    yield from _plan(node)


def _guards(node: Node) -> Iterator[Reason]:
    loose = [row for row in node.guarded if not row.safe]
    if loose:
        names = [row.name for row in loose]
        yield Reason(
            "not_held",
            CONFIG,
            f"nothing keeps {len(loose)} packages where they are: {listed(names)}",
            "each held, or kept by a preference of priority 1000 or more",
            f"apt-mark hold {' '.join(names)}",
            evidence(node.states(loose)),
        )
    if node.seen.auto is None:
        yield Reason("auto_unknown", UNKNOWN, "apt-mark does not list the automatic packages", "a list")
    elif drifting := [row.name for row in node.guarded if row.auto]:
        yield Reason(
            "marked_automatic",
            CONFIG,
            f"apt thinks that nobody asked for {listed(drifting)}",
            "marked as manual: else one autoremove can take them",
            f"apt-mark manual {' '.join(drifting)}",
        )


def _repository(node: Node) -> Iterator[Reason]:
    if node.seen.policies is None or node.seen.repositories is None:
        yield Reason("policy_unknown", UNKNOWN, "apt-cache does not say what it would choose", "its policy")
        return
    names = {name for row in node.of(DRIVER) for name in (row.name, of_branch(row.name, node.pin.branch))}
    policies = [known for name, known in node.seen.policies.items() if name in names]
    if not any(_from_afar(offer) for known in policies for offer in known.offers):
        yield Reason(
            "no_repository",
            UNKNOWN,
            "apt knows no repository that has the driver, so that an upgrade which moves nothing proves nothing",
            "the lists of noble-updates restricted and of NVIDIA's repositories",
            "run apt-get update, and see which repository does not answer",
        )


def _from_afar(offer: policy.Offer) -> bool:
    return any(not policy.is_local(source) for source in offer.sources)


def _blacklist(node: Node) -> Iterator[Reason]:
    present = any(package.name == unattended.PACKAGE and package.installed for package in node.seen.packages or ())
    if not present:
        return
    if node.seen.unattended is None:
        yield Reason("unattended_unknown", UNKNOWN, "apt-config does not say what unattended-upgrades may do", "a list")
        return
    if not node.seen.unattended.enabled:
        return
    open_to_it = node.seen.unattended.uncovered(row.name for row in node.guarded)
    if open_to_it:
        loose = [row.name for row in node.guarded if not row.safe and row.name in open_to_it]
        yield Reason(
            "blacklist_too_short",
            CONFIG if loose else OK,
            f"unattended-upgrades is on and its blacklist does not cover {listed(loose or open_to_it)}",
            "patterns that match from the beginning of each name, as Python's re.match does",
            'nvidia- covers no name that begins with lib or linux: add "libnvidia-" and "linux-"',
            evidence(f"Package-Blacklist: {pattern}" for pattern in node.seen.unattended.patterns),
        )


def _plan(node: Node) -> Iterator[Reason]:
    now, later = node.seen.plan, node.seen.phased_plan
    if now is None or later is None:
        yield Reason("plan_unknown", UNKNOWN, "apt-get does not say what an upgrade would do", "a simulation")
        return
    for plan in dict.fromkeys((now, later)):
        if plan.rc != 0:
            yield Reason(
                "apt_refuses",
                BLOCKED,
                f"apt-get -s dist-upgrade returned {plan.rc}: {plan.errors[-1]}",
                "a plan; nothing was changed",
                "resolve what it names; packages held at versions that do not fit each other are the usual cause",
                evidence(plan.errors),
            )
            return
        if plan.unread or not plan.complete:
            shown = plan.unread[0] if plan.unread else "apt-get -s dist-upgrade did not come to its end"
            yield Reason("plan_unreadable", UNKNOWN, shown, "lines that are understood", "", evidence(plan.unread))
    yield from _moves(node, now, later)
    if names := [name for name in now.kept_back if name in {row.name for row in node.rows}]:
        yield Reason("kept_back", OK, f"apt keeps back {listed(names)}")


def _moves(node: Node, now: Plan, later: Plan) -> Iterator[Reason]:
    if node.pin.allow_change:
        for plan in dict.fromkeys((now, later)):
            yield from unfit(node, plan)
        return
    moves = later.pinned_moves or now.pinned_moves
    if moves:
        waiting = set(now.deferred)
        yield Reason(
            "would_move",
            BLOCKED,
            f"an upgrade would {listed((move.text for move in moves), 3)}",
            "no move of the driver's packages or of a kernel",
            "hold them before anything is installed or upgraded; nvidia_driver_allow_change: true lets them move",
            evidence(move.text + (" (waits for its phase)" if move.name in waiting else "") for move in moves),
        )


def _wrong(node: Node, move: Move) -> str | None:
    """What is wrong with one move by itself."""
    own = move.family
    if own is None:
        return None
    if move.action == REMOVE:
        # The modules of one kernel may go when another one comes with its own.
        return None if own.kind == KERNEL or (own.kind == MODULES and own.kernel is not None) else "leaves nothing"
    brings = own.branch or (version.branch(move.new) if own.kind in (DRIVER, TOOL) else None)
    if brings is not None and brings != node.pin.branch:
        return f"is of branch {brings}, not {node.pin.branch}"
    return "is of the other flavour" if own.open not in (None, node.pin.open) else None


def unfit(node: Node, plan: Plan) -> Iterator[Reason]:
    """Whether what a plan leaves would fit together, whatever moves."""
    moves = plan.pinned_moves
    removed = {move.name for move in moves if move.action == REMOVE}
    modules = {move.family.kernel for move in moves if move.family and move.family.kind == MODULES and move.new}
    modules |= {row.member.kernel for row in node.of(MODULES) if row.name not in removed}
    problems = [f"{move.text}: {wrong}" for move in moves if (wrong := _wrong(node, move)) is not None]
    built = node.disk(node.seen.boot.running_kernel).source == BUILT
    kernels = {
        move.name.removeprefix("linux-image-")
        for move in moves
        if move.action == INSTALL and move.name.startswith("linux-image-") and move.family and move.family.kernel
    }
    if not built:
        bare = sorted(kernels - modules)
        problems += [f"install linux-image-{kernel}: no linux-modules-nvidia comes for it" for kernel in bare]
        if problem := _left_behind(node, moves, kernels):
            problems.append(problem)
    if problems:
        yield Reason(
            "would_not_fit",
            BLOCKED,
            f"an upgrade would {problems[0]}",
            "kernel, modules and libraries of one driver, of this branch and flavour",
            "do not upgrade yet: the missing package may still wait for its phase, or be held",
            evidence(problems),
        )


def _left_behind(node: Node, moves: tuple[Move, ...], kernels: set[str]) -> str | None:
    """Libraries that get ahead of the modules, or the next kernel's modules that go without another kernel."""
    gone = [move for move in moves if move.action == REMOVE and move.family and move.family.kernel]
    lost = [move for move in gone if move.family and move.family.kind == MODULES and not kernels]
    if lost:
        return f"{lost[0].text}: no other kernel comes"
    coming = node.seen.boot.driver_next
    ahead = [
        move
        for move in moves
        if move.family and move.family.kind == DRIVER and move.new and version.driver(move.new) is not None
    ]
    moved = any(move.family and move.family.kind == MODULES and move.new for move in moves)
    if ahead and not moved and coming is not None and coming.version != version.driver(ahead[0].new):
        return f"{ahead[0].text}: the modules stay at {coming.version}"
    return None
