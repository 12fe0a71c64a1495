# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Settings of the transport that files on a node make, each file read as the program reads it that it is for."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._node.unitfile import joined

OURS = ("etc", "switchless", "nccl.env")
NCCL_CONF = ("etc", "nccl.conf")
HOME_CONF = ".nccl.conf"
CONF_FILE = "NCCL_CONF_FILE"

PREFIXES = ("NCCL_", "GLOO_", "ARX_", "UCX_", "VLLM_ARX")
NAMES = ("VLLM_HOST_IP", "TP_SOCKET_IFNAME", "VLLM_BATCH_INVARIANT", "VLLM_NCCL_SO_PATH")

_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.*)", re.DOTALL)
_EXPORTS = frozenset(("export", "declare", "typeset", "readonly"))
_KEYWORDS = frozenset(("if", "then", "else", "elif", "do", "{", "!"))
_SEPARATORS = ";&|"

Setting = tuple[int, str, str]
"""Line (counted from 1), name, value."""


@dataclass(frozen=True, slots=True)
class Source:
    """One setting in one file. C(kind) is how the file is read; C(ours) that this collection wrote it."""

    file: str
    line: int
    name: str
    value: str
    kind: str
    ours: bool = False

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def concerns(name: str) -> bool:
    """Whether a variable has to do with the transport."""
    return name.startswith(PREFIXES) or name in NAMES


def nccl_conf(text: str) -> Iterator[Setting]:
    """As NCCL reads it: all before the first C(=) is the name, all after it the value, blanks and quotes included."""
    for number, line in enumerate(text.split("\n"), start=1):
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            yield number, name, value


def environment(text: str) -> Iterator[Setting]:
    """/etc/environment, environment.d and EnvironmentFile: one assignment a line, quotes around values go."""
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip()
        if stripped.startswith(("#", ";")):
            continue
        match = _ASSIGNMENT.match(stripped.removeprefix("export ").lstrip())
        if match is not None:
            yield number, match["name"], _unquoted(match["value"])


def shell(text: str) -> Iterator[Setting]:
    """Assignments in a shell script, exported or not: the variable may have been exported elsewhere.

    Nothing is run: a value that the shell would compute keeps its dollar sign.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        open_command, exporting = True, False
        for word in _words(line):
            if word and not word.strip(_SEPARATORS):
                open_command, exporting = True, False
            elif not open_command or word in _KEYWORDS:
                continue
            elif word in _EXPORTS:
                exporting = True
            else:
                match = _ASSIGNMENT.fullmatch(word)
                if match is not None:
                    yield number, match["name"], match["value"]
                elif not exporting:
                    open_command = False  # a program: what follows are its arguments


def systemd(text: str) -> Iterator[Setting]:
    """C(DefaultEnvironment=) of the service manager; an empty one takes back what this file set before."""
    found: list[Setting] = []
    for number, line in joined(text):
        key, equals, value = line.partition("=")
        if not equals or key.strip() not in ("DefaultEnvironment", "ManagerEnvironment"):
            continue
        if not value.strip():
            found.clear()
        for word in _words(value, separators=""):
            match = _ASSIGNMENT.fullmatch(word)
            if match is not None:
                found.append((number, match["name"], match["value"]))
    yield from found


def _words(line: str, separators: str = _SEPARATORS) -> list[str]:
    """The words of a line of shell; a line whose quotes do not match is split at blanks."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=separators)
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:
        return line.split()


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value


PARSERS: dict[str, Callable[[str], Iterable[Setting]]] = {
    "nccl_conf": nccl_conf,
    "environment": environment,
    "shell": shell,
    "systemd": systemd,
}


def settings(file: str, kind: str, text: str, *, ours: bool = False) -> list[Source]:
    """What one file sets of the transport."""
    return [Source(file, line, name, value, kind, ours) for line, name, value in PARSERS[kind](text) if concerns(name)]


def look(tree: Tree, homes: Iterable[str]) -> list[Source]:
    """All files of a node that could set the transport, in a fixed order."""
    found: list[Source] = []
    for place, kind in _places(tree):
        found += _read(tree, place, kind)
    # NCCL reads the file that NCCL_CONF_FILE names instead of the one in the home folder; who is served is not known.
    # It looks for the name before it reads any file of its own.
    named = [
        source.value
        for source in found
        if source.name == CONF_FILE and source.kind != "nccl_conf" and source.value.startswith("/")
    ]
    homely = [f"{home.rstrip('/')}/{HOME_CONF}" for home in homes]
    for path in dict.fromkeys([*homely, *named]):
        parts = tuple(path.strip("/").split("/"))
        if parts != NCCL_CONF:
            found += _read(tree, parts, "nccl_conf")
    return found


def _places(tree: Tree) -> Iterator[tuple[tuple[str, ...], str]]:
    yield NCCL_CONF, "nccl_conf"
    yield ("etc", "environment"), "environment"
    yield from _within(tree, ("etc", "environment.d"), ".conf", "environment")
    yield from _within(tree, ("etc", "profile.d"), ".sh", "shell")
    yield ("etc", "systemd", "system.conf"), "systemd"
    yield from _within(tree, ("etc", "systemd", "system.conf.d"), ".conf", "systemd")
    yield OURS, "environment"


def _within(tree: Tree, folder: tuple[str, ...], suffix: str, kind: str) -> Iterator[tuple[tuple[str, ...], str]]:
    yield from (((*folder, name), kind) for name in tree.names(*folder) if name.endswith(suffix))


def _read(tree: Tree, parts: tuple[str, ...], kind: str) -> list[Source]:
    try:
        # not Tree.read: it takes away the blank lines at the top, and with them the line numbers
        text = tree.path(*parts).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return settings("/" + "/".join(parts), kind, text, ours=parts == OURS)
