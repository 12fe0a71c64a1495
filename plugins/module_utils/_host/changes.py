# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has to be done for a node to be as it should, and what stands against it.

B(Private) to the collection: it can change at any time.

What is no longer wanted is taken back as it was before, as far as the node's memory (C(MEMORY)) or the name of the file
says that it is ours: undoing all of it is to want nothing.
"""

from __future__ import annotations

import copy
import json
from pathlib import PurePosixPath
from typing import Any

from . import rules_files, rules_machine
from .model import MEMORY, Seen, Wanted
from .work import Changes, Work


def changes(seen: Seen, wanted: Wanted) -> Changes:
    """The whole of it."""
    text = seen.file(MEMORY).content
    before: dict[str, Any] = json.loads(text) if text else {}
    work = Work(seen, wanted, before, copy.deepcopy(before))
    rules_files.files(work)
    rules_files.limits(work)
    rules_files.kernel(work)
    rules_files.hosts(work)
    rules_machine.desktop(work)
    if seen.container:
        note = f"swap, memory and clock are the machine's, not this container's ({seen.container}): left alone"
        work.add("notes", note)
    else:
        rules_machine.swap(work)
        rules_machine.time(work)
    rules_machine.oom(work)
    remember, keep = _memory(work)
    return Changes(
        refusals=work.all("refusals"),
        differences=work.all("differences"),
        notes=work.all("notes"),
        folders=_folders(work, remember),
        write=work.all("write"),
        remove=work.all("remove"),
        reload=bool(work.all("reload")),
        install=work.all("install"),
        uninstall=work.all("uninstall"),
        restart=work.all("restart"),
        start=work.all("start"),
        stop=work.all("stop"),
        sysctl=work.all("sysctl"),
        default_target=work.one("default_target"),
        swap=work.one("swap"),
        hosts=work.one("hosts"),
        remember=remember,
        keep=keep,
    )


def _memory(work: Work) -> tuple[str | None, str | None]:
    """What to write before the work, which forgets nothing yet, and after it."""
    first = work.before | work.memory
    settings = work.before.get("sysctl", {}) | work.memory.get("sysctl", {})
    if settings:
        first["sysctl"] = settings
    remember = None if first == work.before else _dump(first)
    if work.memory == first:
        return remember, None
    return remember, _dump(work.memory) if work.memory else ""


def _dump(memory: dict[str, Any]) -> str:
    return json.dumps(memory, indent=2, sort_keys=True) + "\n"


def _folders(work: Work, remember: str | None) -> tuple[str, ...]:
    """The folders that are missing for the files to write."""
    paths = [write.path for write in work.all("write")] + ([MEMORY] if remember is not None else [])
    missing = [path for path in paths if not work.seen.file(path).folder]
    return tuple(dict.fromkeys(str(PurePosixPath(path).parent) for path in missing))
