# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pure group: what it orders for what it hears, without a process or a clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from vllm_rank.config import Api, Config, Limits, Member
from vllm_rank.group import Close, End, Exit, Group, Order, Send, Start

LIFE = "abc"
RANKS = tuple(Member(rank, f"spark{rank + 1}") for rank in range(3))
CONFIG = Config(
    recipe="lab",
    me=RANKS[0],
    ranks=RANKS,
    group="digest",
    address="127.0.0.1",
    port=1,
    key=b"k" * 16,
    argv=("vllm",),
    kill_argv=(),
    gone_argv=(),
    api=Api("http://x", "copy", "k"),
    limits=Limits(300, 60, 2, 10, 20, 10),
    state_file=Path("/x"),
    end_file=Path("/y"),
)


def hello(rank: Any, **changed: Any) -> dict[str, Any]:
    who = {"rank": rank, "host": f"spark{rank + 1}" if isinstance(rank, int) else "x", "recipe": "lab"}
    return {"kind": "hello", **who, "group": "digest", "invocation": f"i{rank}", "boot_id": "b"} | changed


def group(state: str = "gathering") -> Group:
    """Connection of rank r is 10 + r."""
    made = Group(CONFIG, LIFE, "i0", 0.0)
    if state == "gathering":
        return made
    made.clear(1.0)
    for rank in (2, 1):
        made.joined(10 + rank, hello(rank), 2.0)
    if state != "starting":
        made.token(30.0)
    if state == "ending":
        made.child_ended("ended with exit code 0", 40.0)
    assert made.state == state
    return made


def end(reason: str, rank: int, detail: str, graceful: bool = False, conns: tuple[int, ...] = (11, 12)) -> list[Order]:
    why = {"reason": reason, "rank": rank, "host": f"spark{rank + 1}", "detail": detail}
    message = {"kind": "end", "life": LIFE, "why": why, "graceful": graceful}
    return [*(Send(conn, message) for conn in conns), End(graceful)]


def test_workers_start_before_the_head_and_only_when_all_are_there() -> None:
    made = group()
    assert made.joined(12, hello(2), 1.0) == []
    assert made.clear(2.0) == []
    assert made.detail() == "waits for rank 1 (spark2)"
    start = {"kind": "start", "life": LIFE}
    assert made.joined(11, hello(1), 5000.0) == [Send(11, start), Send(12, start), Start()]
    assert (made.state, made.began, made.served) == ("starting", 5000.0, None)


def test_the_head_waits_for_what_an_earlier_life_left_on_it() -> None:
    made = group()
    assert made.joined(11, hello(1), 1.0) == made.joined(12, hello(2), 1.0) == []
    assert made.clear(9.0)[-1] == Start()


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (hello(0), "there is no worker of rank 0 in this group of 3"),
        (hello(3), "there is no worker of rank 3 in this group of 3"),
        (hello("1"), "there is no worker of rank '1' in this group of 3"),
        (hello([1]), "there is no worker of rank [1] in this group of 3"),
        (hello(True), "there is no worker of rank True in this group of 3"),
        ({"kind": "hello"}, "there is no worker of rank None in this group of 3"),
        (hello(1, host="spark3"), "host 'spark3' of rank 1 is 'spark2' at the head; run the play on all ranks"),
        (hello(1, recipe="x"), "recipe 'x' of rank 1 is 'lab' at the head; run the play on all ranks"),
        (
            hello(1, group="old"),
            "what must be equal on all ranks is not what the head has; run the play on all ranks",
        ),
        (hello(2), "rank 2 is already here, by invocation i2"),
    ],
)
def test_a_hello_is_refused(said: dict[str, Any], reason: str) -> None:
    made = group()
    made.clear(0.0)
    made.joined(12, hello(2), 0.0)
    assert made.joined(20, said, 1.0) == [Send(20, {"kind": "refused", "reason": reason}), Close(20)]
    assert made.lost(20, "closed", 1.0) == []
    assert made.peers[2].conn == 12
    assert made.joined(21, hello(1), 2.0)[-1] == Start()


@pytest.mark.parametrize("state", ["starting", "serving", "ending"])
def test_nobody_joins_a_life_that_has_begun(state: str) -> None:
    made = group(state)
    made.lost(12, "closed", 50.0)
    reason = f"the group is {made.state}; a rank may join the next life"
    assert made.joined(30, hello(2), 51.0) == [Send(30, {"kind": "refused", "reason": reason}), Close(30)]


def test_a_rank_may_come_again_when_its_old_connection_is_dead() -> None:
    made = group()
    made.joined(12, hello(2), 0.0)
    made.lost(12, "closed", 1.0)
    assert made.detail() == "waits for rank 0 (spark1), rank 1 (spark2), rank 2 (spark3)"
    assert made.joined(13, hello(2, invocation="new"), 2.0) == []
    assert (made.peers[2].conn, made.peers[2].invocation) == (13, "new")
    assert made.said(13, {"kind": "leaving"}, 3.0) == []
    assert made.peers[2].state == "absent"


