# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node that does what it is told: commands change its state as on a real one, files lie under a test's folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._node import change
from ansible_collections.switchless.spark.plugins.module_utils._node.ip import Link, Route
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Result

PORTS = ("enp1s0f0np0", "enp1s0f1np1")
LAN = "enP7s7"
UNIT = "switchless-fabric.service"
READS = ("ip -j", "nmcli -t", "networkctl list", "nft list", "systemctl is-enabled")


@dataclass
class FakeNode:
    """A runner. At first NetworkManager holds both ports, and one has an address. `applied`: as they are wanted."""

    root: Path
    links: dict[str, Link] = field(
        default_factory=lambda: {
            PORTS[0]: Link(PORTS[0], 1500, True, ("10.9.9.9/24",)),
            PORTS[1]: Link(PORTS[1], 1500, False, ()),
            LAN: Link(LAN, 1500, True, ("192.0.2.11/24",)),
        }
    )
    applied: dict[str, Link] = field(
        default_factory=lambda: {
            PORTS[0]: Link(PORTS[0], 9000, True, ("198.18.0.1/24",)),
            PORTS[1]: Link(PORTS[1], 9000, True, ()),
        }
    )
    routes: list[Route] = field(
        default_factory=lambda: [Route("0.0.0.0/0", "192.0.2.1", LAN), Route("10.8.0.0/16", "10.9.9.1", PORTS[0])]
    )
    managed: set[str] = field(default_factory=lambda: {*PORTS, LAN})
    enabled: set[str] = field(default_factory=set)
    loaded: bool = False
    kept: tuple[Route, ...] = ()  # routes that networkd leaves alone
    answers: dict[str, Result] = field(default_factory=dict)  # beginning of a command → what it gives instead
    asked: list[str] = field(default_factory=list)

    @property
    def relay(self) -> Path:
        """The relay's program."""
        return self.root / "lib" / "fabric-relay"

    @property
    def state(self) -> Path:
        """Where a pending change lies."""
        return self.root / "state"

    @property
    def netplan(self) -> Path:
        """Folder of netplan's files."""
        return self.root / "netplan"

    @property
    def changing(self) -> list[str]:
        """The commands that change something."""
        relay = f"{self.relay} check"
        return [line for line in self.asked if not line.startswith((*READS, relay))]

    def settled(self) -> FakeNode:
        """As after a change."""
        self.links |= self.applied
        self.routes = [Route("0.0.0.0/0", "192.0.2.1", LAN), Route("198.18.2.0/24", "198.18.0.2", PORTS[0])]
        self.managed, self.enabled, self.loaded = {LAN}, {UNIT, change.ROLLBACK_UNIT}, True
        return self

    def run(self, argv: Sequence[str], *, data: str | None = None) -> Result:
        """Answer a command and let it have its effect."""
        assert data is None
        line = " ".join(argv)
        self.asked.append(line)
        for beginning, result in self.answers.items():
            if line.startswith(beginning):
                return result
        return self.read(list(argv)) or self.change(list(argv))

    def read(self, argv: list[str]) -> Result | None:
        """Answer a question; None when it is none."""
        match argv:
            case ["ip", "-j", "address", "show"]:
                return Result(0, json.dumps([_link(link) for link in self.links.values()]))
            case ["ip", "-j", "-4", "route", "show"]:
                return Result(0, json.dumps([_route(route) for route in self.routes]))
            case ["nmcli", "-t", "-f", "DEVICE,STATE", "device"]:
                lines = [f"{name}:{'connected' if name in self.managed else 'unmanaged'}" for name in self.links]
                return Result(0, "\n".join(lines) + "\n")
            case ["networkctl", "list", "--no-legend", "--no-pager"]:
                return Result(0, f"  2 {LAN} ether routable configured\n  3 {PORTS[0]} ether off unmanaged\n\n")
            case ["systemctl", "is-enabled", "--quiet", unit]:
                return Result(0 if unit in self.enabled else 1)
            case ["nft", "list", "table", "inet", "switchless_fabric"]:
                return Result(0 if self.loaded else 1)
            case [program, "check"] if program == str(self.relay):
                return Result(0) if self.loaded else Result(1, "the relay rules were not loaded since boot\n")
        return None

    def change(self, argv: list[str]) -> Result:
        """Let a command have its effect."""
        match argv:
            case ["nmcli", "device", "set", netdev, "managed", "no"]:
                self.managed.discard(netdev)
            case ["networkctl", "reconfigure", netdev]:
                self.links[netdev] = self.applied[netdev]
                self.routes = self.settled_routes(netdev)
            case ["ip", "-4", "route", "delete", to, "via", via, "dev", netdev]:
                self.routes.remove(Route(to, via, netdev))
            case ["systemctl", "enable", "--quiet", *units]:
                self.enabled |= set(units)
            case ["systemctl", "start", unit] if unit == UNIT:
                self.loaded = True
            case ["systemctl" | "systemd-run" | "nmcli" | "netplan" | "networkctl", *_] | ["/usr/bin/python3", _, _]:
                pass
            case _:
                raise AssertionError(f"unexpected command {argv}")
        return Result(0)

    def settled_routes(self, netdev: str) -> list[Route]:
        """The routes after networkd has laid down a port anew."""
        kept = [route for route in self.routes if route.dev != netdev or route in self.kept]
        return [*kept, Route("198.18.2.0/24", "198.18.0.2", PORTS[0])] if netdev == PORTS[0] else kept

    def lose(self, netdev: str) -> None:
        """Let a port stay without its address whatever is done."""
        self.applied[netdev] = replace(self.applied[netdev], addresses=())


def _link(link: Link) -> dict[str, Any]:
    pairs = [address.split("/") for address in link.addresses]
    info = [{"family": "inet", "local": a, "prefixlen": int(length), "scope": "global"} for a, length in pairs]
    return {"ifname": link.name, "mtu": link.mtu, "flags": ["UP"] if link.up else [], "addr_info": info}


def _route(route: Route) -> dict[str, Any]:
    return {"dst": "default" if route.to == "0.0.0.0/0" else route.to, "gateway": route.via, "dev": route.dev}


def here(monkeypatch: pytest.MonkeyPatch, state: Path, backups: Path) -> None:
    """Let the functions of a change work in these folders; their defaults are those of a node."""
    for function in (change.pending, change.last_rollback, change.stage, change.commit, change.lock.__wrapped__):
        monkeypatch.setattr(function, "__defaults__", (state,))
    monkeypatch.setattr(change.keep_copy, "__defaults__", (backups,))
