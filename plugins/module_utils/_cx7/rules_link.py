# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules for a port with a link: its rate, its RDMA device, its PCIe link, its losses, and what the plan configured."""

from __future__ import annotations

from collections.abc import Iterator

from .model import Function
from .thresholds import (
    FLAP_DOWNS,
    FLAP_DOWNS_PER_DAY,
    LINK_COLLAPSED_GBPS,
    LINK_GBPS,
    PCIE_SPEED_GTS,
    PCIE_WIDTH,
    SECONDS_PER_DAY,
)
from .verdicts import (
    FAULT,
    MISCONFIGURED,
    NEEDS_REBOOT,
    UNKNOWN,
    Port,
    Reason,
    reason,
    texts,
)


def link_rate(port: Port) -> Iterator[Reason]:
    function = port.function
    if function is None or not port.linked:
        return
    wanted = port.expected.minimum_rate_gbps if port.expected is not None else LINK_GBPS
    rates = [rate for rate in (function.ib_rate_gbps, (function.speed_mbps or 0) / 1000 or None) if rate is not None]
    rate = min(rates, default=wanted)
    if rate >= wanted:
        return
    shown = [
        f"{function.netdev}: speed {function.raw.get('speed')}",
        f"{function.rdma}: rate {function.raw.get('ib_rate')}",
    ]
    if rate < LINK_COLLAPSED_GBPS:
        text = f"The link of {port.name} came up at {rate:g} Gb/s instead of {wanted:g}"
        yield reason("link_rate_collapsed", NEEDS_REBOOT, text, shown)
    else:
        text = f"The link of {port.name} runs at {rate:g} Gb/s, wanted are {wanted:g}: the cable does not carry more"
        yield reason("link_rate_low", MISCONFIGURED, text, shown)


def rdma(port: Port) -> Iterator[Reason]:
    function = port.function
    if function is None or not port.linked:
        return
    if function.rdma is None:
        yield reason("rdma_missing", MISCONFIGURED, f"{function.netdev} has no RDMA device")
        return
    states = (function.ib_state, function.ib_phys_state)
    shown = [f"{function.rdma}: state {function.raw.get('ib_state')}, phys_state {function.raw.get('ib_phys_state')}"]
    if None not in states and states != ("ACTIVE", "LinkUp"):
        text = f"{function.netdev} has a link, its RDMA device {function.rdma} says {states[0]}, {states[1]}"
        yield reason("rdma_down", FAULT, text, shown)
    if function.link_layer not in (None, "Ethernet"):
        text = f"{function.rdma} is set to {function.link_layer}, not to Ethernet"
        yield reason("link_layer", MISCONFIGURED, text)


def flaps(port: Port) -> Iterator[Reason]:
    function = port.function
    downs = losses(function)
    if function is None or not port.linked or downs is None or downs < FLAP_DOWNS:
        return
    days = max(1.0, (port.cx7.uptime_seconds or 0.0) / SECONDS_PER_DAY)
    if downs / days >= FLAP_DOWNS_PER_DAY:
        text = f"The link of {port.name} was lost {downs} times since boot; a healthy link shows 0"
        yield reason("link_flaps", FAULT, text, texts(reversed(port.events("link_down"))))


def losses(function: Function | None) -> int | None:
    """How often the carrier went."""
    return function.carrier_down_count if function is not None else None


def pcie(port: Port) -> Iterator[Reason]:
    """The width counts at all times; without a link the speed may be that of a port at rest."""
    function = port.function
    if function is None:
        return
    raw = function.raw
    shown = [f"{function.pci}: {raw.get('current_link_speed')}, width {raw.get('current_link_width')}"]
    if function.pcie_width is not None and function.pcie_width < PCIE_WIDTH:
        text = f"{function.pci} has {function.pcie_width} PCIe lanes instead of {PCIE_WIDTH}"
        yield reason("pcie_width", FAULT, text, shown)
    if port.linked and function.pcie_speed_gts is not None and function.pcie_speed_gts < PCIE_SPEED_GTS:
        text = f"{function.pci} runs at {function.pcie_speed_gts:g} GT/s instead of {PCIE_SPEED_GTS:g}"
        yield reason("pcie_speed", FAULT, text, shown)


def unreadable(port: Port) -> Iterator[Reason]:
    """On a port with a link everything that the other rules look at has to be readable."""
    function = port.function
    if function is None or not port.linked:
        return
    needed: dict[str, object] = {
        "speed": function.speed_mbps,
        "PCIe speed": function.pcie_speed_gts,
        "PCIe width": function.pcie_width,
        "number of link losses": losses(function),
    }
    if function.rdma is not None:
        needed |= {
            "RDMA state": function.ib_state,
            "RDMA physical state": function.ib_phys_state,
            "RDMA rate": function.ib_rate_gbps,
            "link layer": function.link_layer,
        }
    missing = [name for name, value in needed.items() if value is None]
    if missing:
        yield reason("unreadable", UNKNOWN, f"Not readable on {port.name}: {', '.join(missing)}")


def configuration(port: Port) -> Iterator[Reason]:
    function, expected = port.function, port.expected
    if function is None or expected is None:
        return
    if expected.mtu is not None and function.mtu != expected.mtu:
        verdict = UNKNOWN if function.mtu is None else MISCONFIGURED
        yield reason("mtu", verdict, f"{function.netdev} has MTU {function.mtu}, the plan wants {expected.mtu}")
    if expected.unmanaged and port.cx7.networkmanager_running and function.networkmanager != "unmanaged":
        verdict = UNKNOWN if function.networkmanager is None else MISCONFIGURED
        text = f"NetworkManager holds {function.netdev} (state {function.networkmanager})"
        yield reason("networkmanager", verdict, text)
