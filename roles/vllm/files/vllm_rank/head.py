# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The keeper of rank 0, which is the group's: connects the pure group with connections, the child and the API."""

from __future__ import annotations

import threading
import time
import uuid
from typing import Any

from . import state
from .config import Api, Config
from .group import Close, End, Exit, Group, Order, Send, Start
from .keeper import Keeper, Stop, say
from .probe import Answer, Judge, Sick, ask_token, look
from .state import Ended
from .wire import Event, Joined, Lost, Said, Trouble, listen


class Head(Keeper):
    def __init__(self, config: Config) -> None:
        super().__init__(config)
        if config.api is None:
            raise ValueError("the head has no API to ask")
        self.api: Api = config.api
        self.group = Group(config, uuid.uuid4().hex, self.invocation, time.monotonic())
        self.judge = Judge(config.limits)
        self._recorded: object = None

    def begin(self, now: float) -> None:
        self._bury(state.read(self.config.state_file), now)
        threading.Thread(target=listen, args=(self.config, self.events.put), daemon=True).start()

    def handle(self, event: Event | Answer | Stop, now: float) -> None:
        match event:
            case Joined(conn, link, hello):
                self.links[conn] = link
                self.obey(self.group.joined(conn, hello, now), now)
            case Said(conn, message):
                self.obey(self.group.said(conn, message, now), now)
            case Lost(conn, why):
                self.links.pop(conn, None)
                self.obey(self.group.lost(conn, why, now), now)
            case Trouble(text):
                self.group.note = text
            case Answer():
                self._answered(event, now)
            case Stop():
                say("SIGTERM")
                self.obey(self.group.stop(now), now)

    def child_ended(self, how: str, now: float) -> None:
        self.obey(self.group.child_ended(how, now), now)

    def child_gone(self, now: float) -> None:
        self.obey(self.group.clear(now) if self.group.state == "gathering" else self.group.child_gone(now), now)

    def tick(self, now: float) -> None:
        self.obey(self.group.tick(now), now)
        if self.group.state in ("starting", "serving"):
            for question in self.judge.due(now):
                self._ask(question)
            self._judged(self.judge.tick(now), now)

    def view(self) -> state.View:
        return self.group.view(self.child.pid)

    def publish(self) -> None:
        super().publish()
        group = self.group
        if group.began is not None and group.ended is not None and (group.ended, group.code) != self._recorded:
            self._recorded = (group.ended, group.code)
            self._record_end(self.record(), group.ended, group.began, group.served)

    def _record_end(self, left: dict[str, Any], ended: Ended, began: float | None, served: float | None) -> None:
        """last_end.json, of what state.json says of a life."""
        why = ended.record()
        times = {name: None if at is None else state.wall(at) for name, at in (("began", began), ("served", served))}
        ranks = [
            {name: rank.get(name) for name in ("rank", "host", "invocation")}
            for rank in left["ranks"]
            if isinstance(rank, dict)
        ]
        record = {"schema": 1, "recipe": self.config.recipe, "life": left.get("life"), **times, "ended": why.pop("at")}
        self.save(self.config.end_file, record | why | {"ranks": ranks})

    def _bury(self, left: dict[str, Any], now: float) -> None:
        """A keeper that was killed could not say how its life ended; its state tells that it was alive."""
        if left.get("state") in ("starting", "serving") and isinstance(left.get("ranks"), list):
            detail = "the head's keeper ended without a word: it was killed, or did not answer systemd's watchdog"
            self._record_end(left, Ended("rank_silent", 0, self.config.me.host, detail, now), None, None)

    def obey(self, orders: list[Order], now: float) -> None:
        for order in orders:
            match order:
                case Send(conn, message):
                    self.send(conn, message)
                case Close(conn):
                    link = self.links.pop(conn, None)
                    if link:
                        link.finish()
                case Start():
                    self.start_child(now)
                case End(graceful):
                    self.child.end(graceful, now)
                case Exit(code):
                    self.code = code

    # the API

    def _ask(self, question: str) -> None:
        limits = self.config.limits
        if question == "look":
            ask, seconds = look, limits.probe_seconds
        else:  # the judge's clock is to be first, except at the boot, which has its own limit
            ask, seconds = ask_token, limits.stall_seconds + limits.probe_seconds
            seconds = limits.boot_seconds if self.group.state == "starting" else seconds
        threading.Thread(target=lambda: self.events.put(ask(self.api, seconds)), daemon=True).start()

    def _answered(self, answer: Answer, now: float) -> None:
        sick = self.judge.answered(answer, now)
        if self.group.state == "starting":
            if answer.kind == "token":
                self.group.token(now)
                self.judge.begin(now)
            else:
                self.group.note = f"the API: {answer.detail}"
        self._judged(sick, now)

    def _judged(self, sick: Sick | None, now: float) -> None:
        if sick:
            self.obey(self.group.sick(sick.reason, sick.detail, now), now)
