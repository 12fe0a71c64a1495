# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the keepers of all ranks share: one loop, which also says to systemd that it lives."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import time
import uuid
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import state
from .child import Child, become_subreaper, words
from .config import Config
from .notify import notify
from .probe import Answer
from .wire import Event, Link, Message

TICK_SECONDS = 0.25


@dataclass(frozen=True)
class Stop:
    """SIGTERM."""


@dataclass(frozen=True)
class Wake:
    """A child ended."""


def say(text: str) -> None:
    print(f"rank keeper: {text}", file=sys.stderr, flush=True)


class Keeper(ABC):
    """Everything happens in `run`; threads only put events into the queue."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.events: queue.SimpleQueue[Event | Answer | Stop | Wake] = queue.SimpleQueue()
        self.child = Child(config)
        self.links: dict[int, Link] = {}
        self.invocation = os.environ.get("INVOCATION_ID") or uuid.uuid4().hex
        self.boot_id = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        self.code: int | None = None
        self._beat_at = 0.0
        self._shown: state.View | None = None
        self._trouble = ""

    # what a rank does about things

    @abstractmethod
    def begin(self, now: float) -> None:
        """What is done once, before the loop."""

    @abstractmethod
    def handle(self, event: Event | Answer | Stop, now: float) -> None: ...

    @abstractmethod
    def child_ended(self, how: str, now: float) -> None: ...

    @abstractmethod
    def child_gone(self, now: float) -> None: ...

    @abstractmethod
    def tick(self, now: float) -> None: ...

    @abstractmethod
    def view(self) -> state.View: ...

    def publish(self) -> None:
        """Files and systemd's status, when something changed."""
        view = self.view()
        if view == self._shown:
            return
        if self._shown is None or (view.state, view.detail) != (self._shown.state, self._shown.detail):
            say(f"{view.state}: {view.detail}")
            notify(f"STATUS={view.state}: {view.detail}".replace("\n", " "))
        self._shown = view
        self.save(self.config.state_file, self.record())

    def record(self) -> dict[str, Any]:
        return self.view().record(self.config, self.invocation, self.boot_id)

    # the loop

    def run(self) -> int:
        become_subreaper()
        signal.signal(signal.SIGTERM, lambda *_args: self.events.put(Stop()))
        signal.signal(signal.SIGINT, lambda *_args: self.events.put(Stop()))
        signal.signal(signal.SIGCHLD, lambda *_args: self.events.put(Wake()))
        notify("READY=1")
        self.child.end(graceful=False, now=time.monotonic())  # what an earlier life may have left
        self.begin(time.monotonic())
        tick = min(TICK_SECONDS, self.config.limits.beat_seconds / 2)
        while self.code is None:
            self.publish()
            event = None
            with contextlib.suppress(queue.Empty):
                event = self.events.get(timeout=tick)
            now = time.monotonic()
            if event is not None and not isinstance(event, Wake):
                self.handle(event, now)
            self._look_after_child(now)
            self.tick(now)
            if now - self._beat_at >= self.config.limits.beat_seconds:
                self._beat_at = now
                notify("WATCHDOG=1")
                if self.view().state in ("waiting", "gathering") and self.config.changed():
                    say("rank.json is another one; ends, so that systemd starts with that")
                    self.code = 0
                for conn in list(self.links):
                    self.send(conn, {"kind": "beat"})
        self.publish()
        notify("STOPPING=1")
        return self.code

    def _look_after_child(self, now: float) -> None:
        was_gone = self.child.gone
        if self.child.poll(now) and self.child.status is not None:
            self.child_ended(words(self.child.status), now)
        if self.child.gone and not was_gone:
            self.child_gone(now)

    def start_child(self, now: float) -> None:
        trouble = self.child.start()
        if trouble:
            self.child_ended(trouble, now)

    def send(self, conn: int, message: Message) -> None:
        """Who cannot be told is heard of by the thread that reads."""
        link = self.links.get(conn)
        if link:
            try:
                link.send(message)
            except OSError:
                link.cut()

    def save(self, path: Path, record: dict[str, Any]) -> None:
        trouble = state.write(path, record)
        if trouble and trouble != self._trouble:
            say(trouble)
        self._trouble = trouble
