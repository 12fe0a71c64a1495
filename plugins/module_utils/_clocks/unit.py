# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Our unit: which cap its files ask for, and what systemd says that became of it since boot."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._node.unitfile import joined

UNIT = "switchless-clock-cap.service"
PROGRAM = "/usr/local/lib/switchless/clock_cap.py"
PROPERTIES = (
    "LoadState",
    "ActiveState",
    "SubState",
    "Result",
    "UnitFileState",
    "ExecMainStatus",
    "InvocationID",
    "NeedDaemonReload",
)
SHOW = ("systemctl", "show", UNIT, f"--property={','.join(PROPERTIES)}")

_VARIABLE = re.compile(r"\$(?:\{(?P<braced>\w+)\}|(?P<bare>\w+))")
_LIMITS = re.compile(r"(?P<first>[0-9]{1,6})(?:,(?P<second>[0-9]{1,6}))?")
_LOCK = re.compile(r"(?:-lgc|--lock-gpu-clocks)[=\s\"',]+(?P<limits>[0-9]{1,6}(?:,[0-9]{1,6})?)(?![\w.])")


@dataclass(frozen=True, slots=True)
class State:
    """What systemd says. Unknown values are empty or null."""

    load: str = ""
    active: str = ""
    sub: str = ""
    result: str = ""
    enabled: str = ""
    exit_status: int | None = None
    invocation: str = ""
    need_reload: bool | None = None

    @property
    def applied(self) -> bool:
        """Our program ran in this boot and said that the cap is set. systemd knows nothing of earlier boots."""
        return (self.active, self.sub, self.result, self.exit_status) == ("active", "exited", "success", 0)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Configured:
    """C(files) are the unit file and its drop-ins in their order. C(detail) says why no cap is known."""

    max_mhz: int | None = None
    files: tuple[str, ...] = ()
    detail: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def properties(text: str) -> dict[str, str]:
    """The answer of C(systemctl show)."""
    return {name: value for name, equals, value in (line.partition("=") for line in text.splitlines()) if equals}


def state(text: str) -> State:
    said = properties(text)
    status = said.get("ExecMainStatus", "")
    return State(
        load=said.get("LoadState", ""),
        active=said.get("ActiveState", ""),
        sub=said.get("SubState", ""),
        result=said.get("Result", ""),
        enabled=said.get("UnitFileState", ""),
        exit_status=int(status) if re.fullmatch(r"[0-9]{1,9}", status) else None,
        invocation=said.get("InvocationID", ""),
        need_reload={"yes": True, "no": False}.get(said.get("NeedDaemonReload", "")),
    )


def settings(text: str) -> Iterator[tuple[int, str, str, str]]:
    """Line (counted from 1), section, name and value of every setting in a unit file."""
    section = ""
    for number, line in joined(text):
        stripped = line.strip()
        if stripped.startswith("[") and stripped.endswith("]"):
            section = stripped[1:-1]
            continue
        name, equals, value = stripped.partition("=")
        if equals:
            yield number, section, name.strip(), value.strip()


def locked_to(command: str) -> int | None:
    """The upper limit in a command with C(-lgc 0,2200); one number alone is both limits."""
    match = _LOCK.search(command)
    return _upper(match["limits"]) if match else None


def configured(files: Iterable[tuple[str, str]], read: Callable[[str], str | None]) -> Configured:
    """The cap that the unit asks for. C(files) are path and text of the unit file and its drop-ins, in their order."""
    commands: list[str] = []
    environment: dict[str, str] = {}
    sources: list[str] = []
    paths = []
    for path, text in files:
        paths.append(path)
        for _number, section, name, value in settings(text):
            if section != "Service":
                continue
            if name == "ExecStart":
                commands = [*commands, value] if value else []
            elif name == "EnvironmentFile":
                sources = [*sources, value.removeprefix("-")] if value else []
            elif name == "Environment":
                environment = environment | _assignments(value) if value else {}
    if not paths:
        return Configured(detail=f"there is no {UNIT}")
    for source in sources:
        environment |= _environment(read(source) or "")
    caps = [cap for command in commands if (cap := _cap(command, environment)) is not None]
    if not caps:
        said = "; ".join(commands) or "nothing"
        return Configured(None, tuple(paths), f"{UNIT} runs {said}, which names no cap in MHz")
    return Configured(caps[-1], tuple(paths))


def _cap(command: str, environment: Mapping[str, str]) -> int | None:
    """The cap in one command of the unit; the last of several holds."""
    told = _VARIABLE.sub(lambda match: environment.get(match["braced"] or match["bare"], ""), command)
    words = _words(told)
    if PROGRAM not in words:
        return locked_to(told)
    after = words[words.index(PROGRAM) + 1 :]
    return _upper(after[-1]) if "lock" in after[:-1] else None


def _upper(limits: str) -> int | None:
    match = _LIMITS.fullmatch(limits)
    return int(match["second"] or match["first"]) if match else None


def _environment(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for _number, line in joined(text):
        found |= _assignments(line.strip())
    return found


def _assignments(text: str) -> dict[str, str]:
    return {name: value for name, equals, value in (word.partition("=") for word in _words(text)) if equals}


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
