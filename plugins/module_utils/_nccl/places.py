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


@dataclass(frozen=True, slots=True)
class Place:
    """One end of a cable on one root; C(port) is C(host:cage), null for an address of the subnet that no end has."""

    cable: str
    root: str
    port: str | None

    @property
    def host(self) -> str | None:
        return self.port.rpartition(":")[0] if self.port else None

    def __str__(self) -> str:
        return f"{self.port or 'no end'} on cable {self.cable}, root {self.root}"


class Places:
    """Looks addresses up; without a plan it knows none."""

    def __init__(self, plan: Mapping[str, Any] | None) -> None:
        self._subnets: list[tuple[ipaddress.IPv4Network, Place, list[str]]] = []
        for cable in (plan or {}).get("cables", ()):
            ports = [f"{end['host']}:{end['cage']}" for end in cable["ends"]]
            for root, subnet in cable["subnets"].items():
                self._subnets.append((ipaddress.IPv4Network(subnet), Place(cable["name"], root, None), ports))

    def __bool__(self) -> bool:
        return bool(self._subnets)

    def find(self, address: str | None) -> Place | None:
        """The place of an IPv4 address, also of one that a GID has inside."""
        found = ipv4(address)
        if found is None:
            return None
        for subnet, place, ports in self._subnets:
            if found in subnet:
                # the first end of a cable has host number 1, the second 2, on both roots
                number = int(found) - int(subnet.network_address)
                return Place(place.cable, place.root, ports[number - 1] if 1 <= number <= len(ports) else None)
        return None


def ipv4(text: str | None) -> ipaddress.IPv4Address | None:
    """An IPv4 address, plain or as a GID writes it."""
    try:
        return ipaddress.IPv4Address((text or "").removeprefix(MAPPED))
    except ValueError:
        return None
