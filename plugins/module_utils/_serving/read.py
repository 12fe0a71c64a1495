# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Reads a unit's journal on a node: one start of the unit, what systemd says of it, and the facts that decide causes.

A journal of days is not read whole: its beginning, its end, and between them the lines that C(journalctl) itself finds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._nccl.causes import CAUSES as NCCL
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Result, Runner

from .aftermath import AFTERMATH
from .build_causes import BUILD
from .events import real
from .journal import FIELDS, SYSTEMD, UNIT, Line, integer, number, records
from .model_causes import MODEL
from .phases import mark

CURRENT, PREVIOUS = "current", "previous"
SHOWN = 10
"""So many starts are named."""
AFTER = 4
"""Lines that are kept behind one that matters: NCCL's longest messages come in several."""

PROPERTIES = (
    "LoadState",
    "ActiveState",
    "SubState",
    "Result",
    "ExecMainStatus",
    "ExecMainStartTimestamp",
    "NRestarts",
    "MainPID",
    "InvocationID",
    "LimitMEMLOCK",
)
GREP = (
    r"ERROR|CRITICAL|WARN|Warning|Error|Exception|Traceback|[Ff]atal|[Ff]ailed|died|[Kk]illed|exited|[Tt]imed out"
    r"|took |finished in|snapshot:|in world size|world_size=|Starting |Capturing|Warming up|startup complete|Stopping"
    r"|NCCL INFO NCCL_|NCCL version|Connected all rings|NET/|No available shared memory|not found|[Cc]annot|assert"
    r"|nvcc|Driver|ibv_|Watchdog|neither|in use|unrecognized|Process |[Mm]ismatch|missing ranks|launched up to"
    r"|attention backend|KV cache layout|is using nccl"
)
KERNEL_GREP = r"NVRM|[Oo]ut of memory|oom-kill|Xid|segfault|blocked for more than|general protection"

_CONTEXT = re.compile(
    r"NCCL (?:WARN|ERROR)|ibv_|NCCL version|set by environment|Connected all rings|NET/\w+ : Using|Using network"
    r"|Init COMPLETE|channels loaded|No available shared memory|world_size=|launched up to operation|missing ranks"
    r"|clients joined|NVRM|Out of memory|attention backend|KV cache layout|is using nccl"
)


