# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who else defines a port in netplan: found with file and line, and cut out without touching the rest of the file."""

from __future__ import annotations

import fnmatch
import typing as t
from dataclasses import dataclass, replace

try:
    import yaml
except ImportError:  # netplan.io itself needs PyYAML, so a node that has netplan has this
    yaml = None  # type: ignore[assignment]

DEVICES = ("ethernets", "nm-devices")
SETTINGS = ("version", "renderer", "openvswitch")  # what a network has beside its definitions
UNCLEAN = "cutting it out would change another definition"


@dataclass(frozen=True, slots=True)
class Port:
    """What a netplan definition can match of a network device."""

    netdev: str
    mac: str
    driver: str = ""


@dataclass(frozen=True, slots=True)
class Definition:
    """One definition that concerns a port; ``line`` counts from 1, ``end`` is the first line after it.

    ``shared`` says why it cannot be cut out without taking something else away (empty when it can).
    """

    path: str
    line: int
    end: int
    identifier: str
    netdevs: tuple[str, ...]
    shared: str = ""

    def __str__(self) -> str:
        return f"{self.path}:{self.line} defines {', '.join(self.netdevs)} (as {self.identifier})"


class NetplanSyntaxError(ValueError):
    """A netplan file that is not YAML; the text names the file and the line."""


def _matches(identifier: str, body: dict[str, t.Any], port: Port, renderer: str) -> bool:
    match = body.get("match")
    if not isinstance(match, dict):
        return identifier == port.netdev
    if not match:  # every device; NetworkManager's general profiles have this, and it lets go of the fabric's ports
        return renderer != "NetworkManager"
    drivers = match.get("driver", [])
    tests = [
        fnmatch.fnmatchcase(port.netdev, str(match.get("name", "*"))) or body.get("set-name") == port.netdev,
        not drivers
        or any(fnmatch.fnmatchcase(port.driver, str(d)) for d in (drivers if isinstance(drivers, list) else [drivers])),
        str(match.get("macaddress", port.mac)).lower() == port.mac.lower(),
    ]
    return all(tests)


def _entries(node: t.Any) -> list[tuple[t.Any, t.Any]]:
    return list(node.value) if isinstance(node, yaml.MappingNode) else []


def _end(node: t.Any, text: str, lines: list[str]) -> int:
    """First line after a node (from 1), without the blank lines and comments that lead to the next one.

    A block ends where the next token begins, a scalar or a flow collection on its own last line.
    """
    mark = node.end_mark
    block = isinstance(node, yaml.CollectionNode) and not node.flow_style and text[mark.index :].strip() != ""
    end: int = mark.line if block else min(mark.line + 1, len(lines))
    while end > node.start_mark.line + 1 and lines[end - 1].lstrip()[:1] in ("", "#"):
        end -= 1
    return end + 1


def _value(node: t.Any) -> dict[str, t.Any]:
    """A definition's content; empty when it is not a mapping."""
    value = yaml.constructor.SafeConstructor().construct_document(node)
    return value if isinstance(value, dict) else {}


def _members(body: dict[str, t.Any]) -> set[str]:
    """What a bond, bridge, VRF, VLAN or virtual function is built on."""
    interfaces = body.get("interfaces")
    return {str(name) for name in [*(interfaces if isinstance(interfaces, list) else []), body.get("link")] if name}


def _rest(text: str, identifier: str = "") -> dict[str, t.Any]:
    """All that a file says of the network, less one definition, the version, and device sections without any."""
    network = (yaml.safe_load(text) or {}).get("network") or {}
    rest = {
        section: {key: body for key, body in value.items() if str(key) != identifier}
        if isinstance(value, dict) and section not in SETTINGS
        else value
        for section, value in network.items()
        if section != "version"
    }
    return {section: value for section, value in rest.items() if value or section not in DEVICES}


def _cuts_cleanly(text: str, definition: Definition) -> bool:
    """Try it: an anchor that something else refers to, for one, would be missed."""
    try:
        return _rest(without(text, [definition]) or "") == _rest(text, definition.identifier)
    except yaml.YAMLError:
        return False


def definitions(path: str, text: str, ports: t.Sequence[Port], others: t.Sequence[Port]) -> tuple[Definition, ...]:
    """Find every definition in ``text`` that concerns one of ``ports``; ``others`` are the node's other devices.

    :raises NetplanSyntaxError: when the text is not YAML
    """
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        yaml.safe_load(text)
    except yaml.YAMLError as exc:
        raise NetplanSyntaxError(f"{path} is not valid YAML: {exc}") from exc
    lines = text.splitlines()
    network = {
        key.value: node for top, value in _entries(root) if top.value == "network" for key, node in _entries(value)
    }
    common = network["renderer"].value if "renderer" in network else ""
    called = {port.netdev: {port.netdev} for port in ports}  # the names by which this file refers to a port

    def concerned(name: str, identifier: str, body: dict[str, t.Any]) -> tuple[tuple[str, ...], str]:
        """The ports that a definition concerns, and what stands against cutting it out."""
        if name in DEVICES:
            renderer = "NetworkManager" if name == "nm-devices" else str(body.get("renderer", common))
            hit = tuple(port.netdev for port in ports if _matches(identifier, body, port, renderer))
            also = [port.netdev for port in others if _matches(identifier, body, port, renderer)]
            for netdev in hit:
                called[netdev].add(identifier)
            if hit:
                return hit, f"it also defines {', '.join(also)}" if also else ""
        members = _members(body)
        hit = tuple(port.netdev for port in ports if called[port.netdev] & members)
        return hit, f"the port is part of one of the {name}"

    found = []
    for name, section in sorted(network.items(), key=lambda item: item[0] not in DEVICES):
        for key, node in _entries(section) if name not in SETTINGS else ():
            hit, shared = concerned(name, str(key.value), _value(node))
            if section.flow_style:
                shared = shared or "it is written in flow style on one line"
            line = key.start_mark.line + 1
            definition = Definition(path, line, _end(node, text, lines), str(key.value), hit, shared)
            if hit and not shared and not _cuts_cleanly(text, definition):
                definition = replace(definition, shared=UNCLEAN)
            if hit:
                found.append(definition)
    return tuple(sorted(found, key=lambda definition: definition.line))


def without(text: str, found: t.Sequence[Definition]) -> str | None:
    """Cut the definitions out of the text of their file; None when it then says nothing and the file should go.

    Whole lines are cut, so that comments and everything else stay as they were. A ``renderer`` stays: it is that of
    all files.
    """
    gone = {number for entry in found for number in range(entry.line, entry.end)}
    kept = [line for number, line in enumerate(text.splitlines(keepends=True), 1) if number not in gone]
    network = [
        entry
        for top, node in _entries(yaml.compose("".join(kept), Loader=yaml.SafeLoader))
        if top.value == "network"
        for entry in _entries(node)
    ]
    empty = [(key, node) for key, node in network if key.value in DEVICES and not node.value]
    if not {key.value for key, _node in network} - {key.value for key, _node in empty} - {"version"}:
        return None
    heads = {number for key, node in empty for number in range(key.start_mark.line, node.end_mark.line + 1)}
    return "".join(line for number, line in enumerate(kept) if number not in heads)
