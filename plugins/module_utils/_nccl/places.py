# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Which cable and PCIe root an address of a log belongs to, by the plan."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MAPPED = "::ffff:"
SWITCH = "switch"


@dataclass(frozen=True, slots=True)
class Place:
    """One end of a cable on one root; C(port) is C(host:cage), null for an address of the subnet that no end has."""

    cable: str
    root: str
    subnet: ipaddress.IPv4Network
    port: str | None

    def __str__(self) -> str:
        return f"{self.port or 'no end'} on cable {self.cable}, root {self.root}"


class Places:
    """Looks addresses up; without a plan it knows none."""

    def __init__(self, plan: Mapping[str, Any] | None) -> None:
        known = plan or {}
        ranks = {host: rank for rank, host in enumerate(known.get("order", ()))}
        self._places: dict[ipaddress.IPv4Address, Place] = {}
        self._subnets: list[Place] = []
        for cable in known.get("cables", ()):
            for root, text in cable["subnets"].items():
                subnet = ipaddress.IPv4Network(text)
                self._subnets.append(Place(cable["name"], root, subnet, None))
                # the first end of a cable has host number 1, the second 2; behind a switch it is the rank and 1
                for number, end in enumerate(cable["ends"]):
                    if end.get("cage"):
                        own = ranks.get(end["host"], number) if known.get("layout") == SWITCH else number
                        port = f"{end['host']}:{end['cage']}"
                        self._places[subnet.network_address + own + 1] = Place(cable["name"], root, subnet, port)

    def __bool__(self) -> bool:
        return bool(self._subnets)

    def of_host(self, host: str | None) -> dict[ipaddress.IPv4Address, Place]:
        """The ports of a host, by address."""
        return {
            address: place
            for address, place in self._places.items()
            if place.port is not None and place.port.rpartition(":")[0] == host
        }

    def find(self, address: str | None) -> Place | None:
        """The place of an IPv4 address, also of one that a GID has inside."""
        found = ipv4(address)
        if found is None:
            return None
        return self._places.get(found) or next((place for place in self._subnets if found in place.subnet), None)


def ipv4(text: str | None) -> ipaddress.IPv4Address | None:
    """An IPv4 address, plain or as a GID writes it."""
    try:
        return ipaddress.IPv4Address((text or "").removeprefix(MAPPED))
    except ValueError:
        return None
