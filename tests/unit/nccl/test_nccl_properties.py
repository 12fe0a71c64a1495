# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Properties of every legal fabric of 2 to 16 nodes: generator and validator agree, and no mistake passes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._nccl.graph import render
from ansible_collections.switchless.spark.plugins.module_utils._nccl.model import Channel, Device, Graph
from ansible_collections.switchless.spark.plugins.module_utils._nccl.validate import fabric_findings, findings
from ansible_collections.switchless.spark.plugins.module_utils._nccl.xml import GraphError, parse
from tests.unit.fabric.test_fabric_forwarding import Fabric, fabrics
from tests.unit.nccl.nccl_world import devices_of, graph_of, of_cables

quick = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])

channel_counts = st.integers(1, 32)


class Told:
    """The graphs and devices of all ranks of a fabric."""

    def __init__(self, fabric: Fabric, channels: int) -> None:
        self.plan = fabric.plan()
        self.settings = list(of_cables(fabric.cables, fabric.hosts, fabric.head, channels=channels).values())
        self.graphs: dict[int, Graph] = {rank: graph_of(one) for rank, one in enumerate(self.settings)}
        self.devices: dict[int, tuple[Device, ...]] = {rank: devices_of(one) for rank, one in enumerate(self.settings)}

    def found(self) -> list[tuple[str, str]]:
        """Code and severity of all that is wrong anywhere."""
        own = [
            finding
            for rank, graph in self.graphs.items()
            for finding in findings(graph, self.devices[rank], self.settings[rank]["environment"], nccl="2.30.7")
        ]
        between = fabric_findings(self.graphs, self.devices, self.plan)
        return [(finding.code, finding.severity) for finding in (*own, *between)]


@quick
@given(fabrics(most=16), channel_counts)
def test_generator_and_validator_agree(fabric: Fabric, channels: int) -> None:
    told = Told(fabric, channels)
    uneven = channels % 2 == 1 and channels > 1
    assert told.found() == [("roots_uneven", "warning")] * (len(told.graphs) if uneven else 0)


@quick
@given(fabrics(most=16), channel_counts)
def test_every_channel_is_a_closed_round_over_neighbours(fabric: Fabric, channels: int) -> None:
    """Without the validator: follow each channel's cables through the plan's own ends."""
    told = Told(fabric, channels)
    order, cables = told.plan["order"], told.plan["cables"]
    for number in range(channels):
        for rank, host in enumerate(order):
            after = (rank + 1) % len(order)
            sender = told.devices[rank][told.graphs[rank].channels[number].send]
            receiver = told.devices[after][told.graphs[after].channels[number].receive]
            ends = {(end["host"], end["cage"]) for end in cables[sender.cable - 1]["ends"]}
            assert ends == {(host, sender.cage), (order[after], receiver.cage)}
            assert sender.root == receiver.root == "AB"[number % 2]


@quick
@given(fabrics(most=16), channel_counts)
def test_what_is_written_is_read(fabric: Fabric, channels: int) -> None:
    for one in of_cables(fabric.cables, fabric.hosts, channels=channels).values():
        assert render(*parse(one["graph"])) == one["graph"]


@quick
@given(fabrics(most=16), channel_counts, st.data())
def test_two_device_numbers_swapped(fabric: Fabric, channels: int, data: st.DataObject) -> None:
    told = Told(fabric, channels)
    rank = data.draw(st.sampled_from(sorted(told.graphs)))
    numbers = [number for channel in told.graphs[rank].channels for number in (channel.receive, channel.send)]
    one, two = (data.draw(st.integers(0, len(numbers) - 1)) for _end in range(2))
    assume(numbers[one] != numbers[two])
    numbers[one], numbers[two] = numbers[two], numbers[one]
    told.graphs[rank] = with_numbers(told.graphs[rank], numbers)
    assert "error" in {severity for _code, severity in told.found()}


@quick
@given(fabrics(most=16), channel_counts, st.data())
def test_the_roots_of_a_node_swapped(fabric: Fabric, channels: int, data: st.DataObject) -> None:
    """By itself such a graph is right; the neighbours receive on the other root."""
    told = Told(fabric, channels)
    rank = data.draw(st.sampled_from(sorted(told.graphs)))
    twin = {
        device.index: other.index
        for device in told.devices[rank]
        for other in told.devices[rank]
        if other.cage == device.cage and other.root != device.root
    }
    numbers = [twin[number] for channel in told.graphs[rank].channels for number in (channel.receive, channel.send)]
    told.graphs[rank] = with_numbers(told.graphs[rank], numbers)
    assert ("not_joined", "error") in told.found()


def with_numbers(graph: Graph, numbers: list[int]) -> Graph:
    """The graph with other device numbers, receive and send of each channel in turn."""
    pairs = zip(numbers[::2], numbers[1::2], strict=True)
    return replace(graph, channels=tuple(Channel(receive, 0, send) for receive, send in pairs))


GOOD = of_cables([{"ends": ["a:p0", "b:p0"]}], ["a", "b"], channels=2)["a"]["graph"]
places = st.integers(0, len(GOOD))


@quick
@given(places, places, st.text(st.sampled_from("<>/=\"' \n\t!-0a"), max_size=9))
def test_any_damage_is_read_or_refused(start: int, end: int, noise: str) -> None:
    """Never anything but a refusal that can be shown."""
    with suppress(GraphError):
        parse(GOOD[:start] + noise + GOOD[end:])


@pytest.mark.parametrize("blank", [" ", "\n", "\r", "\t"])
def test_a_blank_at_every_place(blank: str) -> None:
    """Between tags NCCL passes over all but tabs; nowhere else is there room for one more."""
    for place in range(len(GOOD) + 1):
        text = GOOD[:place] + blank + GOOD[place:]
        if blank != "\t" and GOOD[place - 1 : place] in ("", ">") and GOOD[place : place + 1] in ("", "<"):
            assert parse(text) == parse(GOOD)
        else:
            with pytest.raises(GraphError):
                parse(text)
