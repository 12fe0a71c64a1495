# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Planned ports joined with what a NIC shows."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._fabric.bind import bind
from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError
from tests.unit.fabric.fabric_world import Data, ring, views_of

VIEW = views_of(*ring(4))["n0"]


def functions() -> list[Data]:
    """What cx7_info shows of a whole NIC, names not as usual."""
    return [
        {
            "pci": f"{domain}:01:00.{cage}",
            "root": root,
            "cage": f"p{cage}",
            "netdev": f"net{root}{cage}",
            "mac": f"02:00:00:00:0{cage}:0{root}",
            "rdma": f"mlx5_{root}{cage}",
            "carrier": True,
        }
        for root, domain in (("B", "0002"), ("A", "0000"))
        for cage in (0, 1)
    ]


def refused(view: object, shown: object) -> tuple[str, ...]:
    """The problems."""
    with pytest.raises(FabricError) as caught:
        bind(view, shown)
    return caught.value.problems


def test_each_port_gets_its_device() -> None:
    bound = bind(VIEW, functions())
    assert [(port["cage"], port["root"], port["netdev"], port["mac"], port["rdma"]) for port in bound] == [
        ("p0", "A", "netA0", "02:00:00:00:00:0A", "mlx5_A0"),
        ("p0", "B", "netB0", "02:00:00:00:00:0B", "mlx5_B0"),
        ("p1", "A", "netA1", "02:00:00:00:01:0A", "mlx5_A1"),
        ("p1", "B", "netB1", "02:00:00:00:01:0B", "mlx5_B1"),
    ]
    assert [{key: port[key] for key in VIEW["ports"][0]} for port in bound] == VIEW["ports"]
    assert "netdev" not in VIEW["ports"][0], "the input is left alone"


def test_no_rdma_device_is_for_others_to_judge() -> None:
    shown = [{**item, "rdma": None} for item in functions()]
    assert [port["rdma"] for port in bind(VIEW, shown)] == [None] * 4


def test_a_missing_root_is_named_with_what_was_seen() -> None:
    problems = refused(VIEW, [item for item in functions() if item["root"] == "A"])
    assert len(problems) == 2
    for word in (
        "n0: cage p0 on PCIe root B (cable 1)",
        "no ConnectX-7 function",
        "p0/A 0000:01:00.0 (netA0)",
        "lspci",
    ):
        assert word in problems[0]


def test_no_nic_at_all() -> None:
    problems = refused(VIEW, [])
    assert len(problems) == 4
    assert "no ConnectX-7 function at all" in problems[0]


@pytest.mark.parametrize("lacks", ["netdev", "mac"])
def test_a_function_without_a_device(lacks: str) -> None:
    shown = functions()
    shown[3][lacks] = None
    (problem,) = refused(VIEW, shown)
    assert "cage p1 on PCIe root A" in problem
    assert "no network device" in problem
    assert "mlx5_core" in problem


def test_two_functions_for_one_port() -> None:
    (problem,) = refused(VIEW, [*functions(), {**functions()[0], "pci": "0003:01:00.0"}])
    assert "claimed by 2 functions" in problem
    assert "0003:01:00.0" in problem


@pytest.mark.parametrize("view", [None, {}, {"host": "a", "ports": [1]}, [VIEW]])
def test_not_a_host(view: object) -> None:
    assert "expected what the filter fabric_host gives" in refused(view, functions())[0]


@pytest.mark.parametrize("shown", [None, {}, "x", [1]])
def test_not_functions(shown: Any) -> None:
    assert "expected the list cx7.functions" in refused(VIEW, shown)[0]
