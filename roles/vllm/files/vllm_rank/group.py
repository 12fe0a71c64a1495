# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The group as the head sees it: events in, orders out, the time as an argument. Nothing here reads or writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .config import Config, Member
from .state import Ended, View


@dataclass(frozen=True)
class Send:
    conn: int
    message: Mapping[str, Any]


@dataclass(frozen=True)
class Close:
    """Nothing more is said there. What was said still arrives."""

    conn: int


@dataclass(frozen=True)
class Start:
    """Start the head's own rank."""


@dataclass(frozen=True)
class End:
    """End the head's own rank."""

    graceful: bool


@dataclass(frozen=True)
class Exit:
    code: int


Order = Send | Close | Start | End | Exit


@dataclass
class Peer:
    member: Member
    state: str = "absent"  # absent, ready, running, gone, lost
    conn: int | None = None  # None: no connection that lives; the head itself has none
    invocation: str | None = None
    refused: str = ""

    def missing(self) -> str:
        return f"{self.member}, refused: {self.refused}" if self.refused else str(self.member)


class Group:
    """One life. gathering → starting → serving → ending → stopped or failed."""

    def __init__(self, config: Config, life: str, invocation: str, now: float) -> None:
        self.config, self.life = config, life
        self.state, self.since, self.note = "gathering", now, ""
        self.peers = {member.rank: Peer(member) for member in config.ranks}
        self.peers[0].invocation = invocation
        self.began: float | None = None
        self.served: float | None = None
        self.ended: Ended | None = None
        self.code: int | None = None
        self._stopping = False

    # what the peers say

    def joined(self, conn: int, hello: Mapping[str, Any], now: float) -> list[Order]:
        """A hello. It is believed only in a group that gathers, of a rank that has none that lives."""
        refusal = self._refusal(hello)
        rank = hello.get("rank")
        peer = self.peers.get(rank) if isinstance(rank, int) and rank != 0 else None
        if refusal or peer is None:
            if peer and peer.state == "absent":
                peer.refused = refusal
            return [Send(conn, {"kind": "refused", "reason": refusal}), Close(conn)]
        peer.state, peer.conn, peer.refused = "ready", conn, ""
        peer.invocation = str(hello.get("invocation"))
        return self._perhaps_start(now)

    def _refusal(self, hello: Mapping[str, Any]) -> str:
        rank = hello.get("rank")
        if not isinstance(rank, int) or isinstance(rank, bool) or rank not in self.peers or rank == 0:
            return f"there is no worker of rank {rank!r} in this group of {len(self.peers)}"
        peer = self.peers[rank]
        for name, here in (("recipe", self.config.recipe), ("host", peer.member.host)):
            if hello.get(name) != here:
                return f"{name} {hello.get(name)!r} of rank {rank} is {here!r} at the head; run the play on all ranks"
        if hello.get("group") != self.config.group:
            return "what must be equal on all ranks is not what the head has; run the play on all ranks"
        if self.state != "gathering":
            return f"the group is {self.state}; a rank may join the next life"
        if peer.conn is not None:
            return f"rank {rank} is already here, by invocation {peer.invocation}"
        return ""

    def said(self, conn: int, message: Mapping[str, Any], now: float) -> list[Order]:
        """What a peer said after its hello. Words of another life are nobody's."""
        peer = self._peer(conn)
        if peer is None or (message.get("kind") != "leaving" and message.get("life") != self.life):
            return []
        match message.get("kind"), peer.state:
            case "ended", "running":
                return self._fail("rank_ended", peer.member, f"vLLM {message.get('how')}", now)
            case "leaving", "running":
                return self._fail("rank_left", peer.member, "its unit was stopped", now, graceful=True)
            case "leaving", "ready":
                peer.state, peer.conn = "absent", None
            case "gone", "running":
                orders: list[Order] = []
                if self.state != "ending":
                    orders = self._fail("rank_ended", peer.member, "vLLM is gone", now)
                peer.state = "gone"
                return orders + self._perhaps_exit(now)
        return []

    def lost(self, conn: int, why: str, now: float) -> list[Order]:
        """A connection that is broken or silent."""
        peer = self._peer(conn)
        if peer is None:
            return []
        peer.conn = None
        if peer.state == "ready":
            peer.state = "absent"
        if peer.state != "running":
            return []
        peer.state = "lost"
        return self._fail("rank_silent", peer.member, f"its keeper is lost: {why}", now) + self._perhaps_exit(now)

    def _peer(self, conn: int) -> Peer | None:
        return next((peer for peer in self.peers.values() if peer.conn == conn), None)

    # what the head itself sees

    def clear(self, now: float) -> list[Order]:
        """Nothing of an earlier life is left here."""
        if self.peers[0].state == "absent":
            self.peers[0].state = "ready"
        return self._perhaps_start(now)

    def child_ended(self, how: str, now: float) -> list[Order]:
        return self._fail("rank_ended", self.config.me, f"vLLM {how}", now)

    def child_gone(self, now: float) -> list[Order]:
        if self.state == "ending":
            self.peers[0].state = "gone"
        return self._perhaps_exit(now)

    def token(self, now: float) -> None:
        """A token was generated: that, and nothing less, is serving."""
        if self.state == "starting":
            self.state, self.since, self.served, self.note = "serving", now, now, ""

    def sick(self, reason: str, detail: str, now: float) -> list[Order]:
        return self._fail(reason, self.config.me, detail, now) if self.state == "serving" else []

    def stop(self, now: float) -> list[Order]:
        """systemd stops the head, so the group ends as one."""
        self._stopping = True
        if self.state == "gathering":
            self.ended = Ended("stopped", 0, self.config.me.host, "stopped before it began", now)
            return self._exit(0, now)
        return self._fail("stopped", self.config.me, "the head's unit was stopped", now, graceful=True)

    def tick(self, now: float) -> list[Order]:
        boot = self.config.limits.boot_seconds
        if self.state == "starting" and now - self.since >= boot:
            detail = f"no token {boot:g} s after the start; {self.note or 'the API was not asked'}"
            return self._fail("boot_limit", self.config.me, detail, now)
        return []

    # the life

    def _perhaps_start(self, now: float) -> list[Order]:
        if self.state != "gathering" or any(peer.state != "ready" for peer in self.peers.values()):
            return []
        self.state, self.since, self.began, self.note = "starting", now, now, ""
        for peer in self.peers.values():
            peer.state = "running"
        return [*self._tell({"kind": "start", "life": self.life}), Start()]

    def _fail(self, reason: str, member: Member, detail: str, now: float, graceful: bool = False) -> list[Order]:
        """The first failure is the one that counts."""
        if self.state not in ("starting", "serving"):
            return []
        self.state, self.since, self.note = "ending", now, ""
        self.ended = Ended(reason, member.rank, member.host, detail, now)
        why = {"reason": reason, "rank": member.rank, "host": member.host, "detail": detail}
        return [*self._tell({"kind": "end", "life": self.life, "why": why, "graceful": graceful}), End(graceful)]

    def _tell(self, message: Mapping[str, Any]) -> list[Order]:
        return [Send(peer.conn, message) for peer in self.peers.values() if peer.conn is not None]

    def _perhaps_exit(self, now: float) -> list[Order]:
        if self.state != "ending" or any(peer.state == "running" for peer in self.peers.values()):
            return []
        return self._exit(0 if self._stopping else 1, now)

    def _exit(self, code: int, now: float) -> list[Order]:
        self.state, self.since, self.code = "stopped" if code == 0 else "failed", now, code
        return [Exit(code)]

    # for people

    def detail(self) -> str:
        if self.state == "gathering":
            missing = [peer.missing() for peer in self.peers.values() if peer.state == "absent"]
            return self.note or "waits for " + ", ".join(missing)
        if self.state == "starting":
            return f"no token yet; {self.note}" if self.note else "no token yet"
        if self.ended is None:
            return "serves"
        text = f"{self.ended.reason}: rank {self.ended.rank} ({self.ended.host}): {self.ended.detail}"
        left = [str(peer.member) for peer in self.peers.values() if peer.state == "running"]
        return f"{text}; not gone yet: {', '.join(left)}" if self.state == "ending" else text

    def view(self, child: int | None) -> View:
        ranks = tuple((p.member.rank, p.member.host, p.state, p.invocation) for p in self.peers.values())
        life = self.life if self.began is not None else None
        return View(self.state, self.since, self.detail(), life, child, ranks, self.ended)
