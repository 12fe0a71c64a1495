# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""C(iperf3): TCP from the client to the server, for ports without usable RDMA.

What TCP reaches depends on the CPU first (one stream makes 12 to 16 Gb/s on a healthy Spark), so its figure can show
that a cable is fast, never that it is capped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .reading import SILENT, TIMED_OUT, Reading, ended, positive, quoted

PROGRAM = "iperf3"
PACKAGE = "iperf3"
CONNECT_MILLISECONDS = 1000
STALL_MILLISECONDS = 3000  # a server that hears nothing for so long gives up
SHORTEST = 0.5
"""Share of the time that was asked for during which data must have come."""
NOT_MET = ("unable to connect to server", "unable to start listener", "the server is busy", "unable to send cookie")


def client(address: str, server: str, port: int, seconds: int, streams: int) -> list[str]:
    """Send to a server, from an address of this node."""
    argv = [PROGRAM, "-J", "-i", "0", "-c", server, "-B", address, "-p", str(port), "-t", str(seconds)]
    return [*argv, "-P", str(streams), "--connect-timeout", str(CONNECT_MILLISECONDS)]


def server(address: str, port: int) -> list[str]:
    """Serve one client on one address and end."""
    argv = [PROGRAM, "-J", "-i", "0", "-s", "-1", "-B", address, "-p", str(port)]
    return [*argv, "--rcv-timeout", str(STALL_MILLISECONDS)]


def parse(rc: int, stdout: str, stderr: str, seconds: int) -> Reading:
    """What the server received, in Gb/s, or why there is no figure. Any error that iperf3 names spoils the figure."""
    try:
        # json.loads takes NaN, which is no figure; positive() refuses it
        data: Any = json.loads(stdout)
    except ValueError:
        data = None
    if not isinstance(data, Mapping):
        said = quoted([*stdout.splitlines(), *stderr.splitlines()])
        if rc in TIMED_OUT and not said:
            return Reading(None, SILENT)
        return Reading(None, f"no JSON, {ended(rc)}: {said or 'silence'}", met=not _not_met(said))
    error = data.get("error")
    if error:
        words = " ".join(str(error).split())
        if rc in TIMED_OUT and not _mapping(data, "start").get("connected"):
            words = f"{SILENT} ({words})"
        return Reading(None, words, met=not _not_met(words))
    received = _mapping(_mapping(data, "end"), "sum_received")
    bits, lasted = positive(received.get("bits_per_second")), positive(received.get("seconds"))
    if received.get("bits_per_second") == 0:
        return Reading(None, "an average of 0 Gb/s, so nothing was measured: the server received no data")
    if bits is None or lasted is None:
        return Reading(None, f"the JSON has no end.sum_received, {ended(rc)}")
    if lasted < seconds * SHORTEST:
        return Reading(None, f"it lasted {lasted:.1f} s instead of {seconds} s")
    return Reading(round(bits / 1e9, 3))


def _mapping(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = data.get(key)
    return value if isinstance(value, Mapping) else {}


def _not_met(words: str) -> bool:
    return any(part in words for part in NOT_MET)
