# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""perftest's C(ib_write_bw): RDMA writes from the client into the memory of the server.

Its exit status decides nothing: with a wrong GID index it prints the header, no row, and ends with 0. What counts is
the row of figures under a header with the unit that was asked for.
"""

from __future__ import annotations

import re

from .reading import SILENT, TIMED_OUT, Reading, ended, positive, quoted

PROGRAM = "ib_write_bw"
PACKAGE = "perftest"
MESSAGE_BYTES = 1048576
QUEUE_PAIRS = 4
AVERAGE = 3
"""Column of the average, counted from 0: bytes, iterations, peak, average, message rate."""

HEADER = re.compile(r"#bytes\s+#iterations\s+BW peak\[(?P<unit>[^\]]+)\]\s+BW average\[(?P=unit)\]")
UNIT = "Gb/sec"
NOT_MET = ("Couldn't connect to", "Couldn't listen to port", "Connection refused", "Address already in use")
COMPLAINT = re.compile(
    r"fail|couldn't|unable|error|not found|not supported|invalid|no such|denied|cannot|can't|mismatch|incompatib",
    re.IGNORECASE,
)
# Lines that every run may print
HARMLESS = re.compile(r"^libibverbs: Warning|Conflicting CPU frequency|Data ex\. method")


def command(device: str, gid_index: int, port: int, seconds: int, server: str | None) -> list[str]:
    """The server if it is told no server, else the client."""
    argv = [PROGRAM, "-d", device, "-x", str(gid_index), "-p", str(port), "-s", str(MESSAGE_BYTES)]
    argv += ["-q", str(QUEUE_PAIRS), "-D", str(seconds), "--report_gbits", "-F"]
    return argv if server is None else [*argv, server]


def parse(rc: int, stdout: str, stderr: str) -> Reading:
    """The average in Gb/s of the last row, or why there is none."""
    lines = stdout.splitlines()
    complaints = [
        line for line in (*lines, *stderr.splitlines()) if COMPLAINT.search(line) and not HARMLESS.search(line)
    ]
    if any(words in line for line in complaints for words in NOT_MET):
        return Reading(None, quoted(complaints), met=False)
    if complaints:
        return Reading(None, quoted(complaints))
    headers = [(number, found["unit"]) for number, line in enumerate(lines) if (found := HEADER.search(line))]
    if not headers:
        said = quoted([*lines, *stderr.splitlines()])
        if rc in TIMED_OUT and (not said or "Waiting for client to connect" in said):
            return Reading(None, SILENT)
        return Reading(None, f"no header of results, {ended(rc)}: {said or 'silence'}")
    at, unit = headers[-1]
    if unit != UNIT:
        return Reading(None, f"the figures are in {unit}, not in {UNIT}")
    rows = [line.split() for line in lines[at + 1 :] if re.match(r"\s*\d", line)]
    if not rows:
        return Reading(None, f"a header but no row of figures, {ended(rc)}: the queue pairs did not connect")
    return _row(rows[-1])


def _row(cells: list[str]) -> Reading:
    try:
        size, average = int(cells[0]), float(cells[AVERAGE])
        float(cells[AVERAGE + 1])  # a row that was cut off has no message rate
    except (ValueError, IndexError):
        return Reading(None, f"not a row of figures: {' '.join(cells)}")
    if size == MESSAGE_BYTES and average == 0:
        return Reading(None, f"an average of 0 Gb/s, so nothing was measured: {' '.join(cells)}")
    if size != MESSAGE_BYTES or positive(average) is None:
        return Reading(None, f"not a row of figures for {MESSAGE_BYTES} bytes: {' '.join(cells)}")
    return Reading(average)
