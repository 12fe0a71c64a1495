# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the head itself knows: error lines in the journal of its unit, and whether the group was started again.

The role reads the journals of all ranks, with a table that names causes. This one only says whether there was an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .command import run
from .model import Finding

JOURNAL_SECONDS = 60.0
MOST_LINES = 50
MOST_LETTERS = 500
BLIND = "not seeing messages from other users"

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_PREFIX = re.compile(
    r"(?:\([^()]*pid=\d+[^()]*\) ?)*"
    r"(?:(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL)(?::\s+|\s+\d\d-\d\d \d\d:\d\d:\d\d (?:\[[^\]]*\]|\S+\]) ?))?"
)
# Harmless in healthy runs, or always behind another error.
_NEVER = re.compile(
    r"Spectrum-X \(SPCX\) NCCL plugin is not supported"
    r"|destroy_process_group\(\) was not called"
    r'|Failed to check the "should dump" flag'
    r"|No available shared memory broadcast block"
    r"|exit code: -15\b"
    r"|\barx\b.*\bSTALL\b"
)
_ALWAYS = re.compile(
    r"\bCUDA error\b|\bNVRM: Xid\b|\bXid \(|\bNCCL WARN\b|^Killed\b|\bKilled process\b|\bOOM killer\b|\boom-kill\b"
    r"|^Fatal Python error|^Segmentation fault|^terminate called|^Main process exited"
)
_CONCLUSION = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Fault|Interrupt)(?::|$)")
_IN_TRACEBACK = re.compile(
    r"\s|Traceback \(most recent call last\)|The above exception was|During handling of the above|[\^~]|$"
)
_UNIT = re.compile(r"^\S+\.service: ")


async def journal(unit: str, since_wall: float) -> tuple[list[str], bool]:
    """Error lines of a unit on this machine since a moment, and true. Why it could not be asked, and false."""
    argv = ["journalctl", "-u", unit, "-o", "json", "--all", "--no-pager", "--since", f"@{int(since_wall)}"]
    done = await run(argv, JOURNAL_SECONDS)
    if done.code != 0:
        return [f"journalctl -u {unit}: {done.words}; look at the journal of the head"], False
    if BLIND in done.error.decode("utf-8", "replace"):
        why = "this user may not read it; add the user to the group systemd-journal"
        return [f"journalctl -u {unit}: {why}"], False
    return error_lines(records(done.out.decode("utf-8", "replace"))), True


def records(text: str) -> Iterator[Mapping[str, Any]]:
    """The output of journalctl -o json. What is no record is passed over."""
    for line in text.split("\n"):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record


def error_lines(found: Iterable[Mapping[str, Any]]) -> list[str]:
    """The lines that are errors, each once. Of a traceback it is the last line: many processes write theirs at once."""
    lines = (line[:MOST_LETTERS] for record in found for line in _lines(record.get("MESSAGE")) if error(line))
    unique = list(dict.fromkeys(lines))
    more = len(unique) - MOST_LINES
    return unique if more <= 0 else [*unique[:MOST_LINES], f"and {more} more: journalctl -u on the head has them"]


def error(line: str) -> bool:
    """Whether a line, without its colours, is one to report."""
    if _NEVER.search(line):
        return False
    prefix = _PREFIX.match(line)
    level = prefix["level"] if prefix else None
    body = line[prefix.end() :] if prefix else line
    if level in ("DEBUG", "INFO"):
        return False
    if _ALWAYS.search(_UNIT.sub("", body)):
        return True
    if level == "WARNING" or _IN_TRACEBACK.match(body):
        return False
    return level is not None or _CONCLUSION.match(body) is not None


def _lines(message: object) -> Iterator[str]:
    """Text, or the bytes of text with control characters."""
    if isinstance(message, list) and all(isinstance(byte, int) for byte in message):
        message = bytes(byte & 0xFF for byte in message).decode("utf-8", "replace")
    if isinstance(message, str):
        yield from (line.rstrip() for line in _COLOUR.sub("", message).split("\n"))


@dataclass(frozen=True, slots=True)
class Life:
    """Of the group: from one start of all ranks to the end of any. `child` is the process of vLLM on the head."""

    life: str | None
    state: str
    child: int | None
    ended: str


def life(path: Path) -> Life | None:
    """What state.json of the head says; none when it cannot be read."""
    try:
        data = json.loads(path.read_bytes())
        ended, child = data["ended"], data["child"]
        words = f"{ended['reason']} on rank {ended['rank']} ({ended['host']}): {ended['detail']}" if ended else ""
        return Life(data["life"], str(data["state"]), int(child) if child else None, words)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def changed(before: Life, after: Life) -> tuple[Finding, ...]:
    """What happened to the group between two looks."""
    if before.life != after.life:
        why = f"; the one before ended with {after.ended}" if after.ended else ""
        return (Finding("the group was started again", "the head", f"life {before.life}, then {after.life}{why}"),)
    if after.state != "serving":
        return (Finding("the group does not serve", "the head", f"its state is {after.state}, expected serving"),)
    return ()


def family(child: int, proc: Path = Path("/proc")) -> list[int]:
    """A process and its descendants."""
    children: dict[int, list[int]] = {}
    for path in proc.glob("[0-9]*/stat"):
        try:
            # The name is in parentheses and may hold anything; what follows is the state, then the parent.
            parent = int(path.read_text("utf-8", "replace").rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        children.setdefault(parent, []).append(int(path.parent.name))
    found = [child]
    for pid in found:
        found += sorted(set(children.get(pid, ())) - set(found))
    return found
