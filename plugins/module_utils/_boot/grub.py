# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What GRUB would boot: the menu of grub.cfg, its default, and the environment block that can override it.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

_SET_DEFAULT = re.compile(r"""^\s*set\s+default=(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>\S*))\s*$""")
_LEVEL = re.compile(r"(?<!>)>(?!>)")  # a path into submenus; GRUB writes >> for a > that belongs to a title
_LINUX = ("linux", "linuxefi", "linux16")
_INITRD = ("initrd", "initrdefi", "initrd16")
_ID_OPTIONS = ("--id", "$menuentry_id_option", "${menuentry_id_option}")
SAVED = "${saved_entry}"
NEXT = "${next_entry}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the menu; a submenu has entries, the others a kernel."""

    title: str
    id: str | None = None
    image: str | None = None  # file name of the kernel
    initrds: tuple[str, ...] = ()  # file names
    submenu: bool = False
    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class Config:
    """A grub.cfg."""

    menu: tuple[Entry, ...]
    default: str | None  # as written, C(${saved_entry}) included


@dataclass(frozen=True, slots=True)
class Choice:
    """What GRUB would take, and why."""

    entry: Entry | None
    wanted: str  # what the default or the environment asks for
    one_time: bool  # only for the next boot
    found: bool  # whether the menu has what was asked for; if not, GRUB takes the first entry


class _Open:
    """A block of grub.cfg that has not been closed yet."""

    def __init__(self, words: Sequence[str] = ()) -> None:
        self.words = words
        self.image: str | None = None
        self.initrds: list[str] = []
        self.entries: list[Entry] = []

    @property
    def is_entry(self) -> bool:
        return len(self.words) > 1 and self.words[0] in ("menuentry", "submenu")

    def close(self) -> Entry:
        return Entry(
            title=self.words[1],
            id=_id(self.words),
            image=self.image,
            initrds=tuple(self.initrds),
            submenu=self.words[0] == "submenu",
            entries=tuple(self.entries),
        )


def _id(words: Sequence[str]) -> str | None:
    for index, word in enumerate(words):
        if word in _ID_OPTIONS and index + 1 < len(words):
            return words[index + 1]
        if word.startswith("--id="):
            return word.removeprefix("--id=")
    return None


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError:  # a quote that goes on in the next line: none of the lines that matter
        return line.split()


def _name(path: str) -> str:
    return PurePosixPath(path).name


def parse(text: str) -> Config:
    """The menu and the default of a grub.cfg as grub-mkconfig writes it."""
    stack = [_Open()]
    default: str | None = None
    for line in text.splitlines():
        match = _SET_DEFAULT.match(line)
        if match is not None:
            value = match["double"] or match["single"] or match["bare"] or ""
            default = default if value == NEXT else value
            continue
        words = _words(line)
        if not words:
            continue
        if words[-1] == "{":
            stack.append(_Open(words[:-1]))
        elif words[0] == "}":
            closed = stack.pop() if len(stack) > 1 else None
            if closed is not None and closed.is_entry:
                stack[-1].entries.append(closed.close())
        elif words[0] in _LINUX and len(words) > 1:
            stack[-1].image = _name(words[1])
        elif words[0] in _INITRD:
            stack[-1].initrds += map(_name, words[1:])
    return Config(tuple(stack[0].entries), default)


def parse_environment(text: str) -> dict[str, str]:
    """The environment block, from the file C(grubenv) or from C(grub-editenv list)."""
    pairs = (line.partition("=") for line in text.splitlines() if not line.startswith("#"))
    return {key: value for key, mark, value in pairs if mark}


def parse_defaults(text: str) -> dict[str, str]:
    """The settings of /etc/default/grub: what the next update-grub will write."""
    found = {}
    for line in text.splitlines():
        key, mark, value = line.strip().removeprefix("export ").partition("=")
        if mark and not key.startswith("#"):
            words = _words(value)
            found[key] = words[0] if words else ""
    return found


def _pick(menu: Sequence[Entry], level: str) -> Entry | None:
    if level.isdecimal():
        return menu[int(level)] if int(level) < len(menu) else None
    title = level.replace(">>", ">")
    return next((entry for entry in menu if title == entry.title or level == entry.id), None)


def _find(menu: Sequence[Entry], wanted: str) -> tuple[Entry | None, bool]:
    """Each level is a number, a title or an id; what is not there is the first entry, as in GRUB."""
    found = True
    levels = _LEVEL.split(wanted) if wanted else ["0"]
    entry: Entry | None = None
    while menu:
        level = levels.pop(0) if levels else "0"
        entry = _pick(menu, level)
        if entry is None:
            found, entry = False, menu[0]
        menu = entry.entries if entry.submenu else ()
    return entry, found


def choose(config: Config, environment: Mapping[str, str]) -> Choice:
    """The entry that GRUB boots next if nobody touches the keyboard."""
    one_time = environment.get("next_entry", "")
    wanted = one_time or (config.default or "0").replace(SAVED, environment.get("saved_entry", "")) or "0"
    entry, found = _find(config.menu, wanted)
    return Choice(entry=entry, wanted=wanted, one_time=bool(one_time), found=found)
