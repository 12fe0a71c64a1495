# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules: what the kernel log of this boot says about cables that came while the node ran."""

from __future__ import annotations

from collections.abc import Iterator

from . import signs
from .verdicts import (
    FAULT,
    NEEDS_REBOOT,
    Port,
    Reason,
    reason,
    texts,
)


def log(port: Port) -> Iterator[Reason]:
    """Marks of a cable that came while the node ran. A port that was measured at full speed is past them."""
    if not port.linked or port.fast:
        return
    cx7 = port.cx7
    fatal = signs.of_kind(cx7.events, "aer_fatal", "slot_reset", root=port.root)
    if fatal:
        yield reason("aer_fatal", FAULT, f"Fatal PCIe error on root {port.root} in this boot", texts(fatal))
    for code, text, evidence in hotplug_marks(port):
        yield reason(code, NEEDS_REBOOT, text, evidence)


def hotplug_marks(port: Port) -> Iterator[tuple[str, str, list[str]]]:
    cx7 = port.cx7
    lines = [
        line.text
        for line in cx7.slot_power
        if line.status == "not_advertised" and line.cage in (None, port.cage) and line.root in (None, port.root)
    ]
    if lines:
        yield "not_advertised", "The slot did not tell the NIC its power: it was added while the node ran", lines[:3]
    plugins = signs.plugin_while_running(cx7)
    if plugins:
        yield "hotplug", "The NIC was added while the node ran, because a cable was plugged", texts(plugins)
    plugged = signs.plugged_while_running(cx7, port.cage, port.root)
    if plugged and not plugins:
        yield "plugged_late", f"The cable of {port.name} was plugged while the node ran", texts(plugged)
