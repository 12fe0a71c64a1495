# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a checkpoint takes to all nodes of a ring, beside one copy over one cable: python tests/bench/checkpoint.py

A lab of four nodes must be up under the name in SPARK_LAB (default ring4), its fabric laid, and iperf3 on its nodes.
Its cables are made slow, so that they bound both and the processor does not. Prints, asserts nothing. Aim: 1.4 times.
"""

from __future__ import annotations

import json
import os
import sys
import time
from ipaddress import ip_network
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
sys.path.insert(0, str(CHECKOUT))

from tests.e2e.cluster import Cluster  # noqa: E402
from tests.e2e.test_9_checkpoint import MAKE, PATH, STATUS  # noqa: E402

SHARDS, SHARD_BYTES = 12, 8_000_000
RATE = "80mbit"  # of each PCIe root's half of a cable
CABLES = ("1", "2", "3", "4")
GIVER, TAKER = "spark1", "spark2"


def shared(ring: Cluster) -> list[str]:
    """The giver's addresses on the cable to the taker, one a PCIe root."""
    networks = []
    for node in (GIVER, TAKER):
        fabric = [one for found in ring.addresses(node).values() for one in found if not one.startswith("10.77.")]
        networks.append({ip_network(f"{address}/24", strict=False): address for address in fabric})
    givers, takers = networks
    return [address for network, address in givers.items() if network in takers]


def one_copy(ring: Cluster, addresses: list[str]) -> float:
    """Seconds of all bytes over one cable, half of them on each PCIe root, by iperf3."""
    for port, address in enumerate(addresses, 5301):
        ring.node(GIVER, f"systemd-run --quiet --collect iperf3 --server --one-off --bind {address} --port {port}")
    time.sleep(1)
    share = SHARDS * SHARD_BYTES // len(addresses)
    takes = [f"iperf3 -c {address} -p {port} -R -n {share} >/dev/null" for port, address in enumerate(addresses, 5301)]
    started = time.monotonic()
    ring.node(TAKER, " & ".join(takes) + " & wait")
    return time.monotonic() - started


def to_all(ring: Cluster) -> float:
    """Seconds of the slowest node, as its agent says."""
    given = json.dumps({"checkpoint_path": PATH, "checkpoint_reserve_gb": 0})
    played = ring.play("-e", given, playbook="playbooks/checkpoint.yml")
    if played.rc:
        sys.exit(played.text)
    return max(float(json.loads(ring.node(node, f"cat {STATUS}"))["seconds"]) for node in ring.names if node != GIVER)


def main() -> None:
    """Measure and print."""
    ring = Cluster(os.environ.get("SPARK_LAB", "ring4"), "ring4", "inventories/lab")
    ring.nodes(f"rm -rf {PATH}")
    ring.lab("exec", GIVER, "python3", "-c", MAKE, PATH, str(SHARDS), str(SHARD_BYTES))
    for cable in CABLES:
        ring.lab("limit", cable, RATE)
    try:
        addresses = shared(ring)
        copy = one_copy(ring, addresses)
        spread = to_all(ring)
    finally:
        for cable in CABLES:
            ring.lab("unlimit", cable)
        ring.nodes(f"rm -rf {PATH}")
    size = SHARDS * SHARD_BYTES / 1e6
    print(f"{size:.0f} MB, {RATE} on each of {len(addresses)} roots of a cable")
    print(f"one copy over one cable, s    {copy:6.1f}")
    print(f"to three other nodes, s       {spread:6.1f}")
    print(f"ratio (aim 1.4, naive 3)      {spread / copy:6.2f}")


if __name__ == "__main__":
    main()
