# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""All ranks' units to one group: what it does, since when, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import shown
from ansible_collections.switchless.spark.plugins.module_utils._fabric.plain import plain

from .group_look import end_words, unit_name
from .group_others import ENDING, FAILED, GATHERING, SERVING, STARTING, STOPPED, others
from .group_rank import Rank, Reason, rank
from .journal import number

SCHEMA = 1
ABSENT, INCONSISTENT = "absent", "inconsistent"
STATES = (ABSENT, STOPPED, GATHERING, STARTING, SERVING, ENDING, FAILED, INCONSISTENT)
NOTICED = 5.0
"""Seconds that a rank has, beyond the silence limit, to end and to say so."""
FRESH = 15.0
"""Seconds after which a keeper that was started has said what it does."""

_SAYS: Mapping[str, str] = {
    "waiting": GATHERING,
    "gathering": GATHERING,
    "starting": STARTING,
    "serving": SERVING,
    "ending": ENDING,
    "stopped": ENDING,
    "failed": ENDING,
}


class GroupError(ValueError):
    """An input that is no group."""


_CANNOT_START = ("bad-setting", "error", "masked")


def group(looks: object, ranks: object, silence_seconds: object = 10) -> dict[str, Any]:
    """C(looks) by host, C(ranks) the hosts in the order of their ranks."""
    given, order = plain(looks), plain(ranks)
    if not isinstance(order, list) or not order or not all(isinstance(host, str) for host in order):
        raise GroupError(f"ranks is {shown(order)}: expected the hosts in the order of their ranks, the head first")
    if not isinstance(given, dict):
        raise GroupError(f"the input is {shown(given)}: expected a mapping of hosts to what vllm_group_info returned")
    silence = number(plain(silence_seconds))
    if silence is None or silence < 0:
        raise GroupError(f"silence_seconds is {shown(silence_seconds)}: expected 0 or more seconds")
    found = [rank(str(host), place, given.get(host)) for place, host in enumerate(order)]
    strangers = [rank(str(host), None, given[host]) for host in given if host not in order]
    state, reasons = _judge(found, strangers, silence + NOTICED)
    return _answer(found, state, reasons)


def _judge(ranks: list[Rank], strangers: list[Rank], limit: float) -> tuple[str, list[Reason]]:
    head, workers = ranks[0], ranks[1:]
    if not any(one.there for one in ranks if one.answered) and all(one.answered for one in ranks):
        return ABSENT, [*_strange(strangers)]
    base, why = _head(head, ranks, limit)
    reasons = [*why, *others(head, base, workers, limit), *_strange(strangers)]
    if base == FAILED:
        return FAILED, reasons
    if base == INCONSISTENT or any(one.hard for one in reasons):
        return INCONSISTENT, reasons
    if base == STOPPED and any(one.says == "running" and one.live for one in workers):
        return ENDING, reasons
    return base, reasons


def _strange(strangers: list[Rank]) -> Iterator[Reason]:
    for one in strangers:
        if one.live:
            yield one.because(
                f"{one.where} runs, and {one.host} is no rank of this group",
                f"on {one.host}: systemctl disable --now {unit_name(one.recipe)}",
                hard=True,
            )


def _head(head: Rank, ranks: list[Rank], limit: float) -> tuple[str, list[Reason]]:
    """What the head makes of the group, before the other ranks are looked at."""
    name = unit_name(head.recipe)
    if not head.answered:
        more = f" ({head.silence})" if head.silence else ""
        text = f"{head.host}, which has the head, gave no answer{more}"
        return INCONSISTENT, [
            head.because(text, f"see that {head.host} is on and can be reached, then ask again", True)
        ]
    if not head.there:
        text = f"{head.host} has nothing to run as rank 0, the head, and other nodes have their ranks"
        return INCONSISTENT, [head.because(text, "run the role vllm on all nodes of the group", True)]
    if head.unit.get("load") in _CANNOT_START and not head.live:
        error = head.unit.get("load_error") or "systemd says no more"
        text = f"{head.where} cannot be started: {head.unit.get('load')}, {error}"
        unmask = f"on {head.host}: systemctl unmask {name}"
        masked = head.unit.get("load") == "masked"
        return FAILED, [head.because(text, unmask if masked else "run the role vllm, which writes the unit")]
    if head.active == "failed":
        return FAILED, [_failed(head)]
    if head.active == "inactive":
        text = f"{head.where} is stopped, and so is the group"
        return STOPPED, [head.because(text, f"on {head.host}: systemctl start {name}")]
    return _live(head, ranks, limit)


