# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is at the other end of each cable, from C(lldpcli -f json0): the one format whose shape never changes."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Runner

from .model import Neighbour
from .sysfs import integer

_AGE = re.compile(r"(\d+) days?, (\d+):(\d+):(\d+)")


def argv(netdevs: Iterable[str]) -> tuple[str, ...]:
    return ("lldpcli", "-f", "json0", "show", "neighbors", "ports", ",".join(netdevs))


def _items(value: object, key: str) -> list[Mapping[str, Any]]:
    """The list of mappings below a key; empty for any other shape."""
    inner = value.get(key) if isinstance(value, Mapping) else None
    return [item for item in inner if isinstance(item, Mapping)] if isinstance(inner, Sequence) else []


def _value(value: object, key: str) -> str | None:
    for item in _items(value, key):
        if "value" in item:
            return str(item["value"])
    return None


def age_seconds(text: object) -> float:
    """C(0 day, 00:01:05) → 65: how long ago lldpd first heard of a neighbour. Very old when it does not say."""
    match = _AGE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return sys.float_info.max
    days, hours, minutes, seconds = (int(part) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def parse(text: str) -> dict[str, Neighbour]:
    """Local netdev → neighbour. Something that is no JSON of lldpcli raises ValueError."""
    document = json.loads(text)
    found: dict[str, Neighbour] = {}
    youngest: dict[str, float] = {}
    for block in _items(document, "lldp"):
        for interface in _items(block, "interface"):
            name = interface.get("name")
            age = age_seconds(interface.get("age"))
            chassis = (_items(interface, "chassis") or [{}])[0]
            port = (_items(interface, "port") or [{}])[0]
            if not isinstance(name, str) or age >= youngest.get(name, math.inf):
                continue  # a cable that was moved leaves its old neighbour behind until it expires
            youngest[name] = age
            found[name] = Neighbour(
                chassis_name=_value(chassis, "name"),
                chassis_id=_value(chassis, "id"),
                port_id=_value(port, "id"),
                port_description=_value(port, "descr"),
                ttl_seconds=integer(_value(port, "ttl") or _value(interface, "ttl")),
            )
    return found


def read(runner: Runner, netdevs: Sequence[str], warnings: list[str]) -> Mapping[str, Neighbour] | None:
    """None when there is no lldpd to ask."""
    result = runner.run(argv(netdevs))
    if result.rc != 0:
        return None
    try:
        return parse(result.stdout)
    except ValueError as error:
        warnings.append(f"lldpcli answered something that is not JSON ({error}): {result.stdout[:200]!r}")
        return None
