# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a plan takes, and one node's part of it: `python tests/bench/plan.py`. Prints a table, asserts nothing.

Times are the least of several runs in milliseconds of processor time: the work is pure, and other work on the machine
does not count. The ratio to the row above is 2 if growth is linear.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / ".collections"))

from ansible_collections.switchless.spark.plugins.module_utils._fabric.host import host_to_dict, host_view
from ansible_collections.switchless.spark.plugins.module_utils._fabric.plan import (
    build_plan,
    plan_from_dict,
    plan_to_dict,
)

SIZES = (64, 128, 256, 512, 1024)
RUNS = 7
POOL = "10.0.0.0/8"
"""The default pool holds 256 cables."""

AIM_MS = 50.0
"""One host of the largest ring."""


def least_ms(work: Callable[[], object]) -> float:
    """The least processor time of RUNS runs, in milliseconds."""
    times: list[float] = []
    for _run in range(RUNS):
        start = process_time()
        work()
        times.append(process_time() - start)
    return 1000 * min(times)


def measure(size: int) -> tuple[float, float]:
    """Milliseconds for the plan of a ring and for one node's part of it, dictionary to dictionary as the filters do."""
    hosts = [f"spark-{number:04}" for number in range(size)]
    cables = [{"ends": [f"{host}:p0", f"{hosts[(rank + 1) % size]}:p1"]} for rank, host in enumerate(hosts)]
    management = {host: f"172.16.{number >> 8}.{number & 255}" for number, host in enumerate(hosts)}
    plan = plan_to_dict(build_plan(cables, hosts=hosts, subnet_pool=POOL, management=management))
    return (
        least_ms(lambda: plan_to_dict(build_plan(cables, hosts=hosts, subnet_pool=POOL, management=management))),
        least_ms(lambda: host_to_dict(host_view(plan_from_dict(plan), hosts[size // 2]))),
    )


def main() -> None:
    """Print the table."""
    print(f"{'nodes':>6} {'plan ms':>9} {'ratio':>6} {'one host ms':>12} {'ratio':>6}")
    before: tuple[float, float] | None = None
    for size in SIZES:
        now = measure(size)
        ratios = [f"{new / old:.2f}" for new, old in zip(now, before, strict=True)] if before else ["-", "-"]
        print(f"{size:>6} {now[0]:>9.2f} {ratios[0]:>6} {now[1]:>12.2f} {ratios[1]:>6}", flush=True)
        before = now
    if before:
        print(
            f"one host of {SIZES[-1]} nodes: {before[1]:.1f} ms, {before[1] / AIM_MS:.2f} of the aim of {AIM_MS:.0f} ms"
        )


if __name__ == "__main__":
    main()
