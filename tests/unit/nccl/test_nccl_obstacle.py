# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why the all-reduce is not run: the first reason, in words that say what to do or whom it concerns."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.filter.transport_obstacle import FilterModule
from tests.unit.fabric.test_fabric_filters import tagged
from tests.unit.nccl.transport_world import LOADED, ORDER, PLAN, node

PYTHON = "/opt/vllm/bin/python"
WHOLE = {"python": PYTHON, "wanted": True, "check_mode": False, "forks": 4}
REFUSAL = {"text": "3d38 cannot register memory: CmaTotal 0 kB"}
BARE = LOADED.as_dict() | {"version": None}
OLD = LOADED.as_dict() | {"version": "2.28.9", "too_old": True}


def seen(*hosts: str, **change: Any) -> dict[str, Any]:
    """What transport_info showed; `change`: host to what differs there, with s before the host."""
    return {host: node(host)["transport"] | change.get(f"s{host}", {}) for host in hosts or ORDER}


def obstacle(nodes: dict[str, Any], **change: Any) -> object:
    return FilterModule().filters()["transport_obstacle"](PLAN, nodes, **(WHOLE | change))


@pytest.mark.parametrize(
    ("nodes", "change", "expected"),
    [
        (seen(), {}, ""),
        (seen(), {"forks": "4"}, ""),
        (seen(), {"check_mode": True}, "nothing is run in check mode"),
        (seen(), {"wanted": False}, "transport_test is false"),
        (seen(), {"wanted": "false"}, "transport_test is false"),
        (seen(), {"wanted": "true"}, ""),
        (seen(), {"python": ""}, "transport_python names no interpreter that serves"),
        (seen("355d", "3d38"), {}, "all ranks are needed, and this run leaves out 329f, c049"),
        (seen(), {"forks": 3}, "all 4 ranks have to run at once, and Ansible's forks is 3: raise it"),
        (
            seen(s355d={"gpu_processes": ["vllm (PID 7)", "python3 (PID 9)"]}, sc049={"gpu_processes": ["x (PID 1)"]}),
            {},
            "the GPU is in use on 355d (vllm (PID 7), python3 (PID 9)); c049 (x (PID 1))",
        ),
        (seen(s3d38={"nccl": None}), {}, f"{PYTHON} loads no NCCL on 3d38"),
        (seen(s3d38={"nccl": OLD}), {}, f"{PYTHON} loads an NCCL older than 2.30.7 on 3d38"),
        (seen(s329f={"nccl": BARE}, s3d38={"nccl": None}), {}, f"{PYTHON} loads no NCCL on 329f, 3d38"),
        (seen(s3d38={"refusal": REFUSAL}), {}, REFUSAL["text"]),
        # A test that brings its own NCCL needs all else.
        (seen(s329f={"nccl": None}), {"python": None}, ""),
        (seen(s329f={"nccl": None}, s3d38={"refusal": REFUSAL}), {"python": None}, REFUSAL["text"]),
        (seen("355d", "3d38"), {"python": None}, "all ranks are needed, and this run leaves out 329f, c049"),
        (seen("355d"), WHOLE | {"check_mode": True, "wanted": False, "forks": 1}, "nothing is run in check mode"),
        (seen("355d", s355d={"gpu_processes": ["x"]}), {"forks": 1}, None),
    ],
)
def test_the_first_reason(nodes: dict[str, Any], change: dict[str, Any], expected: str | None) -> None:
    found = obstacle(nodes, **change)
    assert found == (
        expected if expected is not None else "all ranks are needed, and this run leaves out 329f, c049, 3d38"
    )


def test_ansible_s_tags_do_not_matter() -> None:
    apply = FilterModule().filters()["transport_obstacle"]
    assert apply(tagged(PLAN), tagged(seen("355d")), **WHOLE) == (
        "all ranks are needed, and this run leaves out 329f, c049, 3d38"
    )
