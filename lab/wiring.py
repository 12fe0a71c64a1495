# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The wiring file: which nodes there are and which cages the cables join."""

from __future__ import annotations

import ipaddress
import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lab.common import LabError
from lab.hardware import CAGES

NAME = re.compile(r"[a-z][a-z0-9-]{0,15}")
NODE = re.compile(r"[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?")
KEYS = {"name", "nodes", "management", "cables"}
FIRST_HOST = 11
DEFAULT = Path(__file__).parent / "wiring" / "ring4.toml"


class WiringError(LabError):
    """The wiring file says something that cannot be."""


@dataclass(frozen=True, order=True)
class End:
    """One end of a cable."""

    node: str
    cage: str

    def __str__(self) -> str:
        return f"{self.node}:{self.cage}"


@dataclass(frozen=True)
class Cable:
    """A cable between two cages."""

    near: End
    far: End

    def __str__(self) -> str:
        return f"{self.near} - {self.far}"

    @property
    def ends(self) -> tuple[End, End]:
        return self.near, self.far


@dataclass(frozen=True)
class Wiring:
    """A checked wiring file."""

    name: str
    nodes: tuple[str, ...]
    management: ipaddress.IPv4Network
    cables: tuple[Cable, ...]

    @property
    def controller(self) -> str:
        return str(self.management.network_address + 1)

    def address(self, node: str) -> str:
        return str(self.management.network_address + FIRST_HOST + self.nodes.index(node))

    def named(self, name: str) -> Wiring:
        check_name(name, "--name")
        return replace(self, name=name)

    def node(self, name: str) -> str:
        if name not in self.nodes:
            raise LabError(f"lab {self.name} has no node {name!r}; it has {', '.join(self.nodes)}")
        return name

    def dump(self) -> str:
        """The file again, in one form whatever the user's looked like."""
        nodes = ", ".join(f'"{node}"' for node in self.nodes)
        cables = "".join(f'  ["{cable.near}", "{cable.far}"],\n' for cable in self.cables)
        return f'name = "{self.name}"\nnodes = [{nodes}]\nmanagement = "{self.management}"\ncables = [\n{cables}]\n'


def check_name(name: str, source: str) -> None:
    if not NAME.fullmatch(name):
        raise WiringError(
            f"{source}: {name!r} cannot be a lab's name: up to 16 of a-z, 0-9 and '-', beginning with a letter"
        )


def load_wiring(path: Path) -> Wiring:
    try:
        text = path.read_text()
    except OSError as error:
        raise WiringError(f"cannot read the wiring file {path}: {error.strerror}") from error
    return parse_wiring(text, str(path))


def parse_wiring(text: str, source: str) -> Wiring:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise WiringError(f"{source}: not TOML: {error}") from error
    if missing := KEYS - {"cables"} - data.keys():
        raise WiringError(f"{source}: missing: {', '.join(sorted(missing))}")
    if unknown := data.keys() - KEYS:
        raise WiringError(f"{source}: unknown key: {', '.join(sorted(unknown))}; known: {', '.join(sorted(KEYS))}")
    check_name(str(data["name"]), f"{source}: name")
    nodes = _nodes(data["nodes"], source)
    management = _management(data["management"], len(nodes), source)
    return Wiring(str(data["name"]), nodes, management, _cables(data.get("cables", []), nodes, source))


def _nodes(value: Any, source: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(node, str) for node in value):
        raise WiringError(f"{source}: nodes must be a list of one or more names")
    for node in value:
        if not NODE.fullmatch(node):
            raise WiringError(f"{source}: {node!r} cannot be a node's name: a-z, 0-9 and '-' make a host name")
        if value.count(node) > 1:
            raise WiringError(f"{source}: node {node} is named twice")
    return tuple(value)


def _management(value: Any, nodes: int, source: str) -> ipaddress.IPv4Network:
    try:
        network = ipaddress.IPv4Network(str(value))
    except ValueError as error:
        raise WiringError(f"{source}: management must be an IPv4 network such as 10.77.0.0/24: {error}") from error
    if network.num_addresses < FIRST_HOST + nodes + 1:
        raise WiringError(f"{source}: management network {network} is too small for {nodes} nodes")
    return network


def _cables(value: Any, nodes: tuple[str, ...], source: str) -> tuple[Cable, ...]:
    if not isinstance(value, list):
        raise WiringError(f'{source}: cables must be a list of pairs such as ["spark1:p1", "spark2:p1"]')
    cables: list[Cable] = []
    used: dict[End, int] = {}
    for number, pair in enumerate(value, 1):
        if not isinstance(pair, list) or len(pair) != 2:
            raise WiringError(f'{source}: cable {number} must be a pair of ends such as ["spark1:p1", "spark2:p1"]')
        near, far = (_end(text, nodes, f"{source}: cable {number}") for text in pair)
        if near.node == far.node:
            raise WiringError(f"{source}: cable {number} joins {near.node} to itself")
        for end in (near, far):
            if end in used:
                raise WiringError(f"{source}: {end} is used twice, by cable {used[end]} and cable {number}")
            used[end] = number
        cables.append(Cable(near, far))
    return tuple(cables)


def _end(text: Any, nodes: tuple[str, ...], source: str) -> End:
    node, _, cage = str(text).partition(":")
    if node not in nodes:
        raise WiringError(f"{source}: {text!r} names an unknown node; nodes are {', '.join(nodes)}")
    if cage not in CAGES:
        raise WiringError(f"{source}: {text!r} does not name a cage; write {node}:p0 or {node}:p1")
    return End(node, cage)
