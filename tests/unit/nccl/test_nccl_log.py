# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How NCCL's log is read: each field, and every way in which a log comes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._nccl.log import LogDevice, Ring, Via, parse

WRITTEN = Path(__file__).parent / "written"
CORES = "=enp1s0f0np0,enp1s0f1np1,enP2p1s0f0np0,enP2p1s0f1np1"


def test_over_sockets() -> None:
    log = parse((WRITTEN / "sockets.log").read_text())
    assert (log.version, log.library, log.host, log.rank, log.nranks) == ("2.28.9+cuda13.0", None, "spark0", 0, 4)
    assert (log.net, log.complete, log.graph_channels, log.order) == ("Socket", True, 2, (0, 1, 2, 3))
    assert log.devices == (
        LogDevice(0, "enp1s0f1np1", address="192.168.100.1"),
        LogDevice(1, "enP2p1s0f1np1", address="192.168.110.1"),
        LogDevice(2, "enp1s0f0np0", address="192.168.103.1"),
        LogDevice(3, "enP2p1s0f0np0", address="192.168.113.1"),
    )
    assert log.vias == (
        Via(0, 3, 0, "receive", "Socket", 2, gdr=False),
        Via(1, 3, 0, "receive", "Socket", 3, gdr=False),
        Via(0, 0, 1, "send", "Socket", 2, gdr=False),
        Via(1, 0, 1, "send", "Socket", 3, gdr=False),
    )
    assert log.rings == (Ring(0, 3, 0, 1), Ring(1, 3, 0, 1))
    assert (log.tree_peers, log.overrides, log.warnings) == ((2, 1), (), ())
    assert log.environment == {
        "NCCL_SOCKET_IFNAME": CORES,
        "NCCL_IB_DISABLE": "1",
        "NCCL_CROSS_NIC": "1",
        "NCCL_GRAPH_FILE": "/etc/switchless/nccl-graph.xml",
        "NCCL_ALGO": "Ring",
    }
    assert (log.oob_netdev, log.oob_address) == (None, None)


def test_over_rdma_in_the_journal() -> None:
    log = parse((WRITTEN / "rdma.log").read_text())
    assert (log.version, log.library) == ("2.30.7", "/opt/vllm/lib/libnccl.so.2")
    assert (log.host, log.rank, log.nranks, log.net, log.complete) == ("329f", 0, 4, "IB", True)
    assert [(device.index, device.name, device.port, device.link) for device in log.devices] == [
        (0, "rocep1s0f0", 1, "RoCE"),
        (1, "rocep1s0f1", 1, "RoCE"),
        (2, "roceP2p1s0f0", 1, "RoCE"),
        (3, "roceP2p1s0f1", 1, "RoCE"),
    ]
    assert (log.oob_netdev, log.oob_address) == ("enP7s7", "192.0.2.70")
    assert [(via.direction, via.device, via.gdr) for via in log.vias] == [
        ("receive", 0, True),
        ("receive", 2, False),
        ("send", 0, False),
        ("send", 2, False),
    ]
    assert log.overrides == ((0, 1), (2, 3))
    assert log.environment["NCCL_IB_SUBNET_AWARE_ROUTING"] == "1"
    assert log.environment["NCCL_IB_HCA"] == "=rocep1s0f0,rocep1s0f1,roceP2p1s0f0,roceP2p1s0f1"
    assert len(log.warnings) == 1
    assert {str(line.time) for line in log.lines} == {f"2000-11-30 18:01:0{second}" for second in (2, 3, 4)}
    assert "lines" not in log.as_dict()


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "spark-a:555:771 [0] ",
        "[trainer3]:spark-a:1958:1958 [3] ",
        "R0| spark-a:1:2 [0] ",
        "(Worker_TP1 pid=263) spark-a:263:300 [0] ",
        "vllm-dspark-1  | (Worker_TP0 pid=336) spark-a:336:400 [0] ",
        "2026-11-30T18:01:02+0100 spark-a vllm[12]: spark-a:1:2 [0] ",
        "[2026-03-13 22:26:02] spark-a:XXXXXX [5] ",
    ],
)
def test_whatever_is_in_front(prefix: str) -> None:
    lines = (
        f"{prefix}NCCL INFO NET/IB : Using [0]rocep1s0f0:1/RoCE [1]roceP2p1s0f0:1/RoCE [RO]; OOB enP7s7:192.0.2.70<0>",
        f"{prefix}NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/2",
    )
    log = parse("\n".join(lines))
    assert [device.name for device in log.devices] == ["rocep1s0f0", "roceP2p1s0f0"]
    assert log.vias == (Via(0, 0, 1, "send", "IB", 2, gdr=False),)
    assert {line.level for line in log.lines} == {"INFO"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b NCCL WARN x", None),
        ("[2026-03-13 22:26:02] spark-a:1:2 [5] ibvwrap.c:262 NCCL WARN x", "2026-03-13T22:26:02"),
        ("2026-11-30T18:01:02+0100 a b[1]: x", "2026-11-30T17:01:02"),
        ("2026-11-30T18:01:02.5Z x", "2026-11-30T18:01:02.500000"),
        ("Nov  3 18:01:02 a b[1]: [2026-11-30 19:00:00] x", "2000-11-03T18:01:02"),
        ("(Worker pid=2) ERROR 08-03 13:35:33 [x.py:912] x", "2000-08-03T13:35:33"),
        ("2026-13-77 18:01:02 x", None),
        ("Feb 31 18:01:02 x", None),
    ],
)
def test_the_time_of_a_line(text: str, expected: str | None) -> None:
    when = parse(text).lines[0].time
    assert (when.isoformat() if when else None) == expected


def test_warnings_have_a_place_and_long_ones_are_one() -> None:
    log = parse(
        "\n[2026-03-13 22:26:02] a:1:2 [0] misc/ibvwrap.cc:309 (wrap_ibv_modify_qp) NCCL WARN Call to ibv_modify_qp "
        "failed with 61 No data available, on dev rocep1s0f0:1,\n        curr state INIT, next state RTR, "
        "local GID ::,\nremote GID ::\nRuntimeError: NCCL error: unhandled system error\n"
    )
    assert [line.number for line in log.lines] == [2, 5]
    assert log.warnings[0].endswith("local GID ::, remote GID ::")
    assert log.lines[0].level == "WARN"


def test_merged_devices() -> None:
    log = parse(
        "NCCL INFO NET/IB : Using [0]={[0] rocep1s0f0:1/RoCE, [1] roceP2p1s0f0:1/RoCE} [RO]; OOB enP7s7:192.0.2.7<0>"
    )
    assert [(device.index, device.name) for device in log.devices] == [(0, "rocep1s0f0"), (1, "roceP2p1s0f0")]


def test_a_graph_that_is_not_the_rings_does_not_count() -> None:
    assert parse("NCCL INFO Search 1 : 0 channels loaded from XML graph").graph_channels is None
    assert parse("NCCL INFO Search 0 : 0 channels loaded from XML graph").graph_channels == 0


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    log = parse(text)
    assert log.devices == ()
    assert all(line.raw.strip() for line in log.lines)
