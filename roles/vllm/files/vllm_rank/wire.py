# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The control connection: who has the key may speak, in JSON, and whoever says nothing holds up nobody.

Every connection has a thread of its own that reads; what it hears goes to the one queue of the loop. Limits of time are
those of the socket, so they hold for the handshake of `multiprocessing.connection` too.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import Any

from .config import Config

MOST_BYTES = 65536
MOST_STRANGERS = 32  # connections at once that have not said hello
AGAIN_SECONDS = 2.0
Message = Mapping[str, Any]
BROKEN = (OSError, EOFError, ValueError, AuthenticationError, AssertionError)


@dataclass(frozen=True)
class Joined:
    """Somebody with the key. A head gets the hello with it; a worker hears that its own arrived at somebody."""

    conn: int
    link: Link
    hello: Message


@dataclass(frozen=True)
class Said:
    conn: int
    message: Message


@dataclass(frozen=True)
class Lost:
    conn: int
    why: str


@dataclass(frozen=True)
class Trouble:
    """What a person should know; an empty text says that it is over."""

    text: str


Event = Joined | Said | Lost | Trouble
Put = Callable[[Event], None]


class Link:
    """A connected socket that never waits longer than its limit."""

    def __init__(self, sock: socket.socket, seconds: float) -> None:
        sock.settimeout(None)
        limit = struct.pack("@ll", int(seconds), int(seconds % 1 * 1_000_000))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", 1, 0))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(seconds * 1000))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.seconds = seconds
        self._sock = sock
        self._pipe: Connection[Any, Any] = Connection(os.dup(sock.fileno()))
        self._lock = threading.Lock()  # so that no number of a closed file is written to

    def shake_hands(self, key: bytes, first: bool) -> None:
        """Both prove that they have the key."""
        for prove in (deliver_challenge, answer_challenge) if first else (answer_challenge, deliver_challenge):
            prove(self._pipe, key)

    def send(self, message: Message) -> None:
        with self._lock:
            self._pipe.send_bytes(json.dumps(message).encode())

    def receive(self) -> Message | None:
        """The next message; None for what is not one."""
        try:
            text = self._pipe.recv_bytes(MOST_BYTES)
        except BlockingIOError:
            raise TimeoutError(f"nothing was heard for {self.seconds:g} s") from None
        except EOFError:
            raise ConnectionError("the other side closed the connection") from None
        try:
            message = json.loads(text)
        except (ValueError, RecursionError):
            return None
        return message if isinstance(message, dict) and isinstance(message.get("kind"), str) else None

    def finish(self) -> None:
        """Say that nothing more is said. What was said still arrives."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)

    def cut(self) -> None:
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with self._lock:
            self._pipe.close()
            self._sock.close()

    def read(self, conn: int, put: Put) -> None:
        """Hear until the end."""
        while True:
            message = self.receive()
            if message is not None:
                put(Said(conn, message))


def why(error: BaseException) -> str:
    if isinstance(error, AuthenticationError | AssertionError):
        return "the keys differ"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def _serve(config: Config, sock: socket.socket, conn: int, strangers: threading.Semaphore, put: Put) -> None:
    """One connection of the head, from the first byte to the last."""
    link = Link(sock, config.limits.silence_seconds)
    known = False
    timer = threading.Timer(config.limits.silence_seconds, link.cut)
    timer.daemon = True
    timer.start()
    try:
        link.shake_hands(config.key, first=True)
        hello = link.receive()
        if hello is None or hello["kind"] != "hello":
            return
        timer.cancel()
        strangers.release()
        known = True
        put(Joined(conn, link, hello))
        link.read(conn, put)
    except BROKEN as error:
        if known:
            put(Lost(conn, why(error)))
    finally:
        timer.cancel()
        link.close()
        if not known:
            strangers.release()


def listen(config: Config, put: Put) -> None:
    """The thread of the head that takes connections, at the control address and nowhere else."""
    strangers = threading.Semaphore(MOST_STRANGERS)
    while True:
        try:
            server = socket.create_server((config.address, config.port), backlog=64)
            break
        except OSError as error:  # the address may come later than this program, or an earlier life still has it
            put(Trouble(f"cannot listen on {config.address} port {config.port}: {error.strerror}"))
            time.sleep(AGAIN_SECONDS)
    put(Trouble(""))
    for conn in itertools.count(1):
        try:
            sock, _address = server.accept()
        except OSError:
            time.sleep(0.1)  # no files left, or a peer that went at once
            continue
        if not strangers.acquire(blocking=False):
            sock.close()
            continue
        try:
            threading.Thread(target=_serve, args=(config, sock, conn, strangers, put), daemon=True).start()
        except RuntimeError:  # no thread left
            sock.close()
            strangers.release()


def dial(config: Config, hello: Message, conn: int, put: Put) -> None:
    """The thread of a worker for one connection to the head."""
    link = None
    try:
        sock = socket.create_connection((config.address, config.port), timeout=config.limits.silence_seconds)
        link = Link(sock, config.limits.silence_seconds)
        link.shake_hands(config.key, first=False)
        link.send(hello)
        put(Joined(conn, link, hello))
        link.read(conn, put)
    except BROKEN as error:
        put(Lost(conn, why(error)))
    finally:
        if link:
            link.close()
