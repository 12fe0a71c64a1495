# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What ``ip -j`` says of a node's links and routes, as values."""

from __future__ import annotations

import ipaddress
import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Link:
    """One network device; ``addresses`` are its global IPv4 addresses with their prefix, as ``192.0.2.1/24``."""

    name: str
    mtu: int
    up: bool
    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Route:
    """An IPv4 route of the main table: ``to`` as prefix (``0.0.0.0/0``: the default), ``via`` None when on the link."""

    to: str
    via: str | None
    dev: str


def _prefix(text: str) -> str:
    """Give a destination as ``ip`` prints it (``default``, an address or a prefix) in prefix notation."""
    return str(ipaddress.ip_network("0.0.0.0/0" if text == "default" else text, strict=False))


def parse_links(text: str) -> dict[str, Link]:
    """Parse ``ip -j address show``; the key is the name of the device."""
    links = {}
    for entry in json.loads(text or "[]"):
        if not entry:  # iproute2 prints {} for what a filter left out
            continue
        addresses = tuple(
            f"{info['local']}/{info['prefixlen']}"
            for info in entry.get("addr_info", [])
            if info.get("family") == "inet" and info.get("scope") == "global"
        )
        links[entry["ifname"]] = Link(entry["ifname"], entry["mtu"], "UP" in entry["flags"], addresses)
    return links


def parse_routes(text: str) -> tuple[Route, ...]:
    """Parse ``ip -j -4 route show``; each hop of a route with several is a route.

    Routes without a device (unreachable, blackhole) lead nowhere and are left out.
    """
    return tuple(
        Route(_prefix(entry["dst"]), hop.get("gateway"), hop["dev"])
        for entry in json.loads(text or "[]")
        for hop in entry.get("nexthops", [entry])
        if "dev" in hop
    )
