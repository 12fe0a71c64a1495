# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""What NCCL did on a node, held against what it was told to do.

Only what the log or the dumped graph says can differ: what they are silent about is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from .contradictions import GID_INDEX, same
from .log import NcclLog, Via
from .model import RING_ID, Channel, Device, Graph, devices_from
from .version import too_old, words
from .xml import parse

AWARE = "NCCL_IB_SUBNET_AWARE_ROUTING"


@dataclass(frozen=True, slots=True)
class Expected:
    """What a node was told: its devices in the order that the graph is numbered by, the graph, the environment.

    C(rank) and C(ranks) are the plan's. Null is not held against anything.
    """

    devices: tuple[Device, ...] = ()
    channels: tuple[Channel, ...] = ()
    environment: Mapping[str, str] | None = None
    rank: int | None = None
    ranks: int | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as it was told."""

    code: str
    text: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def expected_from(raw: Mapping[str, Any]) -> Expected:
    """From plain data. Raises FabricError for devices, and GraphError for a graph, that cannot be."""
    graphs = parse(raw["graph"]) if raw.get("graph") else ()
    return Expected(
        devices=devices_from(raw["devices"]) if raw.get("devices") else (),
        channels=_ring(graphs),
        environment={name: str(value) for name, value in (raw.get("environment") or {}).items() if value is not None},
        rank=raw.get("rank"),
        ranks=raw.get("ranks"),
    )


def differences(log: NcclLog | None, dumped: tuple[Graph, ...] | None, expected: Expected) -> list[Difference]:
    """All that differs, the gravest first: with other devices or ranks the rest means something else."""
    found: list[Difference] = []
    if log is not None:
        found += [*_version(log, expected), *_devices(log, expected), *_ranks(log, expected)]
        found += [*_loaded(log, expected), *_vias(log, expected), *_overrides(log, expected), *_told(log, expected)]
    if dumped is not None:
        found += _dumped(dumped, expected)
    return found


def _ring(graphs: tuple[Graph, ...]) -> tuple[Channel, ...]:
    return next((graph.channels for graph in graphs if graph.id == RING_ID), ())


def _name(expected: Expected, index: int) -> str:
    """A device by its number, as people know it."""
    return str(expected.devices[index]) if 0 <= index < len(expected.devices) else f"device {index}, which is not there"


def _wants(expected: Expected, name: str) -> str | None:
    return (expected.environment or {}).get(name)


def _version(log: NcclLog, expected: Expected) -> Iterator[Difference]:
    if too_old(log.version) and same(_wants(expected, AWARE) or "0", "1"):
        yield Difference(
            "version",
            f"NCCL {log.version} is loaded, expected {words()} or newer: it ignores {AWARE}; install a newer one in "
            "the environment that serves",
        )
    wanted = (_wants(expected, "NCCL_NET") or log.net or "").upper()
    if log.net is not None and log.net.upper() != wanted:
        yield Difference(
            "net",
            f"NCCL uses the network {log.net}, expected {wanted}: see why in its lines that begin with NET/IB",
        )


def _devices(log: NcclLog, expected: Expected) -> Iterator[Difference]:
    seen = [device.name for device in log.devices]
    wanted = [device.device for device in expected.devices]
    if not seen or not wanted or seen == wanted:
        return
    if sorted(seen) == sorted(wanted):
        yield Difference(
            "device_order",
            f"NCCL numbers its devices {_listed(seen)}, the graph was written for {_listed(wanted)}: it sends each "
            "channel over other ports than meant; give this node's order to the role transport as "
            "transport_device_order",
        )
        return
    yield Difference(
        "devices",
        f"NCCL uses {_listed(seen)}, expected {_listed(wanted)}: compare NCCL_IB_HCA or NCCL_SOCKET_IFNAME with the "
        "ports",
    )


def _listed(names: list[str]) -> str:
    return " ".join(f"[{index}]{name}" for index, name in enumerate(names))


def _ranks(log: NcclLog, expected: Expected) -> Iterator[Difference]:
    if None not in (expected.rank, log.rank) and log.rank != expected.rank:
        yield Difference(
            "rank",
            f"NCCL has rank {log.rank} on the node that is rank {expected.rank} in the order of the cables: data takes "
            "a way over nodes in between; start the ranks in the order of the plan",
        )
    if None not in (expected.ranks, log.nranks) and log.nranks != expected.ranks:
        yield Difference("ranks", f"NCCL has {log.nranks} ranks, expected {expected.ranks}")
    size = log.nranks or expected.ranks
    if not size:
        return
    for ring in log.rings:
        previous, following = (ring.rank - 1) % size, (ring.rank + 1) % size
        if (ring.previous, ring.next) != (previous, following):
            yield Difference(
                "ring",
                f"ring {ring.channel} goes {ring.previous} to {ring.rank} to {ring.next}, expected {previous} to "
                f"{ring.rank} to {following}, which is the order of the cables",
            )


def _loaded(log: NcclLog, expected: Expected) -> Iterator[Difference]:
    if not expected.channels:
        return
    count = len(expected.channels)
    if log.graph_channels is not None and log.graph_channels != count:
        yield Difference(
            "channels",
            f"NCCL took {log.graph_channels} channels from the graph, expected {count}: NCCL_CROSS_NIC=0 makes it pass "
            "over the graph, and a file of another run has other channels",
        )
    if log.graph_channels is None and log.rings:
        yield Difference(
            "channels",
            f"NCCL says nothing of loading a graph, expected {count} channels from it: set NCCL_GRAPH_FILE where the "
            "process runs",
        )


def _vias(log: NcclLog, expected: Expected) -> Iterator[Difference]:
    """With one GPU a node NCCL always names the device that it receives on, also where it sends."""
    if not expected.channels:
        return
    for via in log.vias:
        if via.connection != 0:
            continue
        channel = expected.channels[via.channel % len(expected.channels)]
        right = (channel.receive,) if via.direction == "receive" else (channel.receive, channel.send)
        if via.device not in right:
            yield _via(via, expected, right[-1])


def _via(via: Via, expected: Expected, right: int) -> Difference:
    way = f"receives from rank {via.source}" if via.direction == "receive" else f"sends to rank {via.target}"
    return Difference(
        "via",
        f"channel {via.channel} {way} over {_name(expected, via.device)}, expected {_name(expected, right)}",
    )


def _overrides(log: NcclLog, expected: Expected) -> Iterator[Difference]:
    """Over RDMA the device to send on is the one that faces the next rank only because NCCL overrides its choice."""
    devices = expected.devices
    for default, chosen in log.overrides:
        if max(default, chosen) < len(devices) and default >= 0 and devices[default].root != devices[chosen].root:
            yield Difference(
                "override_root",
                f"NCCL sends over {_name(expected, chosen)} instead of {_name(expected, default)}: that is the other "
                "PCIe root, and half of the fabric stays idle; NCCL_IB_MERGE_NICS=0, a subnet for each cable and root",
            )
    sending = {via.channel for via in log.vias if via.direction == "send" and via.connection == 0}
    said = _wants(expected, "NCCL_DEBUG_SUBSYS") or log.environment.get("NCCL_DEBUG_SUBSYS") or ""
    speaks = bool(log.overrides) or not {"NET", "ALL"}.isdisjoint(said.split(","))
    if not speaks or not same(_wants(expected, AWARE) or "0", "1"):
        return
    needed = {
        (channel.receive, channel.send)
        for number, channel in enumerate(expected.channels)
        if channel.receive != channel.send and number in sending
    }
    for default, chosen in sorted(needed - set(log.overrides)):
        yield Difference(
            "override_missing",
            f"NCCL does not say that it sends over {_name(expected, chosen)} instead of "
            f"{_name(expected, default)}: without that it sends into the cable of the previous rank; {words()} or "
            f"newer with {AWARE}=1",
        )


def _told(log: NcclLog, expected: Expected) -> Iterator[Difference]:
    for name, value in log.environment.items():
        wanted = _wants(expected, name)
        if wanted is not None and not same(value, wanted):
            yield Difference(
                "environment",
                f"NCCL was told {name}={value}, expected {wanted}: another file or the container's environment sets "
                "it; transport_info lists the files",
            )
        elif wanted is None and name == GID_INDEX:
            yield Difference(
                "environment",
                f"NCCL was told {name}={value}, expected it not to be set: the index differs between nodes and drifts; "
                "transport_info lists the files",
            )


def _dumped(graphs: tuple[Graph, ...], expected: Expected) -> Iterator[Difference]:
    wanted, seen = expected.channels, _ring(graphs)
    if not wanted:
        return
    if not seen:
        yield Difference("dump", "the dumped graph has no ring: expected the channels of the graph that NCCL was given")
    for number, channel in enumerate(seen):
        right = wanted[number % len(wanted)]
        if (channel.receive, channel.send) != (right.receive, right.send):
            yield Difference(
                "dump",
                f"channel {number} of the dumped graph receives on {_name(expected, channel.receive)} and sends on "
                f"{_name(expected, channel.send)}, expected {_name(expected, right.receive)} and "
                f"{_name(expected, right.send)}",
            )
    if seen and len(seen) % len(wanted):
        yield Difference("dump", f"the dumped graph has {len(seen)} channels, expected {len(wanted)} or a multiple")
