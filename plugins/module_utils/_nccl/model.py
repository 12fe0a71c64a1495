# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""NCCL's view of a node: its devices by number, the channels over them, and what is wrong with either."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError, shown
from ansible_collections.switchless.spark.plugins.module_utils._fabric.plain import plain

RING = 4
"""NCCL's number for the pattern ring."""

RING_ID = 0
"""NCCL's number for the graph of the ring algorithm; 1 is the tree's, the others belong to in-network collectives."""


@dataclass(frozen=True, slots=True)
class Device:
    """A port of the plan as NCCL numbers it: `device` is its RDMA device, or its netdev where NCCL uses sockets.

    `towards` is previous, next or both, and on a switch whatever the plan says.
    """

    index: int
    device: str
    netdev: str
    pci: str
    cage: str
    root: str
    cable: int
    towards: str

    def faces(self, neighbour: str) -> bool:
        """Whether the cable leads to `previous` or `next`."""
        return self.towards in (neighbour, "both")

    def __str__(self) -> str:
        return f"device {self.index} ({self.device}, cage {self.cage}, root {self.root}, cable {self.cable})"


@dataclass(frozen=True, slots=True)
class Channel:
    """One channel of a node with one GPU: the device it receives on, the GPU, the device it sends on.

    `rank` is there only in what NCCL dumps.
    """

    receive: int
    gpu: int
    send: int
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph as NCCL reads it. `nchannels` is what it says of itself, `channels` is what it has."""

    id: int
    pattern: int
    crossnic: int
    nchannels: int
    speedintra: float
    speedinter: float
    latencyinter: float
    typeintra: str
    typeinter: str
    samechannels: int
    channels: tuple[Channel, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong with a graph: what was seen, what was expected, what to do.

    With `severity` error NCCL fails, goes to a node that is not there or leaves a PCIe root idle; a warning costs some
    bandwidth. `channel` and `rank` are null where the finding is about none in particular.
    """

    code: str
    severity: str
    text: str
    channel: int | None = None
    rank: int | None = None


def device_to_dict(device: Device) -> dict[str, object]:
    """A device as plain data."""
    return {
        "index": device.index,
        "device": device.device,
        "netdev": device.netdev,
        "pci": device.pci,
        "cage": device.cage,
        "root": device.root,
        "cable": device.cable,
        "towards": device.towards,
    }


def devices_from(raw: object) -> tuple[Device, ...]:
    """The devices that `device_to_dict` gave, in NCCL's order. Raises FabricError if they are anything else."""
    value = plain(raw)
    if isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(item, Mapping) for item in value):
        try:
            found = tuple(Device(**item) for item in value)
        except TypeError:
            found = ()
        if found and [device.index for device in found] == list(range(len(found))):
            return found
    raise FabricError(f"devices is {shown(value)}: expected the list devices of the filter nccl_settings")
