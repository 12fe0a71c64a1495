# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Lines in other people's files that set the clocks of a GPU, or take a cap away."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._node.unitfile import joined

from .unit import locked_to

UNIT_FILE, CRON, BOOT = "unit", "cron", "boot"

_OPTIONS = re.compile(
    r"(?<![\w-])(?P<option>-lgc|-rgc|-ac|-rac|--lock-gpu-clocks|--reset-gpu-clocks|--applications-clocks"
    r"|--reset-applications-clocks)(?![\w-])"
)
_SHORT = ("-ac", "-rac")
"""Other programs have these, too."""
_CALLS = re.compile(r"nvmlDevice(?:Set|Reset)(?:Gpu|GPU)LockedClocks|nvmlDevice(?:Set|Reset)ApplicationsClocks")
_DESKTOP = re.compile(r"nvidia-settings\b.*(?:clock|powermizer)", re.IGNORECASE)
_PATH = re.compile(r"(?<![\w./$}])(?P<path>/[\w./@+-]*[\w@+-])")

STARTED_BY = ("TriggeredBy", "WantedBy", "RequiredBy")
STATE = ("UnitFileState", "ActiveState", *STARTED_BY)
_OFF = ("disabled", "masked", "masked-runtime")
_IDLE = ("inactive", "failed")


@dataclass(frozen=True, slots=True)
class Setter:
    """One line that sets clocks. C(unit) is the systemd unit that has or runs it.

    C(live) is false when systemd says that the unit is off and nothing starts it, null when it cannot be asked.
    """

    file: str
    line: int
    text: str
    kind: str
    unit: str | None = None
    max_mhz: int | None = None
    live: bool | None = None

    @property
    def counts(self) -> bool:
        """Unknown counts: only a unit that is known to be off does no harm."""
        return self.live is not False

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def found(file: str, text: str, kind: str, unit: str | None = None) -> list[Setter]:
    """The lines of one file that set clocks, comments aside."""
    return [
        Setter(file, number, " ".join(line.split()), kind, unit, locked_to(line))
        for number, line in joined(text)
        if _sets(line)
    ]


def scripts(text: str, kind: str) -> Iterator[str]:
    """Paths in what a file runs, each of which may be a script that sets clocks."""
    for _number, line in joined(text):
        if kind != UNIT_FILE or line.lstrip().startswith("Exec"):
            yield from (match["path"] for match in _PATH.finditer(line))


def is_script(path: str, text: str) -> bool:
    """Whether a file is text that an interpreter runs."""
    return text.startswith("#!") or path.endswith((".sh", ".py"))


def live(said: Mapping[str, str]) -> bool | None:
    """Whether a unit runs or will: from what C(systemctl show) says of it."""
    enabled, active = said.get("UnitFileState", ""), said.get("ActiveState", "")
    if not enabled or not active or not set(STARTED_BY) <= set(said):
        return None
    started = any(said[name].strip() for name in STARTED_BY)
    return not (enabled in _OFF and active in _IDLE and not started)


def _sets(line: str) -> bool:
    if _CALLS.search(line) or _DESKTOP.search(line):
        return True
    return any(match["option"] not in _SHORT or "nvidia-smi" in line for match in _OPTIONS.finditer(line))
