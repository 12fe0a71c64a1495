# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long cx7_info and cx7_health take: tests/bench/cx7.py [RUNS]

On this machine, on a made-up node as big as a real one: four functions with GID tables of 256 entries, and a journal of
4,000 lines. Prints, asserts nothing. What Ansible adds around a module (ssh, the start of Python) is not in it.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / ".collections"), str(ROOT)]

from ansible_collections.switchless.spark.plugins.module_utils._cx7 import load  # noqa: E402
from ansible_collections.switchless.spark.plugins.module_utils._cx7.health import judge  # noqa: E402
from ansible_collections.switchless.spark.plugins.module_utils._cx7.node import Sources, look  # noqa: E402
from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree  # noqa: E402
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Result  # noqa: E402
from tests.unit.cx7.spark_tree import PORTS, Script, Shown, journal  # noqa: E402

GIDS = 256
LINES = 4000
OURS = 25  # one line of so many is the NIC's
EMPTY = "0000:0000:0000:0000:0000:0000:0000:0000"
GOAL_SECONDS = 0.3


def timed(name: str, runs: int, work: Callable[[], object]) -> None:
    took = []
    for _run in range(runs):
        start = time.perf_counter()
        work()
        took.append(time.perf_counter() - start)
    middle = statistics.median(took)
    print(f"{name:<44} {middle * 1000:8.1f} ms (best {min(took) * 1000:.1f}, worst {max(took) * 1000:.1f})")


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    table = dict.fromkeys(range(GIDS), (EMPTY, None, None))
    nic, other = "mlx5_core 0000:01:00.0: Rate limit: 127 rates are supported", "usb 1-1: new high-speed USB device"
    lines = [(n / 100, other if n % OURS else nic) for n in range(LINES)]
    log = journal((0.0, "Booting Linux on physical CPU 0x0000000000"), *lines)
    answers = {"journalctl": Result(0, log), "nmcli": Result(0, ""), "lldpcli": Result(0, '{"lldp": []}')}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        Shown(gids=dict.fromkeys(PORTS, table)).build(root)
        sources = Sources(Tree(f"{root}/sys"), Tree(f"{root}/proc"), Tree(folder), Script(answers))
        timed(f"cx7_info without its commands (goal {GOAL_SECONDS * 1000:.0f})", runs, lambda: look(sources))
        seen = json.loads(json.dumps(look(sources).as_dict()))
    timed("cx7_health", runs, lambda: judge(load.cx7(seen), load.expected([]), load.bandwidth([])))


if __name__ == "__main__":
    main()