def _live(head: Rank, ranks: list[Rank], limit: float) -> tuple[str, list[Reason]]:
    name = unit_name(head.recipe)
    if head.active == "deactivating":
        return ENDING, [head.because(f"{head.where} is being stopped", "wait until it is")]
    if head.unit.get("sub") in ("auto-restart", "auto-restart-queued"):
        text = f"{head.where} ended ({head.how_it_ended()}), and systemd starts it again"
        return ENDING, [head.because(text, f"on {head.host}: journalctl -u {name}")]
    misplaced = list(_misplaced(head, ranks))
    if misplaced:
        return INCONSISTENT, misplaced
    base = _SAYS.get(head.says)
    if base is None:
        if head.changed_for() <= max(limit, FRESH):
            return GATHERING, [head.because(f"{head.where} has just been started", "ask again in a few seconds")]
        said = f"it says {shown(head.says)}" if head.says else head.unsaid
        text = f"{head.where} runs, and what the group does is not known: {said}"
        return INCONSISTENT, [head.because(text, f"ask again as root; if it stays, systemctl restart {name}", True)]
    ended = head.state.get("ended")
    if base != ENDING or not isinstance(ended, Mapping):
        return base, []
    return base, [head.because(f"the life ends, {end_words(ended)}", "wait: systemd starts the next life")]


def _misplaced(head: Rank, ranks: list[Rank]) -> Iterator[Reason]:
    """The head has to be rank 0, and to have the ranks that are expected."""
    cure = "run the role vllm on all nodes of the group"
    own = head.state.get("rank", 0), head.state.get("host", head.host)
    if own != (0, head.host):
        text = f"the unit on {head.host} runs as rank {own[0]} of {own[1]}, expected rank 0 of {head.host}"
        yield head.because(text, cure, True)
        return
    listed = head.state.get("ranks")
    rows = [row for row in listed if isinstance(row, Mapping)] if isinstance(listed, list) else []
    seen, wanted = [str(row.get("host")) for row in rows], [one.host for one in ranks]
    if rows and seen != wanted:
        text = f"the group of the head has the ranks {', '.join(seen)}, expected {', '.join(wanted)}"
        yield head.because(text, cure, True)


def _failed(head: Rank) -> Reason:
    name = unit_name(head.recipe)
    restarts, allowed = head.unit.get("restarts"), head.unit.get("starts_allowed")
    budget = f"{allowed} starts in {head.unit.get('starts_within')}" if allowed else "the starts that the unit may have"
    # systemd keeps the result of the last start when the limit is hit, so the restarts tell it.
    by_hand = head.end is not None and head.end.get("reason") == "stopped"
    spent = head.unit.get("result") == "start-limit-hit" or (bool(restarts) and not by_hand)
    text = f"{head.where} failed ({head.how_it_ended()})" + (f"; its budget, {budget}, is used up" if spent else "")
    if head.end is not None:
        text += f". The last life ended, {end_words(head.end)}"
    return head.because(
        text,
        "give the journals of all ranks to the filter vllm_diagnosis and cure what it finds; then on "
        f"{head.host}: systemctl reset-failed {name} && systemctl start {name}",
    )


def _answer(ranks: list[Rank], state: str, reasons: list[Reason]) -> dict[str, Any]:
    head = ranks[0]
    agreed = _SAYS.get(head.says) == state and head.live
    since = head.state.get("since") if agreed else head.unit.get("changed")
    recipe = next((one.recipe for one in ranks if one.recipe), "")
    hosts = ", ".join(one.host for one in ranks)
    first = next((one for one in reasons if one.hard), reasons[0] if reasons else None)
    summary = f"vllm@{recipe or '?'} over {hosts}: {state}"
    return {
        "schema": SCHEMA,
        "recipe": recipe or None,
        "state": state,
        "since": None if state in (ABSENT, INCONSISTENT) else since,
        "life": head.life if head.live else None,
        "group": head.state.get("group") if head.live else None,
        "restarts": head.unit.get("restarts"),
        "last_end": _last_end(head, ranks),
        "reasons": [one.as_dict() for one in sorted(reasons, key=lambda one: not one.hard)],
        "ranks": [_shown(one) for one in ranks],
        "summary": f"{summary}. {first.text}. What to do: {first.remedy}." if first else f"{summary}.",
    }


def _last_end(head: Rank, ranks: list[Rank]) -> dict[str, Any] | None:
    """With every rank, so that each journal can be read of the right start."""
    if head.end is None:
        return None
    listed = head.end.get("ranks")
    rows = [row for row in listed if isinstance(row, Mapping)] if isinstance(listed, list) else []
    named = {row.get("host"): row.get("invocation") for row in rows}
    own = [{"rank": one.number, "host": one.host, "invocation": named.get(one.host) or None} for one in ranks]
    return dict(head.end) | {"ranks": own}


def _shown(one: Rank) -> dict[str, Any]:
    return {
        "rank": one.number,
        "host": one.host,
        "answered": one.answered,
        "active": one.active or None,
        "state": one.says or None,
        "since": one.state.get("since"),
        "life": one.life,
        "invocation": one.unit.get("invocation") or None,
        "detail": str(one.state.get("detail") or one.unsaid or one.silence),
    }
