# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The keeper of a rank above 0: says hello to the head, runs vLLM when told, and never longer than the head lives."""

from __future__ import annotations

import threading
import time

from . import state
from .config import Config
from .keeper import Keeper, Stop, say
from .probe import Answer
from .state import Ended
from .wire import AGAIN_SECONDS, Event, Joined, Lost, Message, Said, Trouble, dial

FAREWELL_SECONDS = 2.0  # for the last words to arrive


class Worker(Keeper):
    """waiting → running → ending → stopped or failed."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.state, self.since, self.detail = "waiting", time.monotonic(), "looks for what an earlier life left"
        self.life: str | None = None
        self.ended: Ended | None = None
        self._conn = 0  # the number of the connection that counts
        self._dialing = False
        self._refused = False  # on this connection
        self._dial_at = 0.0
        self._clear = False  # nothing of an earlier life is left here
        self._code = 1
        self._farewell: float | None = None

    def begin(self, now: float) -> None:
        """It dials when nothing of an earlier life is left: see tick."""

    def handle(self, event: Event | Answer | Stop, now: float) -> None:
        match event:
            case Joined(conn, link, _hello) if conn == self._conn:
                self.links[conn] = link
            case Said(conn, message) if conn == self._conn:
                self._told(message, now)
            case Lost(conn, why) if conn == self._conn:
                self._lost(why, now)
            case Stop():
                say("SIGTERM")
                self._stop(now)
            case Joined() | Said() | Lost() | Trouble() | Answer():
                pass

    def _told(self, message: Message, now: float) -> None:
        kind = message.get("kind")
        if kind == "beat" and self.state == "waiting":
            self.detail = "said hello; the head waits for the others"
        elif kind == "refused" and self.state == "waiting":
            self._refused, self.detail = True, f"refused by the head: {message.get('reason')}"
        elif kind == "start" and self.state == "waiting" and self._clear:
            self.life = str(message.get("life"))
            self._enter("running", "runs", now)
            self.start_child(now)
        elif kind == "end" and self.state == "running" and message.get("life") == self.life:
            why = message.get("why")
            why = why if isinstance(why, dict) else {}
            rank = why.get("rank")
            texts = {name: str(why.get(name)) for name in ("reason", "host", "detail")}
            self._code = 0
            self._end(
                Ended(rank=rank if isinstance(rank, int) else 0, at=now, **texts), message.get("graceful") is True, now
            )

    def _lost(self, why: str, now: float) -> None:
        self.links.clear()
        self._dialing = False
        if self.state == "waiting":
            if not self._refused:
                self.detail = f"waits for the head at {self.config.address} port {self.config.port}: {why}"
        elif self.state == "running":
            head = self.config.ranks[0]
            self._end(Ended("rank_silent", 0, head.host, f"the head's keeper is lost: {why}", now), False, now)
        elif self._farewell is not None:
            self._farewell = now

    def _stop(self, now: float) -> None:
        self._code = 0
        for conn in self.links:
            self.send(conn, {"kind": "leaving"})
        me = self.config.me
        if self.state == "waiting":
            self.ended = Ended("stopped", me.rank, me.host, "stopped while it waited", now)
            self._enter("ending", "stopped while it waited", now)
            self._bid_farewell(now)
        elif self.state == "running":
            self._end(Ended("rank_left", me.rank, me.host, "this unit was stopped", now), True, now)

    def child_ended(self, how: str, now: float) -> None:
        if self.state == "running":
            for conn in self.links:
                self.send(conn, {"kind": "ended", "life": self.life, "how": how})
            me = self.config.me
            self._end(Ended("rank_ended", me.rank, me.host, f"vLLM {how}", now), False, now)

    def child_gone(self, now: float) -> None:
        self._clear = True
        if self.state == "ending" and self._farewell is None:
            for conn in self.links:
                self.send(conn, {"kind": "gone", "life": self.life})
            self._bid_farewell(now)

    def _end(self, ended: Ended, graceful: bool, now: float) -> None:
        self.ended = ended
        self._clear = False
        self._enter("ending", f"{ended.reason}: rank {ended.rank} ({ended.host}): {ended.detail}", now)
        self.child.end(graceful, now)

    def _bid_farewell(self, now: float) -> None:
        """Close so that what was said arrives, then wait a little for the other side to have read it."""
        self._farewell = now + FAREWELL_SECONDS if self.links else now
        for link in self.links.values():
            link.finish()

    def tick(self, now: float) -> None:
        if self._farewell is not None and now >= self._farewell:
            self._enter("stopped" if self._code == 0 else "failed", self.detail, now)
            self.code = self._code
        if self.state == "waiting" and self._clear and not self._dialing and now - self._dial_at >= AGAIN_SECONDS:
            self._conn += 1
            self._dialing, self._refused, self._dial_at = True, False, now
            threading.Thread(
                target=dial, args=(self.config, self._hello(), self._conn, self.events.put), daemon=True
            ).start()

    def _hello(self) -> Message:
        me = {"rank": self.config.rank, "host": self.config.me.host, "recipe": self.config.recipe}
        ids = {"group": self.config.group, "invocation": self.invocation, "boot_id": self.boot_id}
        return {"kind": "hello"} | me | ids

    def _enter(self, name: str, detail: str, now: float) -> None:
        self.state, self.since, self.detail = name, now, detail

    def view(self) -> state.View:
        return state.View(self.state, self.since, self.detail, self.life, self.child.pid, (), self.ended)
