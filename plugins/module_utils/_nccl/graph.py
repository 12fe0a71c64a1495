# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""The channel graph of a node, made from its devices and written as NCCL reads it."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError, shown
from ansible_collections.switchless.spark.plugins.module_utils._fabric.model import ROOTS
from ansible_collections.switchless.spark.plugins.module_utils._fabric.plain import plain

from .model import RING, RING_ID, Channel, Device, Graph

MOST_CHANNELS = 32

SPEED = 0.24
"""GB/s. With the types below what NCCL works out by itself on a Spark: they choose protocol and chunk size, and with
those the order in which numbers are added."""

TYPE_INTRA, TYPE_INTER = "LOC", "P2C"


def parse_channels(raw: object) -> int:
    """Read the number of channels. Digits as text are taken. Raises FabricError."""
    value = plain(raw)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 2:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_CHANNELS:
        raise FabricError(
            f"channels is {shown(value)}: expected an integer from 1 to {MOST_CHANNELS}; take an even one, which uses "
            "both PCIe roots alike"
        )
    return value


def generate(devices: Sequence[Device], channels: object) -> Graph:
    """Channels that receive from the previous rank and send to the next, on one PCIe root each, the roots by turns.

    Raises FabricError for a number of channels that NCCL cannot have, and for devices that do not face both
    neighbours on both roots.
    """
    count = parse_channels(channels)
    receive = [_facing(devices, "previous", root) for root in ROOTS]
    send = [_facing(devices, "next", root) for root in ROOTS]
    return Graph(
        id=RING_ID,
        pattern=RING,
        crossnic=1,
        nchannels=count,
        speedintra=SPEED,
        speedinter=SPEED,
        latencyinter=0,
        typeintra=TYPE_INTRA,
        typeinter=TYPE_INTER,
        samechannels=1,
        channels=tuple(Channel(receive[number % len(ROOTS)], 0, send[number % len(ROOTS)]) for number in range(count)),
    )


def _facing(devices: Sequence[Device], neighbour: str, root: str) -> int:
    found = [device.index for device in devices if device.root == root and device.faces(neighbour)]
    if len(found) != 1:
        raise FabricError(
            f"{len(found)} devices on PCIe root {root} face the {neighbour} rank: expected one; the devices are "
            f"{', '.join(map(str, devices)) or 'none'}: make them anew with the filter nccl_settings"
        )
    return found[0]


def render(graph: Graph) -> str:
    """The graph as the text of NCCL_GRAPH_FILE: one line, no prolog, device numbers in hexadecimal."""
    channels = "".join(
        f'<channel><net dev="{channel.receive:x}"/><gpu dev="{channel.gpu:x}"/><net dev="{channel.send:x}"/></channel>'
        for channel in graph.channels
    )
    return (
        f'<graphs version="1"><graph id="{graph.id}" pattern="{graph.pattern}" crossnic="{graph.crossnic}" '
        f'nchannels="{graph.nchannels}" speedintra="{graph.speedintra:g}" speedinter="{graph.speedinter:g}" '
        f'latencyinter="{graph.latencyinter:g}" typeintra="{graph.typeintra}" typeinter="{graph.typeinter}" '
        f'samechannels="{graph.samechannels}">{channels}</graph></graphs>'
    )
