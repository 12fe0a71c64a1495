# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Lines that must never be reported as the error: healthy boots have them, or they always stand behind another one."""

from __future__ import annotations

import re

from ansible_collections.switchless.spark.plugins.module_utils._nccl.causes import HARMLESS

_NEVER = re.compile(
    r"is bigger than a reserved number of GPUs"
    r"|SymmMemCommunicator: Device capability .* not supported"
    r"|Custom ?[Aa]ll-?reduce is disabled"
    r"|Minimum and Maximum cuda capability supported by this version of PyTorch"
    r"|which is of cuda capability"
    r"|GPU device discovery failed"
    r"|Reducing Torch parallelism from \d+ threads"
    r"|No available shared memory broadcast block found"
    r"|\barx\b.*\bSTALL\b"
    # A rank that is up before the head tries again, and says so each time.
    r"|\[W\S* .*The client socket has failed to connect to"
    r"|\[W\S* .*The (?:IPv[46] )?(?:network addresses of the client socket|hostname of the client socket) cannot be"
    r"|Gloo\] Rank \d+ is connected to"
)
_STALLED = re.compile(
    r"No available shared memory broadcast block found(?: in (?P<seconds>\d+) seconds)?|\[shm_broadcast\.py:\d+\]\s*…"
)


def never(text: str) -> bool:
    return _NEVER.search(text) is not None or HARMLESS.search(text) is not None


def waited(text: str) -> float | None:
    """Seconds for which a process had waited for another one when it wrote this; nothing if it does not say that."""
    match = _STALLED.search(text)
    return None if match is None else float(match["seconds"] or 60)
