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
    elsewhere).
    """
    node: Mapping[str, Any] = plain(host)  # type: ignore[assignment]
    shown = {(f["cage"], f["root"]): f for f in plain(functions)}  # type: ignore[attr-defined]
    found = []
    for port in bind(host, functions):
        here: Mapping[str, Any] = shown[port["cage"], port["root"]]
        peer: Mapping[str, Any] = port["peer"]  # type: ignore[assignment]
        cable = f"cable {port['cable']} ({node['host']}:{port['cage']} - {peer['host']}:{peer['cage']})"
        real = _leads_to(here.get("lldp"))
        if not here["carrier"]:
            verdict = "down"
            text = f"{cable} has no link on root {port['root']}: is it plugged at both ends, and is {peer['host']} on?"
        elif real is None:
            verdict, text = (
                "unproven",
                f"{cable} has a link on root {port['root']}, but {peer['host']} does not announce itself there",
            )
        elif real[:2] != (peer["host"], peer["cage"]):
            verdict = "wrong"
            text = (
                f"{cable} really leads from {node['host']}:{port['cage']} to {real[0]}:{real[1]}: move that end, or "
                "write it so in fabric_cables"
            )
        else:
            verdict, text = "ok", ""
        found.append(
            {
                "port": f"{node['host']}:{port['cage']} {port['root']}",
                "cable": port["cable"],
                "verdict": verdict,
                "text": text,
            }
        )
    return found
