# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One probe of one path: a ping that must not be fragmented, a TCP connection through the relay."""

from __future__ import annotations

import re
import socket
import time
from dataclasses import dataclass

from .runner import Runner

CONNECT_SECONDS = 1.0
RTT = re.compile(r"time=([0-9.]+) ms")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a probe ended; ``rtt_ms`` in milliseconds, None when it failed."""

    ok: bool
    rtt_ms: float | None
    detail: str


def parse_ping(rc: int, stdout: str, stderr: str) -> Outcome:
    """Judge the output of ``ping -c 1``. Only an answer with its time is success: exit status 0 alone is not."""
    match = RTT.search(stdout)
    if rc == 0 and match:
        return Outcome(True, float(match.group(1)), "answered")
    text = f"{stdout}\n{stderr}"
    if "message too long" in text.lower() or "frag needed" in text.lower():
        return Outcome(False, None, "the packet is larger than the MTU somewhere on the path")
    if "unreachable" in text.lower():
        return Outcome(False, None, "unreachable")
    if "cannot assign requested address" in text.lower() or "invalid source address" in text.lower():
        return Outcome(False, None, "this node does not have the source address")
    return Outcome(
        False, None, "no answer" if rc == 1 else (stderr.strip() or stdout.strip() or f"ping ended with {rc}")
    )


def ping(runner: Runner, source: str, target: str, payload: int) -> Outcome:
    """Ping once with the fragmentation bit set. ``payload`` in bytes."""
    argv = ["ping", "-n", "-c", "1", "-W", "1", "-M", "do", "-s", str(payload), "-I", source, target]
    result = runner.run(argv)
    return parse_ping(result.rc, result.stdout, result.stderr)


def connect(target: str, port: int) -> Outcome:
    """Open a TCP connection. A refusal comes from the far node itself, so it proves the path as well."""
    start = time.monotonic()
    try:
        with socket.create_connection((target, port), timeout=CONNECT_SECONDS):
            detail = "connected"
    except ConnectionRefusedError:
        detail = "refused by the far node"
    except OSError as exc:
        return Outcome(False, None, "no answer" if isinstance(exc, TimeoutError) else (exc.strerror or str(exc)))
    return Outcome(True, round((time.monotonic() - start) * 1000, 2), detail)
