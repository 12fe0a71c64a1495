# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What real NCCL said in `make nccl`, read again: see recorded/README.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._fabric.host import host_to_dict, host_view
from ansible_collections.switchless.spark.plugins.module_utils._fabric.plan import build_plan, plan_to_dict
from ansible_collections.switchless.spark.plugins.module_utils._nccl.compare import differences, expected_from
from ansible_collections.switchless.spark.plugins.module_utils._nccl.diagnose import diagnose
from ansible_collections.switchless.spark.plugins.module_utils._nccl.log import parse
from ansible_collections.switchless.spark.plugins.module_utils._nccl.settings import settings
from ansible_collections.switchless.spark.plugins.module_utils._nccl.xml import parse as parse_graphs
from tests.unit.nccl.nccl_world import functions

RECORDED = Path(__file__).parent / "recorded"
CABLES = (["329f:p1", "355d:p1"], ["355d:p0", "c049:p0"], ["c049:p1", "3d38:p0"], ["3d38:p1", "329f:p0"])
HOSTS = ("329f", "355d", "c049", "3d38")
PLANNED = build_plan([{"ends": ends} for ends in CABLES], hosts=list(HOSTS), control_plane="fabric")
PLAN = plan_to_dict(PLANNED)


def logs(arm: str) -> dict[str, str]:
    return {path.stem: path.read_text() for path in (RECORDED / arm).glob("*.log")}


def told(host: str, rank: int, order: list[str] | None = None) -> Any:
    """What the run's settings were: two channels, over sockets, devices as NCCL found them."""
    view = host_to_dict(host_view(PLANNED, host))
    port = view["ports"][0]
    control = {"netdev": "enp1s0f0np0", "address": port["address"]}
    return settings(view, PLAN, functions(), control, channels=2, net="socket", device_order=order) | {"rank": rank}


@pytest.mark.parametrize("host", ["329f", "355d"])
def test_a_ring_that_works(host: str) -> None:
    log = parse(logs("ring4")[host])
    rank = HOSTS.index(host)
    assert (log.version, log.rank, log.nranks, log.net) == ("2.28.9+cuda13.0", rank, 4, "Socket")
    assert (log.graph_channels, log.complete, log.warnings) == (2, True, ())
    assert {(ring.previous, ring.rank, ring.next) for ring in log.rings} == {((rank - 1) % 4, rank, (rank + 1) % 4)}
    dumped = parse_graphs((RECORDED / "ring4" / f"{host}.dump.xml").read_text())
    expected = told(host, rank, [device.name for device in log.devices])
    assert {
        difference.code for difference in differences(log, dumped, expected_from(expected | {"environment": None}))
    } == set()


def test_with_one_gpu_a_node_nccl_names_the_device_that_it_receives_on_also_where_it_sends() -> None:
    """The article's finding, and why NCCL_IB_SUBNET_AWARE_ROUTING is needed over RDMA."""
    log = parse(logs("ring4")["329f"])
    by_direction = {way: [via.device for via in log.vias if via.direction == way] for way in ("send", "receive")}
    assert by_direction["send"] == by_direction["receive"]


def test_a_graph_for_another_order_of_the_devices() -> None:
    log = parse(logs("wrong-order")["329f"])
    found = differences(log, None, expected_from(told("329f", 0) | {"environment": None}))
    assert found[0].code == "device_order"


def test_ranks_that_do_not_follow_the_cables() -> None:
    seen = {host: parse(text).rank for host, text in logs("swapped-ranks").items()}
    assert seen == {"329f": 0, "355d": 2, "c049": 1, "3d38": 3}
    log = parse(logs("swapped-ranks")["c049"])
    order = [device.name for device in log.devices]
    found = differences(log, None, expected_from(told("c049", 2, order) | {"environment": None}))
    assert [difference.code for difference in found] == ["rank"]


def test_a_cable_that_is_out_is_named() -> None:
    causes = diagnose(logs("cable-out"), PLAN)
    assert {cause["cable"] for cause in causes} == {"355d:p0 - c049:p0"}
    assert {cause["host"] for cause in causes} == {"355d", "c049"}


def test_a_cable_pulled_in_the_middle_is_named() -> None:
    (cause,) = diagnose(logs("cable-pulled"), PLAN)
    assert (cause["code"], cause["cable"], cause["host"]) == ("fabric_unreachable", "c049:p1 - 3d38:p0", "c049")
