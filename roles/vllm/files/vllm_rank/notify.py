# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What systemd is told: READY=1, STATUS=…, WATCHDOG=1. Without a NOTIFY_SOCKET, nothing."""

from __future__ import annotations

import contextlib
import os
import socket


def notify(*lines: str) -> None:
    """One message. It is lost rather than waited for: the loop that says it has more to do."""
    path = os.environ.get("NOTIFY_SOCKET", "")
    if not path.startswith(("/", "@")):
        return
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
        out.setblocking(False)
        out.sendto("\n".join(lines).encode("utf-8", "replace"), path.replace("@", "\0", 1) if path[0] == "@" else path)


def environment() -> dict[str, str]:
    """The environment of a child, which is not to speak for this program."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in {"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"}
    }
