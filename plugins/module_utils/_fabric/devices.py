# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""A node's part of the plan in terms of its network devices: what the templates and modules of the role fabric take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .bind import bind
from .model import SWITCH
from .plain import plain

LOOSE = "2"
"""rp_filter: an application that binds one address of a node may have its replies come in by the other cable."""


def devices(host: object, functions: object, mtu: int) -> dict[str, Any]:
    """Join the plan of one host with what its NIC shows. ``mtu`` in bytes.

    Gives ``ports`` (those of the plan with ``interface``, the address with its prefix; then those of cages without
    a cable, where
    ``interface`` is null), ``settings`` (of the same ports, as the module fabric_network takes them), ``routes``
    and ``forward`` with netdevs instead of cages, ``sysctl`` settings, and the ``pings`` and
    ``connections`` that prove the paths. Raises FabricError when the NIC lacks a planned port.
    """
    node: Mapping[str, Any] = plain(host)  # type: ignore[assignment]
    bound: list[dict[str, Any]] = [
        {**port, "interface": f"{port['address']}/{port['prefix_length']}"} for port in bind(host, functions)
    ]
    spare = [
        {**{key: function[key] for key in ("cage", "root", "netdev", "mac")}, "interface": None}
        for function in plain(functions)  # type: ignore[attr-defined]
        if function["cage"] in node["unused"] and function["netdev"]
    ]
    ports = [*bound, *spare]
    netdev = {(port["cage"], port["root"]): port["netdev"] for port in bound}
    forward = [
        {side: netdev[pair[side]["cage"], pair[side]["root"]] for side in ("in", "out")} for pair in node["relays"]
    ]
    # sysctl writes a dot within a name as a slash
    conf = [f"net.ipv4.conf.{port['netdev'].replace('.', '/')}" for port in ports]
    sysctl = {f"{key}.rp_filter": LOOSE for key in conf}
    # Behind a switch all ports hear every question for an address: only the one that has it may answer, as itself.
    if any(port["towards"] == SWITCH for port in bound):
        sysctl |= {f"{key}.arp_ignore": "1" for key in conf} | {f"{key}.arp_announce": "2" for key in conf}
    if forward:
        sysctl |= {f"{key}.forwarding": "1" for key in conf}
    return {
        "ports": ports,
        "settings": [
            {"netdev": port["netdev"], "mac": port["mac"] or "", "address": port["interface"], "mtu": mtu}
            for port in ports
        ],
        "routes": [
            {"to": route["to"], "via": route["via"], "netdev": netdev[route["cage"], route["root"]]}
            for route in node["routes"]
        ],
        "forward": forward,
        "sysctl": sysctl,
        "pings": [
            {
                "name": f"cable {port['cable']} root {port['root']} from {node['host']}:{port['cage']} to "
                f"{peer['host']}:{peer['cage']}",
                "source": port["address"],
                "target": peer["address"],
            }
            for port in bound
            for peer in port.get("peers") or [port["peer"]]
        ],
        "connections": [
            {"name": f"relay from {node['host']} to {far['host']}", "target": address}
            for far in node["far"]
            for address in far["addresses"]
        ],
    }
