# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From plain data (what a module was given) back to values. Raises InputError with the path of what is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from .model import PORTS, SCHEMA, Cx7, Event, Function, Gid, Hotplug, Neighbour, RootPort, SlotPower, SlotPowerRegister
from .thresholds import LINK_GBPS

T = TypeVar("T")  # ansible-test's pylint does not take the syntax of Python 3.12
DIRECTIONS = ("out", "in")
METHODS = ("rdma", "tcp")


class InputError(ValueError):
    """What was given is not what it should be."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What the plan wants of one port."""

    cage: str
    root: str
    peer: str | None = None
    minimum_rate_gbps: float = LINK_GBPS
    mtu: int | None = None
    unmanaged: bool = False
    peer_dropped: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """One measurement of one port in one direction, seen from this node. No result is null, never 0."""

    cage: str
    root: str
    direction: str
    gbps: float | None
    method: str


def _mapping(data: object, where: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise InputError(f"{where} must be a dictionary, not {type(data).__name__}")
    return data


def _sequence(data: object, where: str) -> Sequence[Any]:
    if data is None:
        return ()
    if not isinstance(data, Sequence) or isinstance(data, str):
        raise InputError(f"{where} must be a list, not {type(data).__name__}")
    return data


def _record(cls: type[T], data: object, where: str, **converted: object) -> T:  # noqa: UP047
    """The known keys of a mapping; unknown ones are left out, so that a newer cx7_info can add some."""
    mapping = _mapping(data, where)
    known = {item.name for item in fields(cls)}  # type: ignore[arg-type]
    try:
        return cls(**({key: value for key, value in mapping.items() if key in known} | converted))
    except TypeError as error:
        raise InputError(f"{where} is not what cx7_info returns: {error}") from error


def _records(cls: type[T], data: object, where: str) -> tuple[T, ...]:  # noqa: UP047
    return tuple(_record(cls, item, f"{where}[{index}]") for index, item in enumerate(_sequence(data, where)))


def _function(data: object, where: str) -> Function:
    mapping = _mapping(data, where)
    neighbour = mapping.get("lldp")
    return _record(
        Function,
        mapping,
        where,
        gids=_records(Gid, mapping.get("gids"), f"{where}.gids"),
        lldp=None if neighbour is None else _record(Neighbour, neighbour, f"{where}.lldp"),
    )


def cx7(data: object) -> Cx7:
    """The key C(cx7) of what C(cx7_info) returned."""
    mapping = _mapping(data, "cx7")
    if mapping.get("schema") != SCHEMA:
        raise InputError(f"cx7.schema is {mapping.get('schema')!r}, this version of cx7_health reads {SCHEMA}")
    functions = _sequence(mapping.get("functions"), "cx7.functions")
    return _record(
        Cx7,
        mapping,
        "cx7",
        functions=tuple(_function(item, f"cx7.functions[{index}]") for index, item in enumerate(functions)),
        root_ports=_records(RootPort, mapping.get("root_ports"), "cx7.root_ports"),
        hotplug=_record(Hotplug, mapping.get("hotplug"), "cx7.hotplug"),
        events=_records(Event, mapping.get("events"), "cx7.events"),
        slot_power=_records(SlotPower, mapping.get("slot_power"), "cx7.slot_power"),
        slot_power_register=_records(SlotPowerRegister, mapping.get("slot_power_register"), "cx7.slot_power_register"),
        warnings=tuple(_sequence(mapping.get("warnings"), "cx7.warnings")),
    )


def _port(mapping: Mapping[str, Any], where: str) -> tuple[str, str]:
    cage, root = mapping.get("cage"), mapping.get("root")
    if (cage, root) not in PORTS:
        raise InputError(f"{where}: cage {cage!r}, root {root!r} is no port; a port is cage p0 or p1 with root A or B")
    return str(cage), str(root)


def _number(value: object, where: str) -> float:
    try:
        return float(str(value))
    except ValueError as error:
        raise InputError(f"{where} must be a number, not {value!r}") from error


def expected(data: object) -> dict[tuple[str, str], Expected]:
    """The plan's ports of this node. Other keys of the plan (address, subnet, …) are left out."""
    found: dict[tuple[str, str], Expected] = {}
    for index, item in enumerate(_sequence(data, "expect")):
        where = f"expect[{index}]"
        mapping = _mapping(item, where)
        port = _port(mapping, where)
        if port in found:
            raise InputError(f"{where}: cage {port[0]}, root {port[1]} is expected twice")
        peer = mapping.get("peer")
        mtu = mapping.get("mtu")
        found[port] = Expected(
            cage=port[0],
            root=port[1],
            peer=None if peer is None else f"{_mapping(peer, where + '.peer').get('host')}:{peer.get('cage')}",
            minimum_rate_gbps=_number(mapping.get("minimum_rate_gbps", LINK_GBPS), f"{where}.minimum_rate_gbps"),
            mtu=None if mtu is None else int(_number(mtu, f"{where}.mtu")),
            unmanaged=bool(mapping.get("unmanaged", False)),
            peer_dropped=bool(mapping.get("peer_dropped", False)),
        )
    return found


def bandwidth(data: object) -> dict[tuple[str, str, str], Measured]:
    """Measurements by (cage, root, direction): one of each, whatever the method, so that none can hide another."""
    found: dict[tuple[str, str, str], Measured] = {}
    for index, item in enumerate(_sequence(data, "bandwidth")):
        where = f"bandwidth[{index}]"
        mapping = _mapping(item, where)
        cage, root = _port(mapping, where)
        direction, method, gbps = mapping.get("direction"), mapping.get("method"), mapping.get("gbps")
        if direction not in DIRECTIONS:
            raise InputError(f"{where}: direction must be one of {', '.join(DIRECTIONS)}, not {direction!r}")
        if method not in METHODS:
            raise InputError(f"{where}: method must be one of {', '.join(METHODS)}, not {method!r}")
        key = (cage, root, direction)
        if key in found:
            raise InputError(f"{where}: {direction} of cage {cage}, root {root} is measured twice; give one result")
        value = None if gbps is None else _number(gbps, f"{where}.gbps")
        found[key] = Measured(cage=cage, root=root, direction=direction, gbps=value, method=method)
    return found
