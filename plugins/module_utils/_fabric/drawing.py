# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""A plan as a person sees it: nodes down the page in rank order, each cable with both cages and both subnets."""

from __future__ import annotations

from collections.abc import Iterator

from .layout import Step, incidence, walk
from .model import ROOTS, SWITCH, Cable, Plan, dotted

_LABEL = 9
_COLUMN = 20


def draw(plan: Plan) -> str:
    """Lines of at most 80 columns for host names of up to 18 characters, without a line feed at the end."""
    return "\n".join(line.rstrip() for line in (*_head(plan), *(_star(plan) if plan.layout == SWITCH else _walk(plan))))


def _head(plan: Plan) -> Iterator[str]:
    count, size = len(plan.cables), len(plan.order)
    yield (
        f"{f'{size} nodes on a switch' if plan.layout == SWITCH else f'{plan.layout} of {size} nodes'}, "
        f"{count} cable{'' if count == 1 else 's'}, MTU {plan.mtu}, control plane: {plan.control_plane}"
    )
    yield ""
    yield "           " + _columns("", [f"PCIe root {root}" for root in ROOTS])


def _walk(plan: Plan) -> Iterator[str]:
    ends = [cable.ends for cable in plan.cables]
    trip = walk(ends, incidence(ends), plan.order[0])
    yield from _lines(plan, trip.steps, trip.closed)


def _star(plan: Plan) -> Iterator[str]:
    """The switch with the subnets of each cage, and below it the nodes with their addresses and cables."""
    by_end = {(cable.ends[0].host, cable.ends[0].cage): cable for cable in plan.cables}
    shared = {cage: [str(subnet) for subnet in cable.subnets] for (_host, cage), cable in sorted(by_end.items())}
    yield f"  {SWITCH}"
    for cage, subnets in shared.items():
        yield "  │        " + _columns(cage, subnets)
    for rank, host in enumerate(plan.order):
        last = rank == len(plan.order) - 1
        yield f"  {'└' if last else '├'}───▶ {rank}  {host}{'  (head)' if rank == 0 else ''}"
        for cage in shared:
            cable = by_end[host, cage]
            addresses = [dotted(cable.address(0, root)) for root in range(len(ROOTS))]
            yield f"  {' ' if last else '│'}        " + _columns(cage, [*addresses, f"cable {cable.number}"])


def _lines(plan: Plan, steps: tuple[Step, ...], closed: bool) -> Iterator[str]:
    for rank, host in enumerate(plan.order):
        rail = ("┌─▶" if rank == 0 else "│  ") if closed else "   "
        yield f"  {rail} {rank}  {host}{'  (head)' if rank == 0 else ''}"
        if rank == len(steps):
            return
        rail = "│" if closed else " "
        cable, near = plan.cables[steps[rank].cable], steps[rank].near
        yield f"  {rail}   │    " + _end(cable, near)
        yield f"  {rail}   │    " + _columns(f"cable {cable.number}", [str(subnet) for subnet in cable.subnets])
        last = closed and rank == len(steps) - 1
        back = f"  to {plan.order[0]}" if last else ""
        yield f"  {'└───┘' if last else f'{rail}   │'}    " + _end(cable, 1 - near) + back


def _end(cable: Cable, end: int) -> str:
    return _columns(cable.ends[end].cage, [dotted(cable.address(end, root)) for root in range(len(ROOTS))])


def _columns(label: str, cells: list[str]) -> str:
    return f"{label:<{_LABEL}}  " + "".join(f"{cell:<{_COLUMN}}" for cell in cells).rstrip()
