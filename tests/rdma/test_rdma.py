# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""link_bandwidth with real verbs and the real ib_write_bw.

Soft-RoCE under software emulation: the figures say nothing about speed. What is shown is that real output is read, that
the GID is the one of the address, and that a failure is never a figure and never ok.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from lab.rdma.pair import DEVICES, NAMES, NETDEVS, ROOTS
from tests.rdma.bench import ONE, PREFIX, TWO, VAIN_SECONDS, VAIN_WAIT, Bench, Leg

pytestmark = pytest.mark.rdma

NO_SPEED = "under software emulation, which says nothing about speed"
WRONG = "/run/wrong-gid-index"
"""The guest's ib_write_bw takes this index instead of the one it is told: see lab/rdma/guest/usr/local/bin."""
FLOW_SECONDS = 150
INDEX = re.compile(r"GID index\s*: (\d+)")


def gid(bench: Bench, name: str, root: str, index: int) -> tuple[str, str]:
    """Ask the guest's kernel for a GID and its type."""
    port = f"/sys/class/infiniband/{DEVICES[root]}/ports/1"
    said = bench.pair.ssh(name, f"cat {port}/gids/{index} {port}/gid_attrs/types/{index}").splitlines()
    return said[0], said[1]


def gid_of(address: str) -> str:
    """As sysfs writes the GID of an IPv4 address."""
    parts = [int(part) for part in address.split(".")]
    return f"{PREFIX}:{parts[0]:02x}{parts[1]:02x}:{parts[2]:02x}{parts[3]:02x}"


def no_figure(leg: Leg) -> str:
    """Require that there is none, for a reason; gives the reason."""
    assert leg.gbps is None, leg
    assert leg.verdict in ("unknown", "fault"), leg
    assert leg.detail, leg
    print(f"{leg.verdict}: {leg.detail}")
    return leg.detail


@contextmanager
def wrong_index(bench: Bench, name: str, index: int) -> Iterator[None]:
    """Let a guest's ib_write_bw take another GID index than it is told."""
    bench.pair.ssh(name, f"echo {index} > {WRONG}")
    try:
        yield
    finally:
        bench.pair.ssh(name, f"rm {WRONG}")


def test_without_a_connectx7_there_are_no_functions(bench: Bench) -> None:
    for said in bench.module("cx7_info", lldp=False).values():
        assert said["cx7"]["functions"] == []


def test_programs_can_open_the_devices(bench: Bench) -> None:
    for name in NAMES:
        assert bench.readiness[name]["verbs"] == sorted(DEVICES.values())
        assert bench.readiness[name]["tools"] == ["ib_write_bw", "iperf3"]


def test_every_root_in_both_directions(bench: Bench) -> None:
    wanted = [(root, name) for root in ROOTS for name in NAMES]
    legs = bench.measure(*wanted)
    assert set(legs) == set(wanted)
    indexes = {}
    for (root, sender), leg in legs.items():
        assert leg.gbps is not None, leg
        assert leg.gbps > 0, leg
        assert leg.verdict != "ok", leg
        assert f"{leg.gbps:g}" in leg.raw, leg.raw
        receiver = TWO if sender == ONE else ONE
        for name, end in ((sender, leg.sent), (receiver, leg.received)):
            (index,) = map(int, INDEX.findall(end["raw"]))
            assert gid(bench, name, root, index) == (gid_of(bench.address(name, root)), "RoCE v2")
            indexes[name, root] = index
        print(f"root {root}, {sender} sends: {leg.gbps:g} Gb/s {NO_SPEED}\n{leg.raw}")
    assert all(indexes[ONE, root] != indexes[TWO, root] for root in ROOTS), "the same index would prove little"


def test_an_address_that_has_no_gid(bench: Bench) -> None:
    address, port = bench.address(ONE, "A"), NETDEVS["A"]
    bench.pair.ssh(ONE, f"ip address delete {address}/24 dev {port}")
    try:
        legs = bench.measure(("A", ONE), seconds=VAIN_SECONDS, wait=VAIN_WAIT)
    finally:
        bench.pair.ssh(ONE, f"ip address add {address}/24 dev {port}")
    said = no_figure(legs["A", ONE])
    assert f"{ONE}: {DEVICES['A']} has no RoCE v2 GID of {address}; it has " in said


def test_a_wrong_gid(bench: Bench) -> None:
    with wrong_index(bench, ONE, 0):
        legs = bench.measure(("A", ONE))
    assert "Found Incompatibility issue with GID types." in no_figure(legs["A", ONE])
    print(legs["A", ONE].raw)


def test_a_server_that_is_not_there(bench: Bench) -> None:
    legs = bench.measure(("B", ONE), seconds=VAIN_SECONDS, wait=VAIN_WAIT, without=TWO)
    said = no_figure(legs["B", ONE])
    assert f"Couldn't connect to {bench.address(TWO, 'B')}" in said
    assert f"{TWO}: gave no result" in said


def test_a_link_that_goes_down_mid_run(bench: Bench) -> None:
    sent = f"/sys/class/infiniband/{DEVICES['B']}/ports/1/hw_counters/sent_pkts"
    flows = f"limit=$(($(cat {sent}) + 100)); until [ $(cat {sent}) -gt $limit ]; do sleep 0.2; done"
    try:
        with ThreadPoolExecutor(2) as pool:
            watch = pool.submit(bench.pair.ssh, ONE, flows, seconds=FLOW_SECONDS)
            run = pool.submit(bench.measure, ("B", ONE), seconds=20, wait=20)
            while not watch.done():
                assert not run.done(), run.result()
                time.sleep(0.2)
            bench.pair.plug("B", plugged=False)
            legs = run.result()
    finally:
        bench.pair.plug("B", plugged=True)
    said = no_figure(legs["B", ONE])
    assert f"{NETDEVS['B']} lost its link during the measurement; ib_write_bw says: " in said
    print(legs["B", ONE].raw)
