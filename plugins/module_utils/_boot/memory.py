# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node remembers of its automatic reboots: for which reason, with which cabling, out of which boot.

B(Private) to the collection: it can change at any time.

An entry counts once its boot is over: one that was written and not followed by a reboot means nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

SCHEMA = 1
KEPT = 20  # entries, the latest
# One cause with several signs: before a measurement it is a line of the log, after it a figure.
SLOT_POWER_CAP = "slot_power_cap"
CAUSES = dict.fromkeys(("hotplug", "not_advertised", "plugged_late", "throttled"), SLOT_POWER_CAP)


class UnreadableError(ValueError):
    """The memory is there and is not what was written: it must not be taken for an empty one."""


@dataclass(frozen=True, slots=True)
class Plug:
    """What is plugged into one port: the peer in the plan, and the two NICs at the ends. Null is not known."""

    cage: str
    root: str
    peer: str | None = None
    mac: str | None = None
    far: str | None = None


@dataclass(frozen=True, slots=True)
class Reboot:
    """One automatic reboot."""

    time: str
    boot_id: str
    codes: tuple[str, ...]
    cabling: tuple[Plug, ...]
    wanted_by: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def _text(value: object) -> str | None:
    return str(value) if value not in (None, "") else None


def cabling(ports: Iterable[Mapping[str, Any]], functions: Iterable[Mapping[str, Any]]) -> tuple[Plug, ...]:
    """From the plan's ports of this node and what cx7_info shows. The names of devices do not matter."""
    shown = {(function.get("cage"), function.get("root")): function for function in functions}
    plugs = []
    for port in ports:
        function = shown.get((port.get("cage"), port.get("root"))) or {}
        peer = port.get("peer") or {}
        plugs.append(
            Plug(
                cage=str(port.get("cage")),
                root=str(port.get("root")),
                peer=f"{peer.get('host')}:{peer.get('cage')}" if peer else None,
                mac=_text(function.get("mac_permanent")) or _text(function.get("mac")),
                far=_text((function.get("lldp") or {}).get("port_id")),
            )
        )
    return tuple(sorted(plugs, key=lambda plug: (plug.cage, plug.root)))


def _agree(one: str | None, other: str | None) -> bool:
    """Not known fits anything: a neighbour that was not heard yet is no other neighbour."""
    return one is None or other is None or one == other


def same_cabling(one: Sequence[Plug], other: Sequence[Plug]) -> bool:
    """Whether the same cables join the same ports."""
    if [(plug.cage, plug.root) for plug in one] != [(plug.cage, plug.root) for plug in other]:
        return False
    return all(
        _agree(a.peer, b.peer) and _agree(a.mac, b.mac) and _agree(a.far, b.far)
        for a, b in zip(one, other, strict=True)
    )


def causes(codes: Iterable[str]) -> set[str]:
    """The causes behind the codes of cx7_health."""
    return {CAUSES.get(code, code) for code in codes}


def find(reboots: Iterable[Reboot], codes: Iterable[str], plugs: Sequence[Plug], boot_id: str) -> Reboot | None:
    """The latest reboot for one of these reasons with this cabling."""
    wanted = causes(codes)
    matching = [
        reboot
        for reboot in reboots
        if reboot.boot_id != boot_id and wanted & causes(reboot.codes) and same_cabling(reboot.cabling, plugs)
    ]
    return matching[-1] if matching else None


def add(reboots: Sequence[Reboot], reboot: Reboot) -> tuple[Reboot, ...]:
    """With one more. What was written in the same boot came to nothing."""
    return (*(other for other in reboots if other.boot_id != reboot.boot_id), reboot)[-KEPT:]


def load(text: str | None) -> tuple[Reboot, ...]:
    """The file's content. No file is no reboot."""
    if text is None:
        return ()
    try:
        document = json.loads(text)
        if document["schema"] != SCHEMA:
            raise UnreadableError(f"it has schema {document['schema']!r}, this version reads {SCHEMA}")
        return tuple(
            Reboot(
                time=str(item["time"]),
                boot_id=str(item["boot_id"]),
                codes=tuple(map(str, item["codes"])),
                cabling=tuple(Plug(**plug) for plug in item["cabling"]),
                wanted_by=tuple(map(str, item.get("wanted_by", ()))),
            )
            for item in document["reboots"]
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnreadableError(str(error) or type(error).__name__) from error


def dump(reboots: Iterable[Reboot]) -> str:
    """The file's content."""
    return json.dumps({"schema": SCHEMA, "reboots": [reboot.as_dict() for reboot in reboots]}, indent=1) + "\n"
