# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cables: what is plugged into what, and the patch panel that makes it so.

Every port of a node is one end of a veth pair whose other end, its jack, lies in the lab's wire namespace. Two jacks
are joined by tc, both ways and for all ethertypes, so LLDP passes and the node's own configuration shows nothing of it.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lab import faults, netns
from lab.common import LabError, locked, read_json, run, write_atomic
from lab.hardware import FUNCTIONS, MTU_MAX, Identity
from lab.wiring import Cable, End

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab.site import Site

RATE = re.compile(r"(\d+(?:\.\d+)?)(k|m|g)?bit")
ATTEMPTS = 5
UNITS = {"k": 1e3, "m": 1e6, "g": 1e9, None: 1.0}


@dataclass
class Patch:
    """The present state of one cable. A limit is the rate towards its near and its far end, apart."""

    number: int
    near: End
    far: End
    plugged: bool = True
    limits: list[str | None] = field(default_factory=lambda: [None, None])

    @property
    def cable(self) -> Cable:
        return Cable(self.near, self.far)

    def to_json(self) -> dict[str, Any]:
        return {"near": str(self.near), "far": str(self.far), "plugged": self.plugged, "limits": self.limits}

    @classmethod
    def from_json(cls, number: int, data: dict[str, Any]) -> Patch:
        near, far = (End(*data[key].split(":")) for key in ("near", "far"))
        return cls(number, near, far, bool(data["plugged"]), list(data["limits"]))


def parse_rate(text: str) -> float:
    """Bits per second of a rate as tc writes it: 13gbit, 500mbit."""
    found = RATE.fullmatch(text)
    if not found or float(found[1]) == 0:
        raise LabError(f"{text!r} is not a rate; write for example 13gbit or 500mbit")
    return float(found[1]) * UNITS[found[2]]


def burst(rate: float) -> int:
    """Bucket of a limit in bytes: two milliseconds, no less than two of the largest segments, no more than 8 MB."""
    return int(min(max(rate / 8 * 0.002, 131072), 8 << 20))


def jack(site: Site, end: End, root: str) -> str:
    return f"n{site.wiring.nodes.index(end.node)}{end.cage}{root}"


def jack_pairs(site: Site, patch: Patch) -> list[tuple[str, str]]:
    """The jacks of a cable, one pair for each PCIe root."""
    return [(jack(site, patch.near, root), jack(site, patch.far, root)) for root in ("A", "B")]


def load(site: Site) -> list[Patch]:
    data = read_json(site.cables_file)
    if not isinstance(data, list):
        return [Patch(number, cable.near, cable.far) for number, cable in enumerate(site.wiring.cables, 1)]
    return [Patch.from_json(number, entry) for number, entry in enumerate(data, 1)]


@contextmanager
def changing(site: Site) -> Iterator[list[Patch]]:
    """Change the state of cables: alone, and written when done."""
    with locked(site.run / "cables.lock"):
        patches = load(site)
        yield patches
        save(site, patches)


def save(site: Site, patches: list[Patch]) -> None:
    write_atomic(site.cables_file, json.dumps([patch.to_json() for patch in patches], indent=1) + "\n")


def pick(patches: list[Patch], text: str) -> Patch:
    if not text.isdecimal() or not 1 <= int(text) <= len(patches):
        listed = "; ".join(f"{patch.number}: {patch.cable}" for patch in patches) or "none"
        raise LabError(f"there is no cable {text!r}; cables are {listed}")
    return patches[int(text) - 1]


def make_ports(site: Site, node: str) -> None:
    """New ports for a node, down and without any memory, as a reset ConnectX-7 has; then its cables joined again."""
    number = site.wiring.nodes.index(node)
    identity = Identity(site.name, node)
    with locked(site.run / "cables.lock"):
        jacks = [f"n{number}{function.cage}{function.root}" for function in FUNCTIONS]
        for name in jacks:  # one may go by itself at this moment, with the old namespace that its other end is in
            run(["ip", "-n", site.wire, "link", "delete", name], check=False)
        absent = faults.absent(faults.load(site, node))
        add = [
            f"link add {name} mtu {MTU_MAX} type veth"
            f" peer name {function.netdev} netns {site.netns(node)} address {identity.mac(index)}"
            for index, (name, function) in enumerate(zip(jacks, FUNCTIONS, strict=True))
            if function.netdev not in absent
        ]
        netns.batch(site.wire, add)
        apply(site, [patch for patch in load(site) if node in (patch.near.node, patch.far.node)])


def apply(site: Site, patches: list[Patch]) -> None:
    """Join the jacks of cables and set their limits. A jack that is not there yet is joined when it comes."""
    for attempt in range(ATTEMPTS):
        commands = _commands(site, patches)
        if not commands:
            return
        try:
            run(["ip", "netns", "exec", site.wire, "tc", "-batch", "-"], text="\n".join(commands) + "\n")
        except LabError:  # a node that goes down took a jack with it in between
            if attempt == ATTEMPTS - 1:
                raise
        else:
            return


def _commands(site: Site, patches: list[Patch]) -> list[str]:
    """What tc has to do for the jacks that are there now."""
    links = netns.Links(site.wire)
    present = links.list()
    links.close()
    commands: list[str] = []
    for patch in patches:
        for near, far in jack_pairs(site, patch):
            if near in present and far in present:
                commands += _join(near, far) + _join(far, near)
        for name, rate in limits(site, patch).items():
            if name in present:
                commands += _limit(name, rate)
    return commands


def limits(site: Site, patch: Patch) -> dict[str, str | None]:
    """The rate towards each end of a cable, by jack: the slowest of the cable's own and those of faults."""
    caps = {end: faults.caps(faults.load(site, end.node)) for end in patch.cable.ends}
    found: dict[str, str | None] = {}
    for here, there, own in ((patch.near, patch.far, patch.limits[0]), (patch.far, patch.near, patch.limits[1])):
        for root in ("A", "B"):
            capped = (here.cage, root, "in") in caps[here] or (there.cage, root, "out") in caps[there]
            rates = [rate for rate in (own, faults.CAP if capped else None) if rate is not None]
            found[jack(site, here, root)] = min(rates, key=parse_rate, default=None)
    return found


def _join(here: str, there: str) -> list[str]:
    match = "protocol all pref 1 handle 800::800 u32 match u32 0 0"
    return [
        f"qdisc replace dev {here} clsact",
        f"filter replace dev {here} ingress {match} action mirred egress redirect dev {there}",
    ]


def _limit(name: str, rate: str | None) -> list[str]:
    if rate is None:
        return [f"qdisc replace dev {name} root pfifo limit 1000"]
    return [f"qdisc replace dev {name} root tbf rate {rate} burst {burst(parse_rate(rate))} latency 20ms"]
