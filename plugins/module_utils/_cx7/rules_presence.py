# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules: is the node up for long enough, is the function on the bus, is there a link?"""

from __future__ import annotations

from collections.abc import Iterator

from . import signs
from .model import Cx7
from .thresholds import (
    UPTIME_SECONDS,
)
from .verdicts import (
    FAULT,
    MISCONFIGURED,
    NEEDS_REBOOT,
    NO_CABLE,
    UNKNOWN,
    Port,
    Reason,
    reason,
    texts,
)


def too_early(cx7: Cx7) -> Reason | None:
    if cx7.uptime_seconds is None:
        return reason("uptime_unknown", UNKNOWN, "How long the node has been up cannot be read")
    if cx7.uptime_seconds < UPTIME_SECONDS:
        seen, wanted = f"{cx7.uptime_seconds:.0f}", f"{UPTIME_SECONDS:.0f}"
        return reason("too_early", UNKNOWN, f"The node has been up for {seen} s; the NIC is settled after {wanted} s")
    return None


def absent(port: Port) -> Iterator[Reason]:
    """No function at this (cage, root). With no cable in any cage the whole NIC leaves the bus, which is normal."""
    cx7 = port.cx7
    broken = signs.of_kind(cx7.events, "retraining_failed", root=port.root)
    fatal = signs.of_kind(cx7.events, "aer_fatal", "slot_reset", root=port.root)
    if broken:
        yield reason("retraining_failed", FAULT, "The PCIe link to the NIC cannot be trained", texts(broken))
    elif fatal:
        yield reason("aer_fatal", FAULT, "The NIC left the bus after a fatal PCIe error", texts(fatal))
    elif cx7.functions:
        seen = ", ".join(f"{function.cage} {function.root}" for function in cx7.functions)
        text = f"The function of {port.name} is not on the bus while others are"
        yield reason("function_missing", FAULT, text, [f"on the bus: {seen}"])
    else:
        yield _all_absent(port)


def _all_absent(port: Port) -> Reason:
    cx7 = port.cx7
    planned = port.expected is not None
    removal = next(reversed(signs.of_kind(cx7.events, "hotplug_removal")), None)
    at = cx7.events.index(removal) if removal is not None else len(cx7.events)
    before = cx7.events[:at]
    seated = signs.of_kind(before, "module_plugged", "link_up", cage=port.cage, root=port.root)
    unplugged = signs.of_kind(before, "module_unplugged", cage=port.cage, root=port.root)
    pulled = signs.pulled(cx7, before, port.cage, port.root)
    nothing = "No ConnectX-7 function is on the PCI bus"
    # The marker says what the next boot does; it stands in for a driver that does not say what this one did.
    hotplug = cx7.hotplug.armed if cx7.hotplug.enabled is None else cx7.hotplug.enabled
    if planned and pulled is not None and (removal is not None or hotplug):
        text = f"The cable to {port.peer} in {port.name} was pulled out while the node ran, and hot-plug let the NIC go"
        return reason("cable_missing", FAULT, text, texts([pulled] if removal is None else [pulled, removal]))
    if removal is not None:
        evidence = texts([*seated[:1], removal])
        if signs.is_removal_at_boot(cx7, removal):
            if seated or (planned and not unplugged):
                text = "The hot-plug driver took the NIC off the bus after the boot although a cable should be in"
                return reason("hotplug_removed_nic", MISCONFIGURED, text, evidence)
        elif planned:
            return reason("nic_dropped", NEEDS_REBOOT, "The NIC left the bus while the node ran", evidence)
    elif seated:
        return reason("nic_vanished", FAULT, "The NIC left the bus although a cable was in", texts(seated))
    elif planned and not unplugged:
        if not cx7.log_complete:
            return reason("nic_absent", UNKNOWN, f"{nothing}, and the log does not reach back to the boot to say why")
        return reason("nic_absent", FAULT, f"{nothing} and the log of this boot does not say why")
    if planned:
        text = f"The plan has a cable to {port.peer} in {port.name}, the NIC saw none and powered down"
        return reason("cable_missing", FAULT, text, texts(unplugged))
    return reason(
        "no_cable", NO_CABLE, f"{nothing}: no cable is in, so it powered down", texts([removal] if removal else [])
    )


def no_link(port: Port) -> Iterator[Reason]:
    """The function is there and has no carrier."""
    function = port.function
    if function is None or function.carrier is True:
        return
    planned = port.expected is not None
    shown = [f"{function.netdev}: carrier {function.raw.get('carrier')}, operstate {function.operstate}"]
    errors = port.events("module_error", "module_plugged")
    if function.admin_up is False:
        if planned:
            yield reason("admin_down", MISCONFIGURED, f"{function.netdev} is not set up", shown)
        elif port.plan_given:
            yield reason(
                "not_in_use", NO_CABLE, f"The plan does not use {port.name} and {function.netdev} is set down", shown
            )
        else:
            yield reason("admin_down", UNKNOWN, f"{function.netdev} is not set up, so a cable does not show", shown)
    elif function.carrier is None:
        yield reason("unreadable", UNKNOWN, f"The carrier of {port.name} cannot be read", shown)
    elif errors and errors[-1].kind == "module_error":
        yield reason("module_error", FAULT, f"The cable's module in {port.name} has an error", texts(errors[-1:]))
    elif port.twin is not None and port.twin.carrier is True:
        text = f"{function.netdev} has no link while its twin {port.twin.netdev} on the same cable has one"
        yield reason("twin_down", FAULT, text, shown)
    elif planned:
        removals = [e for e in port.events("hotplug_removal") if not signs.is_removal_at_boot(port.cx7, e)]
        pulled = signs.pulled(port.cx7, port.cx7.events, port.cage, port.root)
        if removals and pulled is not None:
            text = f"The cable to {port.peer} in {port.name} was pulled out while the node ran"
            yield reason("cable_missing", FAULT, text, [*shown, *texts([pulled])])
        elif removals:
            text = f"{port.name} has no link since the hot-plug driver removed the NIC while the node ran"
            yield reason("nic_dropped", NEEDS_REBOOT, text, [*shown, *texts(removals)])
        elif port.expected is not None and port.expected.peer_dropped:
            text = f"{port.name} has no link because the NIC of {port.peer} left the bus while that node ran"
            yield reason("peer_dropped", NEEDS_REBOOT, text, shown)
        else:
            text = f"The plan has a cable to {port.peer} in {port.name}, but there is no link"
            yield reason("cable_missing", FAULT, text, shown)
    else:
        yield reason("no_cable", NO_CABLE, f"No cable in {port.name}", shown)
