# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who else defines a port in netplan: found with file and line, and cut out without touching the rest of the file."""

from __future__ import annotations

import fnmatch
import typing as t
from dataclasses import dataclass

try:
    import yaml
except ImportError:  # netplan.io itself needs PyYAML, so a node that has netplan has this
    yaml = None  # type: ignore[assignment]

DEVICES = ("ethernets", "nm-devices")
MEMBERS = {"bonds": "interfaces", "bridges": "interfaces", "vlans": "link"}


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


def _matches(identifier: str, body: t.Any, port: Port) -> bool:
    match = body.get("match") if isinstance(body, dict) else None
    if not isinstance(match, dict):
        return identifier == port.netdev
    drivers = match.get("driver", [])
    tests = [
        fnmatch.fnmatchcase(port.netdev, str(match.get("name", "*"))),
        not drivers
        or any(fnmatch.fnmatchcase(port.driver, str(d)) for d in (drivers if isinstance(drivers, list) else [drivers])),
        str(match.get("macaddress", port.mac)).lower() == port.mac.lower(),
    ]
    return bool(match) and all(tests)


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


def definitions(path: str, text: str, ports: t.Sequence[Port], others: t.Sequence[Port]) -> tuple[Definition, ...]:
    """Find every definition in ``text`` that concerns one of ``ports``; ``others`` are the node's other devices.

    :raises NetplanSyntaxError: when the text is not YAML
    """
    try:
        root, values = yaml.compose(text, Loader=yaml.SafeLoader), yaml.safe_load(text)
    except yaml.YAMLError as exc:
        raise NetplanSyntaxError(f"{path} is not valid YAML: {exc}") from exc
    lines = text.splitlines()
    sections = [
        (key.value, section)
        for top_key, top in _entries(root)
        if top_key.value == "network"
        for key, section in _entries(top)
    ]
    found = []
    for name, section in sections:
        for key, node in _entries(section):
            body = values["network"][name].get(key.value) or {}
            if name in DEVICES:
                hit = tuple(port.netdev for port in ports if _matches(str(key.value), body, port))
                also = [port.netdev for port in others if _matches(str(key.value), body, port)]
                shared = f"it also defines {', '.join(also)}" if also else ""
            elif name in MEMBERS:
                members = body.get(MEMBERS[name], [])
                hit = tuple(port.netdev for port in ports if port.netdev in members)
                shared = f"the port is part of one of the {name}"
            else:
                continue
            if section.flow_style:
                shared = shared or "it is written in flow style on one line"
            if hit:
                line = key.start_mark.line + 1
                found.append(Definition(path, line, _end(node, text, lines), str(key.value), hit, shared))
    return tuple(found)


def without(text: str, found: t.Sequence[Definition]) -> str | None:
    """Cut the definitions out of the text of their file; None when it then defines nothing and the file should go.

    Whole lines are cut, so that comments and everything else stay as they were.
    """
    gone = {number for entry in found for number in range(entry.line, entry.end)}
    kept = [line for number, line in enumerate(text.splitlines(keepends=True), 1) if number not in gone]
    network = (yaml.safe_load("".join(kept)) or {}).get("network") or {}
    empty = {section for section in DEVICES if section in network and not network[section]}
    if not set(network) - empty - {"version", "renderer"}:
        return None
    return "".join(line for line in kept if line.split("#")[0].strip().rstrip(":").strip() not in empty)
