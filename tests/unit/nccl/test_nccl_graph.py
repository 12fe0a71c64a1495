# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The graphs of real wirings, written out by hand.

NCCL numbers the devices by PCI address: 0 is cage p0 and 1 is cage p1, both on root A; 2 is p0 and 3 is p1, both on
root B. So a node whose p0 leads to the previous rank and p1 to the next receives on 0 and sends on 1 in the channels of
root A (0, 2, …), and 2 and 3 in those of root B (1, 3, …). Where p1 leads to the previous rank it is 1 to 0 and 3 to 2.
"""

from __future__ import annotations

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError
from ansible_collections.switchless.spark.plugins.module_utils._nccl.graph import generate, render
from ansible_collections.switchless.spark.plugins.module_utils._nccl.model import Channel, Device
from ansible_collections.switchless.spark.plugins.module_utils._nccl.xml import parse
from tests.unit.fabric.fabric_world import ring
from tests.unit.nccl.nccl_world import devices_of, of_cables, of_inventory

P0_TO_P1 = (
    '<graphs version="1"><graph id="0" pattern="4" crossnic="1" nchannels="4" speedintra="0.24" speedinter="0.24" '
    'latencyinter="0" typeintra="LOC" typeinter="P2C" samechannels="1">'
    '<channel><net dev="0"/><gpu dev="0"/><net dev="1"/></channel>'
    '<channel><net dev="2"/><gpu dev="0"/><net dev="3"/></channel>'
    '<channel><net dev="0"/><gpu dev="0"/><net dev="1"/></channel>'
    '<channel><net dev="2"/><gpu dev="0"/><net dev="3"/></channel>'
    "</graph></graphs>"
)
"""Receives on p0, sends on p1."""

P1_TO_P0 = (
    '<graphs version="1"><graph id="0" pattern="4" crossnic="1" nchannels="4" speedintra="0.24" speedinter="0.24" '
    'latencyinter="0" typeintra="LOC" typeinter="P2C" samechannels="1">'
    '<channel><net dev="1"/><gpu dev="0"/><net dev="0"/></channel>'
    '<channel><net dev="3"/><gpu dev="0"/><net dev="2"/></channel>'
    '<channel><net dev="1"/><gpu dev="0"/><net dev="0"/></channel>'
    '<channel><net dev="3"/><gpu dev="0"/><net dev="2"/></channel>'
    "</graph></graphs>"
)
"""Receives on p1, sends on p0."""


# The article's cables: 329f:p1 - 355d:p1, 355d:p0 - c049:p0, c049:p1 - 3d38:p0, 3d38:p1 - 329f:p0.
@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("329f", P0_TO_P1),  # from 3d38 into its p0, out of its p1 to 355d
        ("355d", P1_TO_P0),  # from 329f into its p1, out of its p0 to c049
        ("c049", P0_TO_P1),  # from 355d into its p0, out of its p1 to 3d38
        ("3d38", P0_TO_P1),  # from c049 into its p0, out of its p1 to 329f
    ],
)
def test_the_ring_of_the_article(host: str, expected: str) -> None:
    assert of_inventory("ring4", host, channels=4)["graph"] == expected


@pytest.mark.parametrize("size", [4, 6])
def test_p0_to_p1_all_the_way_round(size: int) -> None:
    # p0 of each leads to p1 of the next: each receives on p1.
    assert {told["graph"] for told in of_cables(*ring(size), channels=4).values()} == {P1_TO_P0}


@pytest.mark.parametrize("host", ["spark1", "spark2", "spark3"])
def test_the_triangle(host: str) -> None:
    # The same wiring with three.
    assert of_inventory("triangle", host, channels=4)["graph"] == P1_TO_P0


def test_a_pair_with_two_cables_is_a_ring_of_two() -> None:
    # spark1:p0 - spark2:p0 leads from rank 0 to rank 1, spark1:p1 - spark2:p1 back.
    assert of_inventory("pair", "spark1", channels=4)["graph"] == P1_TO_P0
    assert of_inventory("pair", "spark2", channels=4)["graph"] == P0_TO_P1


def test_a_pair_with_one_cable_has_two_devices() -> None:
    told = of_cables([{"ends": ["a:p1", "b:p0"]}], ["a", "b"], channels=3)
    (graph,) = parse(told["a"]["graph"])
    # The same device both ways, root A, root B, root A.
    assert graph.channels == (Channel(0, 0, 0), Channel(1, 0, 1), Channel(0, 0, 0))
    assert told["a"]["graph"] == told["b"]["graph"]


def test_device_numbers_are_hexadecimal() -> None:
    devices = [
        Device(index, f"mlx5_{index}", "", "", "p0", root, 1, "both")
        for index, root in ((10, "A"), (31, "B"))
    ]  # fmt: skip
    text = render(generate(devices, 2))
    assert '<net dev="a"/><gpu dev="0"/><net dev="a"/>' in text
    assert '<net dev="1f"/><gpu dev="0"/><net dev="1f"/>' in text
    assert [channel.send for channel in parse(text)[0].channels] == [10, 31]


def test_one_line_and_nothing_nccl_s_reader_does_not_know() -> None:
    text = of_inventory("ring4", "329f", channels=32)["graph"]
    assert text.startswith("<graphs ")
    assert not set("\t\n\r'") & set(text)
    assert "  " not in text
    assert text.count("<channel>") == 32


def test_a_root_that_faces_nobody() -> None:
    devices = [
        device for device in devices_of(of_inventory("ring4", "329f")) if (device.cage, device.root) != ("p1", "B")
    ]
    with pytest.raises(FabricError, match="0 devices on PCIe root B face the next rank: expected one"):
        generate(devices, 8)
