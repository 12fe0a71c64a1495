# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""What a node has for measuring: RDMA devices that programs can open, tools, and whether its GPU works."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Runner

from . import iperf, perftest

TOOLS = (perftest.PROGRAM, iperf.PROGRAM)
GPU_PROCESSES = ("nvidia-smi", "--query-compute-apps=pid,process_name,used_memory", "--format=csv,noheader")
VERBS = ("class", "infiniband_verbs")


@dataclass(frozen=True, slots=True)
class Readiness:
    """``verbs`` are the RDMA devices that programs can open; ``verbs_detail`` says why there are none."""

    verbs: tuple[str, ...]
    verbs_detail: str
    tools: tuple[str, ...]
    gpu_processes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def look(sys: Tree, dev: Tree, runner: Runner) -> Readiness:
    """Look at the node. An RDMA device in sysfs is of no use without its character device."""
    nodes = [name for name in sys.names(*VERBS) if name.startswith("uverbs")]
    usable = [name for name in nodes if dev.exists("infiniband", name)]
    verbs = sorted(device for name in usable if (device := sys.read(*VERBS, name, "ibdev")))
    detail = "" if verbs else "programs cannot open an RDMA device here: no /dev/infiniband/uverbs*"
    versions = {tool: runner.run([tool, "--version"]) for tool in TOOLS}
    return Readiness(
        verbs=tuple(verbs),
        verbs_detail=detail,
        tools=tuple(tool for tool, result in versions.items() if not result.missing),
        gpu_processes=gpu_processes(runner),
    )


def gpu_processes(runner: Runner) -> tuple[str, ...]:
    """The programs that compute on the GPU. Without nvidia-smi, or without a driver behind it, there can be none."""
    result = runner.run(GPU_PROCESSES)
    if result.rc != 0:
        return ()
    return tuple(line.strip() for line in result.stdout.splitlines() if line.strip()[:1].isdigit())
