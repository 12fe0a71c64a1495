# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What perftest and iperf3 print: rows and messages from public reports, documents of iperf3 3.18 from the lab."""

from __future__ import annotations

import json
from typing import Any

RULE = "---------------------------------------------------------------------------------------\n"
WAITING = """\

************************************
* Waiting for client to connect... *
************************************
"""
HEADER = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
OPENING = f"""\
{RULE}                    RDMA_Write BW Test
 Dual-port       : OFF\t\tDevice         : rocep1s0f0
 Number of qps   : 4\t\tTransport type : IB
 Connection type : RC\t\tUsing SRQ      : OFF
 PCIe relax order: ON
 ibv_wr* API     : ON
 TX depth        : 128
 CQ Moderation   : 1
 Mtu             : 4096[B]
 Link type       : Ethernet
 GID index       : 3
 Max inline data : 0[B]
 rdma_cm QPs\t : OFF
 Data ex. method : Ethernet
{RULE} local address: LID 0000 QPN 0x0132 PSN 0x2a1fcd RKey 0x184f00 VAddr 0x00ffff9d400000
 GID: 00:00:00:00:00:00:00:00:00:00:255:255:192:168:100:01
 remote address: LID 0000 QPN 0x0132 PSN 0x91d5a0 RKey 0x184f00 VAddr 0x00ffff8b200000
 GID: 00:00:00:00:00:00:00:00:00:00:255:255:192:168:100:02
{RULE}"""
THROTTLED_ROW = " 1048576    9534             0.00               13.33  \t\t   0.001589\n"
THROTTLED_BACK = " 1048576    9465             0.00               13.23  \t\t   0.001578\n"
HEALTHY_ROW = " 1048576    70121            0.00               98.03  \t\t   0.011686\n"
DRIVERS = "libibverbs: Warning: couldn't load driver 'libmana-rdmav34.so': libmana-rdmav34.so: cannot open\n"
NO_CONNECTION = """\
Couldn't connect to 192.168.100.2:18515
Unable to open file descriptor for socket connection Unable to init the socket connection
"""
NO_DEVICE = """\
 Did not detect devices
 If device exists, check if driver is up
 Unable to find the Infiniband/RoCE device
"""
GID_TYPES = " Found Incompatibility issue with GID types.\n Please Try to use a different IP version.\n\n"
NO_RTR = "Failed to modify QP 306 to RTR\n Unable to Connect the HCA's through the link\n"
WENT_AWAY = """\
ethernet_read_keys: Couldn't read remote address
 Unable to read to socket/rdma_cm
Failed to exchange data between server and clients
"""
COMPLETION = """\
 Completion with error at client
 Failed status 12: wr_id 0 syndrom 0x81
scnt=128, ccnt=0
"""


def rdma(*rows: str, header: str = HEADER) -> str:
    """The output of ib_write_bw around its rows."""
    return OPENING + header + "".join(rows) + (RULE if rows else "")


def tcp(gbps: float = 28.76, seconds: float = 5.0, **more: Any) -> str:
    """The document of an iperf3 client, with -i 0."""
    summary = {"start": 0, "end": seconds, "seconds": seconds, "bytes": 17976000000}
    return json.dumps(
        {
            "start": {
                "connected": [
                    {
                        "socket": 5,
                        "local_host": "198.18.0.1",
                        "local_port": 36841,
                        "remote_host": "198.18.0.2",
                        "remote_port": 18515,
                    }
                ],
                "version": "iperf 3.18",
                "connecting_to": {"host": "198.18.0.2", "port": 18515},
                "test_start": {"protocol": "TCP", "num_streams": 8, "blksize": 131072, "duration": 5, "reverse": 0},
            },
            "intervals": [],
            "end": {
                "sum_sent": summary | {"bits_per_second": gbps * 1.01e9, "retransmits": 12, "sender": True},
                "sum_received": summary | {"bits_per_second": gbps * 1e9, "sender": True},
                "cpu_utilization_percent": {"host_total": 61.2, "remote_total": 38.1},
            },
        }
        | more,
        indent="\t",
    )


def tcp_error(words: str, *, connected: bool = False) -> str:
    """The document of an iperf3 that gave up."""
    data: dict[str, Any] = {
        "start": {"connected": [], "version": "iperf 3.18"},
        "intervals": [],
        "end": {},
        "error": words,
    }
    if connected:
        data["start"]["connected"] = [{"socket": 5, "local_host": "198.18.0.1"}]
    return json.dumps(data, indent="\t")


REFUSED = (
    "unable to connect to server - server may have stopped running or use a different port, firewall issue, etc.: "
    "Connection refused"
)
REFUSED_OLD = "unable to connect to server: Connection refused"
UNREACHABLE = (
    "unable to connect to server - server may have stopped running or use a different port, firewall issue, etc.: "
    "No route to host"
)
BUSY = "the server is busy running a test. try again later"
TERMINATED = "interrupt - the client has terminated by signal Terminated(15)"
SERVER_TERMINATED = "interrupt - the server has terminated"
CLOSED = "control socket has closed unexpectedly"
NO_ADDRESS = "error - unable to start listener for connections: Cannot assign requested address"
IN_USE = "error - unable to start listener for connections: Address already in use"
