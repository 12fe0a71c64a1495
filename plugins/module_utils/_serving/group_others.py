# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""What the other ranks do while the head does what it says: what is worth saying, and what cannot be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .group_look import unit_name
from .group_rank import Rank, Reason

STOPPED, GATHERING, STARTING, SERVING, ENDING, FAILED = (
    "stopped",
    "gathering",
    "starting",
    "serving",
    "ending",
    "failed",
)
TOGETHER = (STARTING, SERVING)
"""States of the head in which every rank runs."""


def others(head: Rank, base: str, workers: list[Rank], limit: float) -> Iterator[Reason]:
    """Of all ranks but the head. C(limit) is after how many seconds a rank has noticed what the head does."""
    for one in workers:
        listed = entry(head, one)
        found = list(_worker(head, base, one, listed, limit))
        yield from found
        waited = base == GATHERING and listed is not None and listed.get("state") in ("absent", "lost", "gone")
        if waited and not found:
            yield one.because(
                f"the head waits for {one.name}", f"systemctl status {unit_name(head.recipe)} on {one.host}"
            )


def entry(head: Rank, one: Rank) -> Mapping[str, Any] | None:
    """What the head says of a rank."""
    listed = head.state.get("ranks")
    rows = listed if isinstance(listed, list) else []
    return next((row for row in rows if isinstance(row, Mapping) and row.get("rank") == one.number), None)


def _worker(head: Rank, base: str, one: Rank, listed: Mapping[str, Any] | None, limit: float) -> Iterator[Reason]:
    if not one.answered:
        yield _unanswered(base, one, listed)
    elif not one.there:
        yield one.because(
            f"{one.host} has nothing to run as rank {one.number} of {head.recipe}",
            "run the role vllm on all nodes of the group",
            hard=base in TOGETHER,
        )
    elif not one.live:
        yield from _down(base, one, limit)
    elif not one.says:
        if base in (*TOGETHER, GATHERING):
            yield one.because(f"{one.where} runs, and what it does is not known: {one.unsaid}", "ask again, as root")
    elif one.state.get("rank", one.number) != one.number or one.state.get("host", one.host) != one.host:
        yield one.because(
            f"the unit on {one.host} runs as rank {one.state.get('rank')} of {one.state.get('host')}, expected rank "
            f"{one.number} of {one.host}",
            "run the role vllm on all nodes of the group",
            hard=True,
        )
    elif one.says == "running":
        yield from _running(head, base, one, listed, limit)
    else:
        yield from _idle(head, base, one, listed, limit)


def _unanswered(base: str, one: Rank, listed: Mapping[str, Any] | None) -> Reason:
    """The head knows that a rank is away, for example when its node has no power; else nobody knows what it does."""
    away = base in (GATHERING, ENDING) and listed is not None and listed.get("state") in ("absent", "lost", "gone")
    more = f" ({one.silence})" if one.silence else ""
    return one.because(
        f"{one.host} gave no answer{more}, so nobody knows what its rank {one.number} does",
        f"see that {one.host} is on and can be reached, then ask again",
        hard=not away and base != FAILED,
    )


def _down(base: str, one: Rank, limit: float) -> Iterator[Reason]:
    """A unit that is stopped or failed."""
    name = unit_name(one.recipe)
    if one.active == "failed":
        yield one.because(
            f"{one.where} failed ({one.how_it_ended()})",
            f"on {one.host}: journalctl -u {name}, then systemctl restart {name}",
            hard=base in TOGETHER and one.changed_for() > limit,
        )
    elif base != STOPPED:
        yield one.because(
            f"{one.where} is stopped, and the group needs it",
            f"on {one.host}: systemctl start {name}",
            hard=base in TOGETHER and one.changed_for() > limit,
        )


def _running(head: Rank, base: str, one: Rank, listed: Mapping[str, Any] | None, limit: float) -> Iterator[Reason]:
    restart = f"on {one.host}: systemctl restart {unit_name(one.recipe)}"
    if base in (STOPPED, FAILED):
        yield one.because(
            f"{one.name} runs, and the head on {head.host} is down for {head.changed_for():.0f} s",
            f"{restart}; it then waits for the head",
            hard=base == STOPPED and head.changed_for() > limit,
        )
    elif base == GATHERING and head.said_for() > limit:
        yield one.because(f"{one.name} still runs life {one.life}, and the head gathers a new one", restart, hard=True)
    elif base in TOGETHER:
        if one.life and head.life and one.life != head.life:
            yield one.because(f"{one.name} runs life {one.life}, expected {head.life} as on the head", restart, True)
        elif listed and _differ(listed.get("invocation"), one.unit.get("invocation")):
            yield one.because(
                f"{one.name} is start {one.unit.get('invocation')} of its unit, expected {listed.get('invocation')}, "
                "which is the one that the head took in",
                restart,
                True,
            )


def _differ(left: object, right: object) -> bool:
    return bool(left) and bool(right) and str(left).replace("-", "") != str(right).replace("-", "")


def _idle(head: Rank, base: str, one: Rank, listed: Mapping[str, Any] | None, limit: float) -> Iterator[Reason]:
    """A keeper without a child."""
    detail = str(one.state.get("detail") or "")
    if base in TOGETHER and min(one.said_for(), head.said_for()) > limit:
        yield one.because(
            f"{one.name} says {one.says}{': ' * bool(detail)}{detail}, and the head says {base}",
            f"on {head.host}: systemctl restart {unit_name(head.recipe)}",
            hard=True,
        )
    elif base == GATHERING and listed is not None and listed.get("state") == "absent" and one.says == "waiting":
        if min(one.said_for(), head.said_for()) <= limit:
            return
        yield one.because(
            f"{one.name} waits for the head, which has not heard of it{': ' * bool(detail)}{detail}",
            f"see that {one.host} reaches the control port of {head.host}, and that both have the same group.key",
        )
