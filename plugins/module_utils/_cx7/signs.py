# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What this boot's log says about when cables came and went."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from . import kernel_log
from .model import Cx7, Event
from .thresholds import PLUGGED_AFTER_PROBE_SECONDS, REMOVAL_AT_BOOT_SECONDS, UPTIME_SECONDS


def of_kind(events: Iterable[Event], *kinds: str, cage: str | None = None, root: str | None = None) -> list[Event]:
    """Events of these kinds; those that name another cage or root are left out, those that name none are kept."""
    return [
        event
        for event in events
        if event.kind in kinds and event.cage in (None, cage or event.cage) and event.root in (None, root or event.root)
    ]


def _last_before(events: Sequence[Event], index: int, kind: str, pci: str | None) -> Event | None:
    return next((event for event in reversed(events[:index]) if event.kind == kind and event.pci == pci), None)


def plugin_while_running(cx7: Cx7) -> list[Event]:
    """The hot-plug driver saw a cable come. Only one before the first probe of a whole log belongs to the boot."""
    first_probe = next((event for event in cx7.events if event.kind == "probe"), None)
    return [
        event
        for event in of_kind(cx7.events, "hotplug_plugin")
        if not (
            cx7.log_complete
            and first_probe is not None
            and event.seconds is not None
            and first_probe.seconds is not None
            and event.seconds < first_probe.seconds
        )
    ]


def _is_late(cx7: Cx7, index: int, event: Event) -> bool:
    """Whether a C(Cable plugged) came later than the driver's probe, which reports every cable that is seated."""
    probe = _last_before(cx7.events, index, "probe", event.pci)
    if probe is not None and probe.seconds is not None and event.seconds is not None:
        return event.seconds - probe.seconds > PLUGGED_AFTER_PROBE_SECONDS
    unplugged = next(
        (
            other
            for other in cx7.events[:index]
            if other.kind == "module_unplugged" and other.pci == event.pci and other.cage == event.cage
        ),
        None,
    )
    if unplugged is not None:
        return True
    return cx7.log_clock == kernel_log.CLOCK_BOOT and event.seconds is not None and event.seconds > UPTIME_SECONDS


def plugged_while_running(cx7: Cx7, cage: str, root: str) -> list[Event]:
    """C(Cable plugged) of this port that the driver reported while the node ran."""
    wanted = of_kind(cx7.events, "module_plugged", cage=cage, root=root)
    return [event for index, event in enumerate(cx7.events) if event in wanted and _is_late(cx7, index, event)]


def pulled(cx7: Cx7, events: Sequence[Event], cage: str, root: str) -> Event | None:
    """The C(Cable unplugged) by which this port lost a cable that it had; ``events`` are the first ones of ``cx7``.

    The driver's probe says the same of every empty cage: that alone is no cable that anyone pulled.
    """
    seen = of_kind(events, "module_plugged", "module_unplugged", "link_up", cage=cage, root=root)
    if not seen or seen[-1].kind != "module_unplugged":
        return None
    had_one = any(event.kind != "module_unplugged" for event in seen)
    return seen[-1] if had_one or _is_late(cx7, events.index(seen[-1]), seen[-1]) else None


def is_removal_at_boot(cx7: Cx7, removal: Event) -> bool:
    """The hot-plug driver found no cable after the boot, as opposed to a peer or a cable that went away later."""
    if removal.seconds is None:
        return True
    if cx7.log_clock == kernel_log.CLOCK_BOOT:
        return removal.seconds <= REMOVAL_AT_BOOT_SECONDS
    probe = next((event for event in cx7.events if event.kind == "probe" and event.seconds is not None), None)
    return probe is None or removal.seconds - (probe.seconds or 0.0) <= REMOVAL_AT_BOOT_SECONDS