PATTERNS = (*(one.pattern for one in (*BUILD, *MODEL, *AFTERMATH)), *(one.pattern for one in NCCL))


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be kept."""

    lines: int
    size: int


@dataclass(frozen=True, slots=True)
class Seen:
    """Lines in their order, how many were left out, and why something could not be read."""

    lines: tuple[Line, ...] = ()
    omitted: int | None = 0
    detail: str = ""


def matters(line: Line) -> bool:
    """Whether a line says something of a cause or of a phase."""
    text = line.text
    return (
        line.source != UNIT
        or _CONTEXT.search(text) is not None
        or any(pattern.search(text) for pattern in PATTERNS)
        or real(text, None)
        or next(mark(line), None) is not None
    )


def chosen(lines: Sequence[Line], limits: Limits) -> tuple[tuple[Line, ...], int]:
    """The lines that are kept, and how many are not: those that matter, the end, and the beginning, in that order."""
    important: dict[int, None] = {}
    for place, line in enumerate(lines):
        if matters(line):
            important |= dict.fromkeys(range(place, min(place + AFTER + 1, len(lines))))
    end = range(len(lines) - 1, -1, -1)
    kept: set[int] = set()
    size = 0
    shares = ((important, 0.6), (end, 0.85), (range(len(lines)), 1.0))
    for places, share in shares:
        for place in places:
            if place in kept:
                continue
            cost = len(lines[place].text) + 160
            if len(kept) >= limits.lines * share or size + cost > limits.size * share:
                break
            kept.add(place)
            size += cost
    return tuple(lines[place] for place in sorted(kept)), len(lines) - len(kept)


def properties(text: str) -> dict[str, str]:
    return {name: value for name, equals, value in (one.partition("=") for one in text.splitlines()) if equals}


def moment(text: str | None) -> float | None:
    """A time as systemctl writes it when it is asked for seconds since the epoch."""
    return number(text[1:]) if text and text.startswith("@") else None


def unit(said: Mapping[str, str]) -> dict[str, Any]:
    """What systemd says; unknown numbers are null, unknown texts empty."""
    return {
        "load": said.get("LoadState", ""),
        "active": said.get("ActiveState", ""),
        "sub": said.get("SubState", ""),
        "result": said.get("Result", ""),
        "exit_status": integer(said.get("ExecMainStatus")),
        "restarts": integer(said.get("NRestarts")),
        "pid": integer(said.get("MainPID")) or None,
        "started": moment(said.get("ExecMainStartTimestamp")),
        "invocation": said.get("InvocationID", ""),
    }


def host(tree: Tree, memlock: str) -> dict[str, Any]:
    """The facts of a node that decide between causes which give one text."""
    memory = {}
    for row in (tree.read("proc/meminfo") or "").splitlines():
        name, _colon, value = row.partition(":")
        memory[name] = integer(value.strip().partition(" ")[0])
    return {
        "boot": (tree.read("proc/sys/kernel/random/boot_id") or "").replace("-", ""),
        "kernel": tree.read("proc/sys/kernel/osrelease"),
        "cma_total_kb": memory.get("CmaTotal"),
        "cma_free_kb": memory.get("CmaFree"),
        "mem_free_kb": memory.get("MemFree"),
        "mem_available_kb": memory.get("MemAvailable"),
        "memlock": memlock or None,
    }


class Reader:
    """Asks C(systemctl) and C(journalctl) for one unit."""

    def __init__(self, runner: Runner, name: str) -> None:
        self._runner = runner
        self._name = name

    def show(self) -> dict[str, str]:
        argv = ["systemctl", "show", "--timestamp=unix", self._name, f"--property={','.join(PROPERTIES)}"]
        return properties(self._runner.run(argv).stdout)

    def invocations(self, current: str) -> list[str]:
        """Identifiers of the unit's starts, the newest first. systemd forgets a unit that is down, the journal not."""
        said = self._ask(["-n", "400", f"UNIT={self._name}", "_PID=1"]).stdout
        found = [line.invocation for line in records(said) if line.source == SYSTEMD and line.invocation]
        newest = list(dict.fromkeys(reversed(found)))
        return [current, *(one for one in newest if one != current)] if current else newest

    def read(self, invocation: str, limits: Limits) -> Seen:
        """The lines of one start, with those that the kernel had to say meanwhile."""
        match = [f"_SYSTEMD_INVOCATION_ID={invocation}", "+", f"INVOCATION_ID={invocation}"]
        head = self._ask(["-n", f"+{limits.lines}", *match])
        if head.rc != 0 and not head.stdout:
            head = self._ask(["-n", str(limits.lines), *match])  # before systemd 254 there is no oldest-first bound
        lines = list(records(head.stdout))
        detail = head.stderr.strip() if head.rc != 0 and not lines else ""
        whole = head.stdout.count("\n") < limits.lines
        if not whole:
            middle = self._ask(["-n", f"+{limits.lines}", f"--grep={GREP}", "--case-sensitive=yes", *match])
            end = self._ask(["-n", str(limits.lines), *match])
            lines = list(dict.fromkeys([*lines, *records(middle.stdout), *records(end.stdout)]))
        if lines:
            lines += self._kernel(lines)
        lines.sort(key=lambda line: line.time or 0.0)
        kept, omitted = chosen(lines, limits)
        return Seen(kept, omitted if whole else max(omitted, 1), detail)

    def _kernel(self, lines: Sequence[Line]) -> list[Line]:
        times = [line.time for line in lines if line.time is not None]
        if not times:
            return []
        between = [f"--since=@{min(times) - 5:.0f}", f"--until=@{max(times) + 60:.0f}"]
        said = self._ask([*between, f"--grep={KERNEL_GREP}", "--case-sensitive=yes", "-n", "+200", "_TRANSPORT=kernel"])
        return list(records(said.stdout))

    def _ask(self, more: Sequence[str]) -> Result:
        return self._runner.run(
            ["journalctl", "--all", "--no-pager", "-q", "-o", "json", f"--output-fields={FIELDS}", *more]
        )
