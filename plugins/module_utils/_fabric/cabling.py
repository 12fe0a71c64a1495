# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Where each cable of a node really leads, by what the far port says of itself over LLDP."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .bind import bind
from .model import SWITCH
from .plain import plain

MARK = "switchless.spark"
DESCRIPTION = re.compile(rf"{re.escape(MARK)} (?P<host>\S+) (?P<cage>p[01]) (?P<root>[AB])")


def description(host: str, cage: str, root: str) -> str:
    """What a port announces as its LLDP port description; :data:`DESCRIPTION` reads it back."""
    return f"{MARK} {host} {cage} {root}"


def announcements(host: object, functions: object) -> list[dict[str, str]]:
    """The port description of every port of a node, with its netdev; of ports without a cable too: one may be there."""
    node: Mapping[str, Any] = plain(host)  # type: ignore[assignment]
    return [
        {"netdev": f["netdev"], "description": description(node["host"], f["cage"], f["root"])}
        for f in plain(functions)  # type: ignore[attr-defined]
        if f["netdev"]
    ]


def _leads_to(lldp: Mapping[str, Any] | None) -> tuple[str, str, str] | None:
    """Host, cage and root of the far port; None when it does not say."""
    match = DESCRIPTION.search((lldp or {}).get("port_description") or "")
    return (match["host"], match["cage"], match["root"]) if match else None


def cabling(host: object, functions: object) -> list[dict[str, Any]]:
    """Judge every planned port of a node; ``functions`` from cx7_info with LLDP.

    Each entry has ``port`` (host:cage root), ``cable``, ``verdict`` and ``text`` (empty when ok). Verdicts: ``ok``;
    ``unproven`` (link, but the
    far port does not announce itself, as before lldpd runs there); ``down`` (no link); ``wrong`` (the cable leads
    elsewhere). At a switch anything that announces itself is right, but another Spark.
    """
    node: Mapping[str, Any] = plain(host)  # type: ignore[assignment]
    shown = {(f["cage"], f["root"]): f for f in plain(functions)}  # type: ignore[attr-defined]
    found = []
    for port in bind(host, functions):
        here: Mapping[str, Any] = shown[port["cage"], port["root"]]
        judge = _at_the_switch if port["towards"] == SWITCH else _at_the_peer
        verdict, text = judge(node["host"], port, here)
        found.append(
            {
                "port": f"{node['host']}:{port['cage']} {port['root']}",
                "cable": port["cable"],
                "verdict": verdict,
                "text": text,
            }
        )
    return found


def _at_the_peer(host: str, port: Mapping[str, Any], here: Mapping[str, Any]) -> tuple[str, str]:
    """Verdict and text of a port whose cable leads to another node."""
    peer, root = port["peer"], port["root"]
    cable = f"cable {port['cable']} ({host}:{port['cage']} - {peer['host']}:{peer['cage']})"
    real = _leads_to(here.get("lldp"))
    if not here["carrier"]:
        return "down", f"{cable} has no link on root {root}: is it plugged at both ends, and is {peer['host']} on?"
    if real is None:
        return "unproven", f"{cable} has a link on root {root}, but {peer['host']} does not announce itself there"
    if real[:2] != (peer["host"], peer["cage"]):
        there = f"from {host}:{port['cage']} to {real[0]}:{real[1]}"
        return "wrong", f"{cable} really leads {there}: move that end, or write it so in fabric_cables"
    return "ok", ""


def _at_the_switch(host: str, port: Mapping[str, Any], here: Mapping[str, Any]) -> tuple[str, str]:
    """Verdict and text of a port whose cable leads to a switch."""
    cable, root = f"cable {port['cable']} ({host}:{port['cage']} - {SWITCH})", port["root"]
    real = _leads_to(here.get("lldp"))
    if not here["carrier"]:
        return "down", f"{cable} has no link on root {root}: is it plugged at both ends, and is the switch on?"
    if real is not None:
        cure = (
            "move that end to the switch, or write it so in fabric_cables. If it is at the switch, that one passes "
            "LLDP on, which no bridge may: let it take part in LLDP or in a spanning tree"
        )
        return "wrong", f"{cable} does not go to the switch, at its other end is {real[0]}:{real[1]}: {cure}"
    if not here.get("lldp"):
        return "unproven", f"{cable} has a link on root {root}, but no switch announces itself there"
    return "ok", ""
