# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of all stages, and the verdict: proved is only what every stage passed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.switchless.spark.plugins.filter.transport_report import FilterModule
from ansible_collections.switchless.spark.plugins.module_utils._nccl.report import report
from ansible_collections.switchless.spark.plugins.module_utils._nccl.stages import FAILED, NOT_RUN, PASSED
from tests.unit.fabric.fabric_world import Data
from tests.unit.fabric.test_fabric_filters import tagged
from tests.unit.nccl.transport_world import ORDER, PLAN, link_rows, nodes

CHECK_MODE = "nothing is run in check mode"
PAGE = """\
settings        passed   0 contradictions  (expected: none outside /etc/switchless/nccl.env)
memory          passed   CmaTotal 131072 kB  (expected: memory can be registered)
ports           passed   16 of 16 ports  (expected: an RDMA device and a RoCE v2 GID on each)
graph           passed   8 channels on 4 nodes  (expected: each along the cables)
neighbour RDMA  passed   16 measured, slowest 98.0 Gb/s  (expected: 90 Gb/s each way on each root)
NCCL            passed   2.30.7  (expected: 2.30.7 or newer, the same everywhere)
all-reduce      passed   64 MiB at 195.44 Gb/s bus bandwidth  (expected: all elements right, half of the bytes on each root, nothing relayed)
arx ring test   passed   4 ranks passed  (expected: 480 checks a rank, 0 failures)

all-reduce     time        bus bandwidth   wrong elements
     1 MiB      0.064 ms    195.44 Gb/s   0
     4 MiB      0.258 ms    195.44 Gb/s   0
    16 MiB      1.030 ms    195.44 Gb/s   0
    64 MiB      4.120 ms    195.44 Gb/s   0

Transport proved: 8 of 8 stages passed
"""  # noqa: E501 - as it is printed


def results(found: Data) -> dict[str, str]:
    return {stage["name"]: stage["result"] for stage in found["data"]["stages"]}


def test_all_is_proved() -> None:
    found = report(PLAN, nodes())
    assert found["text"] == PAGE
    assert (found["verdict"], found["failures"]) == ("proved", [])
    data = found["data"]
    assert (data["schema"], data["verdict"], data["hosts"]) == (1, "proved", sorted(ORDER))
    assert data["expected_busbw_gbps"] == 190.0
    assert set(results(found).values()) == {PASSED}
    assert data["all_reduce"]["rows"][-1]["mib"] == 64
    # As it is written into a file.
    assert json.loads(json.dumps(data)) == data


def test_in_check_mode() -> None:
    world = nodes()
    for shown in world.values():
        shown["rank"] = shown["arx"] = None
    found = report(PLAN, world, unrun=CHECK_MODE, arx_unrun="transport_arx_command is not set")
    assert (found["verdict"], found["failures"]) == ("incomplete", [])
    assert found["data"]["all_reduce"] is None
    lines = found["text"].splitlines()
    assert lines[6:10] == [
        "all-reduce      not run  -  (expected: all elements right, half of the bytes on each root, nothing relayed)",
        f"                         {CHECK_MODE}",
        "arx ring test   not run  -  (expected: 480 checks a rank, 0 failures)",
        "                         transport_arx_command is not set",
    ]
    assert lines[-1] == "Transport incomplete: 6 of 8 stages passed"


def spoilt(stage: str) -> dict[str, Any]:
    """The nodes, with what makes one stage fail."""
    world = nodes()
    node = world["c049"]
    if stage == "settings":
        node["transport"]["contradictions"] = [{"text": "/etc/nccl.conf:1 sets NCCL_ALGO"}]
    elif stage == "memory":
        node["transport"]["refusal"] = {"text": "c049 cannot register memory"}
    elif stage == "ports":
        node["functions"][0]["ib_state"] = "DOWN"
    elif stage == "graph":
        node["settings"]["graph"] = node["settings"]["graph"].replace('crossnic="1"', 'crossnic="0"')
    elif stage == "neighbour RDMA":
        node["link"] = [row | {"verdict": "degraded", "gbps": 60.0} for row in node["link"]]
    elif stage == "NCCL":
        node["transport"]["nccl"]["version"] = "2.30.6"
    elif stage == "all-reduce":
        node["rank"]["told"]["sizes"][-1]["wrong"] = 1
    else:
        node["arx"] |= {"rc": 3}
    return world


STAGES = ["settings", "memory", "ports", "graph", "neighbour RDMA", "NCCL", "all-reduce", "arx ring test"]


@pytest.mark.parametrize("stage", STAGES)
def test_one_stage_that_fails_fails_all(stage: str) -> None:
    found = report(PLAN, spoilt(stage))
    assert found["verdict"] == "failed"
    assert results(found) == dict.fromkeys(STAGES, PASSED) | {stage: FAILED}
    assert found["failures"]
    for line in found["failures"]:
        assert line.startswith(f"{stage}: ")
        assert "c049" in line
        assert f"                         {line.removeprefix(f'{stage}: ')}\n" in found["text"]
    assert found["text"].endswith("\nTransport failed: 7 of 8 stages passed\n")


@pytest.mark.parametrize("stage", STAGES[:4])
def test_failed_is_said_before_incomplete(stage: str) -> None:
    found = report(PLAN, spoilt(stage), unrun=CHECK_MODE, arx_unrun=CHECK_MODE)
    assert found["verdict"] == "failed"
    assert [line.split(":")[0] for line in found["failures"]] == [stage] * len(found["failures"])


def test_with_a_limit() -> None:
    hosts = ("355d", "c049")
    world, rows = nodes(*hosts), link_rows(hosts=hosts)
    left_out = "all ranks are needed, and this run leaves out 329f, 3d38"
    for host, shown in world.items():
        shown |= {"rank": None, "arx": None, "link": rows[host]}
    found = report(PLAN, world, unrun=left_out, arx_unrun=left_out)
    assert (found["verdict"], found["failures"]) == ("incomplete", [])
    assert results(found) == dict.fromkeys(STAGES, PASSED) | dict.fromkeys(
        ("neighbour RDMA", "all-reduce", "arx ring test"), NOT_RUN
    )
    assert found["data"]["hosts"] == sorted(hosts)
    assert "329f took no part in this run" in found["text"]


def test_slow_is_said_and_no_failure() -> None:
    found = report(PLAN, nodes(), busbw_gbps=400.0)
    assert found["verdict"] == "proved"
    assert "\nslow: bus bandwidth 195.44 Gb/s at 64 MiB, expected about 400: --tags link_test" in found["text"]
    assert "\nslow" not in report(PLAN, nodes(), busbw_gbps=None)["text"]


def test_the_filter() -> None:
    apply = FilterModule().filters()["transport_report"]
    found: Any = apply(tagged(PLAN), tagged(nodes()), busbw_gbps="190")
    assert found == report(PLAN, nodes(), busbw_gbps=190.0)
    with pytest.raises(AnsibleFilterError, match="transport_report: the plan"):
        apply({**PLAN, "schema": 99}, nodes())
    world = nodes()
    world["c049"]["settings"]["devices"] = []
    with pytest.raises(AnsibleFilterError, match="transport_report: devices is the list"):
        apply(PLAN, world)
