# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Reads one rank's unit on its node: what systemd says of it, and the files of its keeper.

A file that is not there, cannot be read or is torn is an answer. So is a systemd that says nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Runner

from .journal import integer
from .read import moment, properties
from .read import unit as shown_unit

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
LIVE = ("active", "activating", "deactivating", "reloading", "refreshing")
DOWN = ("stopped", "failed")
"""States of a keeper that has ended."""
MOST = 262144
_UNSET = 2**64 - 1

PROPERTIES = (
    "LoadState",
    "LoadError",
    "ActiveState",
    "SubState",
    "Result",
    "ExecMainStatus",
    "ExecMainStartTimestamp",
    "StateChangeTimestamp",
    "NRestarts",
    "MainPID",
    "InvocationID",
    "StatusText",
    "UnitFileState",
    "NeedDaemonReload",
    "MemoryCurrent",
    "StartLimitBurst",
    "StartLimitIntervalUSec",
)


@dataclass(frozen=True, slots=True)
class Places:
    """Where the files of a rank are."""

    config: str
    state: str
    end: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A file with one JSON object. C(found) is null when nobody can say whether it is there."""

    path: str
    found: bool | None = False
    detail: str = ""
    data: Mapping[str, Any] | None = None
    raw: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True)
class Look:
    """What one node gave."""

    unit: Mapping[str, Any] = field(default_factory=dict)
    raw: str = ""
    detail: str = ""
    boot: str = ""
    config: Kept = Kept("")
    state: Kept = Kept("")
    end: Kept = Kept("")


def unit_name(recipe: str) -> str:
    return f"vllm@{recipe}.service"


def places(recipe: str, config: str = "", state: str = "", end: str = "") -> Places:
    """The usual ones, where none is given."""
    return Places(
        config or f"/etc/switchless/vllm/{recipe}/rank.json",
        state or f"/run/vllm/{recipe}/state.json",
        end or f"/var/lib/vllm/{recipe}/last_end.json",
    )


def kept(tree: Tree, path: str) -> Kept:
    """Read a file that is written anew as a whole, by a program that may be killed at any time."""
    try:
        with tree.path(path.lstrip("/")).open("rb") as file:
            raw = file.read(MOST).decode("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):
        return Kept(path, detail=f"{path} is not there")
    except OSError as error:
        return Kept(path, None, f"{path} cannot be read: {error.strerror}")
    try:
        data = json.loads(raw)
    except ValueError:
        return Kept(path, True, f"{path} is torn: {len(raw)} characters that are no JSON", None, raw)
    if not isinstance(data, Mapping):
        return Kept(path, True, f"{path} is torn: expected one JSON object", None, raw)
    return Kept(path, True, "", data, raw)


def unit(said: Mapping[str, str]) -> dict[str, Any]:
    """What systemd says, and more of it than a journal needs."""
    memory = integer(said.get("MemoryCurrent"))
    reload = said.get("NeedDaemonReload")
    error = said.get("LoadError", "").strip()
    return shown_unit(said) | {
        "load_error": error.partition(" ")[2].strip('"') or error,
        "changed": moment(said.get("StateChangeTimestamp")),
        "status_text": said.get("StatusText", ""),
        "enabled": said.get("UnitFileState", ""),
        "need_reload": None if reload is None else reload == "yes",
        "memory_bytes": None if memory == _UNSET else memory,
        "starts_allowed": integer(said.get("StartLimitBurst")),
        "starts_within": said.get("StartLimitIntervalUSec", ""),
    }


def end_words(end: Mapping[str, Any]) -> str:
    """Why a life ended, as the head wrote it."""
    place = "" if end.get("rank") is None else f" by rank {end.get('rank')} on {end.get('host')}"
    detail = f": {end['detail']}" if end.get("detail") else ""
    return f"{end.get('reason') or 'nobody knows why'}{place}{detail}"


def stale(data: Mapping[str, Any] | None, shown: Mapping[str, Any], boot: str) -> tuple[bool | None, str]:
    """Whether a state is of the past, and why. Null when that cannot be told."""
    if data is None:
        return None, ""
    written, invocation = _plain_id(data.get("boot_id")), _plain_id(data.get("invocation"))
    if written and boot and written != boot:
        return True, "it is of an earlier boot"
    if not shown.get("active"):
        return None, "systemd did not say whether the unit runs"
    current = _plain_id(shown.get("invocation"))
    if invocation and current and invocation != current:
        return True, "it is of an earlier start of the unit"
    if shown.get("active") not in LIVE and data.get("state") not in DOWN:
        return True, f"it says {data.get('state')}, and the unit does not run"
    return False, ""


def _plain_id(value: object) -> str:
    return str(value or "").replace("-", "").strip().lower()


def look(tree: Tree, runner: Runner, recipe: str, where: Places) -> Look:
    """All of one node. Files first: a unit that ends meanwhile makes a state stale, never a stale one new."""
    config, state, end = (kept(tree, path) for path in (where.config, where.state, where.end))
    asked = ["systemctl", "show", "--timestamp=unix", unit_name(recipe), f"--property={','.join(PROPERTIES)}"]
    result = runner.run(asked)
    said = properties(result.stdout)
    words = " ".join((result.stderr or result.stdout).split())[-300:]
    return Look(
        unit=unit(said),
        raw=result.stdout,
        detail="" if said.get("ActiveState") else f"systemctl exited {result.rc} and said: {words or 'nothing'}",
        boot=_plain_id(tree.read("proc/sys/kernel/random/boot_id")),
        config=config,
        state=state,
        end=end,
    )


def as_dict(seen: Look) -> dict[str, Any]:
    """As the module returns it."""
    old, why = stale(seen.state.data, seen.unit, seen.boot)
    config = seen.config.data or {}
    return {
        "unit": dict(seen.unit),
        "unit_detail": seen.detail,
        "unit_raw": seen.raw,
        "boot": seen.boot,
        "config": {
            "path": seen.config.path,
            "found": seen.config.found,
            "detail": seen.config.detail,
            "group": config.get("group"),
        },
        "state": seen.state.as_dict() | {"stale": old, "detail": seen.state.detail or why},
        "last_end": seen.end.as_dict(),
    }