@pytest.mark.parametrize("state", ["starting", "serving"])
@pytest.mark.parametrize(
    ("event", "orders"),
    [
        ("ended", end("rank_ended", 1, "vLLM was ended by SIGKILL")),
        ("gone", end("rank_ended", 1, "vLLM is gone")),
        ("leaving", end("rank_left", 1, "its unit was stopped", graceful=True)),
        ("lost", end("rank_silent", 1, "its keeper is lost: closed", conns=(12,))),
        ("own", end("rank_ended", 0, "vLLM ended with exit code 0")),
        ("stop", end("stopped", 0, "the head's unit was stopped", graceful=True)),
    ],
)
def test_what_ends_one_ends_all(state: str, event: str, orders: list[Order]) -> None:
    made = group(state)
    seen = {
        "lost": lambda: made.lost(11, "closed", 50.0),
        "own": lambda: made.child_ended("ended with exit code 0", 50.0),
        "stop": lambda: made.stop(50.0),
    }
    message = {"kind": event, "life": LIFE, "how": "was ended by SIGKILL"}
    assert (seen[event]() if event in seen else made.said(11, message, 50.0)) == orders
    assert (made.state, made.since) == ("ending", 50.0)


@pytest.mark.parametrize(
    "message",
    [
        {"kind": "ended", "life": "old", "how": "x"},
        {"kind": "gone", "life": None},
        {"kind": "gone"},
        {"kind": "beat"},
        {"kind": "dance", "life": LIFE},
        {"kind": "hello", "life": LIFE},
    ],
)
def test_words_of_another_life_are_nobodys(message: dict[str, Any]) -> None:
    made = group("serving")
    assert made.said(11, message, 50.0) == []
    assert made.said(99, {"kind": "ended", "life": LIFE, "how": "x"}, 50.0) == []
    assert made.state == "serving"


def test_it_exits_when_all_are_gone_or_lost() -> None:
    made = group("ending")
    assert made.said(11, {"kind": "gone", "life": LIFE}, 41.0) == []
    assert made.lost(11, "closed", 41.5) == []
    assert made.child_gone(42.0) == []
    assert made.detail().endswith("ended with exit code 0; not gone yet: rank 2 (spark3)")
    assert made.lost(12, "closed", 43.0) == [Exit(1)]
    assert [peer.state for peer in made.peers.values()] == ["gone", "gone", "lost"]
    assert made.ended is not None
    assert (made.ended.reason, made.ended.rank) == ("rank_ended", 0)


def test_a_stop_while_it_ends_keeps_the_first_reason_and_exits_0() -> None:
    made = group("ending")
    assert made.stop(41.0) == []
    made.said(11, {"kind": "gone", "life": LIFE}, 42.0)
    made.said(12, {"kind": "gone", "life": LIFE}, 42.0)
    assert made.child_gone(43.0) == [Exit(0)]
    assert made.ended is not None
    assert made.ended.reason == "rank_ended"


def test_a_stop_before_it_began() -> None:
    made = group()
    assert made.stop(1.0) == [Exit(0)]
    assert (made.state, made.view(None).life) == ("stopped", None)


def test_the_boot_has_a_limit_and_serving_has_none() -> None:
    made = group("starting")
    made.note = "the API: /v1/completions answered 401"
    assert made.tick(301.9) == []
    detail = "no token 300 s after the start; the API: /v1/completions answered 401"
    assert made.tick(302.0) == end("boot_limit", 0, detail)
    assert group("serving").tick(1e9) == []
    assert group("gathering").tick(1e9) == []


def test_only_who_serves_can_be_sick() -> None:
    assert group("starting").sick("stalled", "x", 9.0) == []
    assert group("serving").sick("stalled", "x", 99.0) == end("stalled", 0, "x")


EVENTS = st.sampled_from(
    [
        *(("join", rank) for rank in (1, 2)),
        *((kind, rank) for kind in ("ended", "gone", "leaving", "beat", "lost") for rank in (1, 2)),
        *((kind, 0) for kind in ("clear", "own ended", "own gone", "token", "sick", "stop", "tick")),
    ]
)


def hear(made: Group, kind: str, rank: int, conns: dict[int, int], now: int) -> list[Order]:
    """One event of the list above. A hello comes on a connection that has the time as its number."""
    if kind == "join":
        orders = made.joined(now, hello(rank), now)
        conns[rank] = now if made.peers[rank].conn == now else conns[rank]
        return orders
    if kind == "token":
        made.token(now)
        return []
    if rank and kind != "lost":
        return made.said(conns[rank], {"kind": kind, "life": LIFE, "how": "x"}, now)
    events = {
        "lost": lambda: made.lost(conns[rank], "closed", now),
        "sick": lambda: made.sick("stalled", "x", now),
        "own ended": lambda: made.child_ended("x", now),
        "own gone": lambda: made.child_gone(now),
        "clear": lambda: made.clear(now),
        "stop": lambda: made.stop(now),
        "tick": lambda: made.tick(now),
    }
    return events[kind]()


@given(st.lists(EVENTS, max_size=40))
def test_whatever_comes_a_life_begins_once_ends_once_and_exits_after_all_are_gone(
    events: list[tuple[str, int]],
) -> None:
    made, orders, conns = group(), [], {1: 0, 2: 0}
    for number, (kind, rank) in enumerate(events, 100):
        orders += hear(made, kind, rank, conns, number)
        if any(isinstance(order, Exit) for order in orders):
            break  # so does the program
    kinds = [type(order) for order in orders]
    assert kinds.count(Start) <= 1
    assert kinds.count(End) == int(made.began is not None and made.ended is not None)
    assert kinds.count(Exit) == int(made.state in ("stopped", "failed"))
    if Exit in kinds:
        assert kinds[-1] is Exit
        assert Start not in kinds or kinds.index(Start) < kinds.index(End)
        assert all(peer.state != "running" for peer in made.peers.values())
        assert made.ended is not None
