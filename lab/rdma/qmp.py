# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""QEMU's control channel, over a pair of sockets that nothing else can reach."""

from __future__ import annotations

import json
import socket
from contextlib import suppress
from typing import Any

from lab.common import LabError

SECONDS = 60.0


class Qmp:
    """One connection. Commands are answered in order; events between them are passed over."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._socket.settimeout(SECONDS)
        self._stream = connection.makefile("rwb")
        self._ready = False

    def command(self, name: str, /, **arguments: Any) -> Any:
        """Give one command and return what it returns."""
        if not self._ready:
            self._receive("QMP")
            self._ready = True
            self.command("qmp_capabilities")
        message = {"execute": name} | ({"arguments": arguments} if arguments else {})
        try:
            self._stream.write(json.dumps(message).encode() + b"\n")
            self._stream.flush()
        except OSError as error:
            raise LabError(f"QEMU is gone: {error}") from error
        return self._receive("return")

    def _receive(self, wanted: str) -> Any:
        while True:
            try:
                line = self._stream.readline()
            except OSError as error:
                raise LabError(f"QEMU does not answer: {error}") from error
            if not line:
                raise LabError("QEMU is gone")
            message = json.loads(line)
            if "error" in message:
                raise LabError(f"QEMU refuses: {message['error'].get('desc', message['error'])}")
            if wanted in message:
                return message[wanted]

    def close(self) -> None:
        with suppress(OSError):  # what it wanted to say to a QEMU that is gone
            self._stream.close()
        self._socket.close()
