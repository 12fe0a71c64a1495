# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the output of the tools is read. No row is no figure, and the exit status alone decides nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._link import iperf, perftest
from ansible_collections.switchless.spark.plugins.module_utils._link.reading import SILENT, Reading, bounded
from tests.unit.link import link_outputs as out


@pytest.mark.parametrize(
    ("rc", "stdout", "stderr", "expected"),
    [
        (0, out.rdma(out.HEALTHY_ROW), "", Reading(98.03)),
        (0, out.rdma(out.THROTTLED_ROW), "", Reading(13.33)),
        (0, out.rdma(out.THROTTLED_ROW, out.THROTTLED_BACK), "", Reading(13.23)),
        (0, out.WAITING + out.rdma(out.HEALTHY_ROW), "", Reading(98.03)),
        (0, out.rdma(out.HEALTHY_ROW), out.DRIVERS, Reading(98.03)),
        (1, out.rdma(out.HEALTHY_ROW), "", Reading(98.03)),
        (124, out.rdma(out.HEALTHY_ROW), "", Reading(98.03)),
        (
            0,
            out.rdma(),
            "",
            Reading(None, "a header but no row of figures, it ended with 0: the queue pairs did not connect"),
        ),
        (
            124,
            out.rdma(),
            "",
            Reading(
                None,
                "a header but no row of figures, it was stopped at its time limit: the queue pairs did not connect",
            ),
        ),
        (
            1,
            out.OPENING,
            out.NO_RTR,
            Reading(None, "Failed to modify QP 306 to RTR; Unable to Connect the HCA's through the link"),
        ),
        (
            0,
            out.rdma(),
            out.NO_RTR,
            Reading(None, "Failed to modify QP 306 to RTR; Unable to Connect the HCA's through the link"),
        ),
        (
            1,
            "",
            out.NO_CONNECTION,
            Reading(
                None,
                "Couldn't connect to 192.168.100.2:18515; Unable to open file descriptor for socket connection "
                "Unable to init the socket connection",
                met=False,
            ),
        ),
        (1, "", "Couldn't listen to port 18515\n", Reading(None, "Couldn't listen to port 18515", met=False)),
        (
            1,
            out.rdma(out.COMPLETION),
            "",
            Reading(None, "Completion with error at client; Failed status 12: wr_id 0 syndrom 0x81"),
        ),
        (
            1,
            out.OPENING,
            out.WENT_AWAY,
            Reading(
                None,
                "ethernet_read_keys: Couldn't read remote address; Unable to read to socket/rdma_cm; "
                "Failed to exchange data between server and clients",
            ),
        ),
        (1, "", "IB device rocep9s0f9 not found\n", Reading(None, "IB device rocep9s0f9 not found")),
        (
            1,
            " WARNING: BW peak won't be measured in this run.\n",
            out.NO_DEVICE,
            Reading(None, "Unable to find the Infiniband/RoCE device"),
        ),
        (124, "", "", Reading(None, SILENT)),
        (137, out.WAITING, "", Reading(None, SILENT)),
        (0, "", "", Reading(None, "no header of results, it ended with 0: silence")),
        (
            0,
            "\x00\ufffd garbage\nmore\n",
            "",
            Reading(None, "no header of results, it ended with 0: \x00\ufffd garbage; more"),
        ),
        (
            0,
            out.rdma(out.HEALTHY_ROW, header=out.HEADER.replace("Gb/sec", "MB/sec")),
            "",
            Reading(None, "the figures are in MB/sec, not in Gb/sec"),
        ),
        (
            0,
            out.rdma(" 1048576    0     0.00    0.00    0.000000\n"),
            "",
            Reading(None, "an average of 0 Gb/s, so nothing was measured: 1048576 0 0.00 0.00 0.000000"),
        ),
        (
            0,
            out.rdma(" 65536    0     0.00    0.00    0.000000\n"),
            "",
            Reading(None, "not a row of figures for 1048576 bytes: 65536 0 0.00 0.00 0.000000"),
        ),
        (
            0,
            out.rdma(out.HEALTHY_ROW),
            out.GID_TYPES,
            Reading(None, "Found Incompatibility issue with GID types."),
        ),
        (
            0,
            out.rdma(" 1048576    12     0.00    inf    0.000000\n"),
            "",
            Reading(None, "not a row of figures for 1048576 bytes: 1048576 12 0.00 inf 0.000000"),
        ),
        (
            0,
            out.rdma(" 65536    12     0.00    98.01    0.000000\n"),
            "",
            Reading(None, "not a row of figures for 1048576 bytes: 65536 12 0.00 98.01 0.000000"),
        ),
        (0, out.rdma(" 1048576    9534\n"), "", Reading(None, "not a row of figures: 1048576 9534")),
    ],
    ids=[
        "healthy",
        "throttled",
        "the last row counts",
        "server",
        "warnings about drivers of other makers",
        "a row with exit status 1",
        "a row, stopped while it tidied up",
        "wrong GID: header, no row, exit status 0",
        "header, then nothing until the limit",
        "wrong GID: the queue pair",
        "wrong GID: the queue pair, exit status 0",
        "no server",
        "port in use",
        "link went down",
        "other end went away",
        "no such device",
        "no device at all",
        "no client, nothing flushed",
        "no client",
        "silence",
        "garbage",
        "other unit",
        "a row of zeros",
        "a row of zeros, other size",
        "wrong GID: its type, and a row all the same",
        "infinite",
        "other size",
        "half a row",
    ],
)
def test_the_output_of_ib_write_bw(rc: int, stdout: str, stderr: str, expected: Reading) -> None:
    assert perftest.parse(rc, stdout, stderr) == expected


@pytest.mark.parametrize(
    ("rc", "stdout", "stderr", "expected"),
    [
        (0, out.tcp(), "", Reading(28.76)),
        (1, out.tcp(), "", Reading(28.76)),
        (1, out.tcp_error(out.REFUSED), "", Reading(None, out.REFUSED, met=False)),
        (1, out.tcp_error(out.REFUSED_OLD), "", Reading(None, out.REFUSED_OLD, met=False)),
        (1, out.tcp_error(out.UNREACHABLE), "", Reading(None, out.UNREACHABLE, met=False)),
        (1, out.tcp_error(out.BUSY), "", Reading(None, out.BUSY, met=False)),
        (1, out.tcp_error(out.NO_ADDRESS), "", Reading(None, out.NO_ADDRESS, met=False)),
        (1, out.tcp_error(out.IN_USE), "", Reading(None, out.IN_USE, met=False)),
        (1, out.tcp_error(out.CLOSED, connected=True), "", Reading(None, out.CLOSED)),
        (124, out.tcp_error(out.TERMINATED, connected=True), "", Reading(None, out.TERMINATED)),
        (124, out.tcp(error=out.TERMINATED), "", Reading(None, out.TERMINATED)),
        (124, out.tcp_error(out.SERVER_TERMINATED), "", Reading(None, f"{SILENT} ({out.SERVER_TERMINATED})")),
        (124, "", "", Reading(None, SILENT)),
        (0, "", "", Reading(None, "no JSON, it ended with 0: silence")),
        (0, "[]", "", Reading(None, "no JSON, it ended with 0: []")),
        (1, "", "iperf3: parameter error", Reading(None, "no JSON, it ended with 1: iperf3: parameter error")),
        (
            1,
            "",
            "iperf3: error - " + out.REFUSED_OLD,
            Reading(None, f"no JSON, it ended with 1: iperf3: error - {out.REFUSED_OLD}", met=False),
        ),
        (0, "{}", "", Reading(None, "the JSON has no end.sum_received, it ended with 0")),
        (0, '{"end": []}', "", Reading(None, "the JSON has no end.sum_received, it ended with 0")),
        (
            0,
            out.tcp(gbps=0.0),
            "",
            Reading(None, "an average of 0 Gb/s, so nothing was measured: the server received no data"),
        ),
        (0, out.tcp(gbps=float("nan")), "", Reading(None, "the JSON has no end.sum_received, it ended with 0")),
        (0, out.tcp(seconds=0.4), "", Reading(None, "it lasted 0.4 s instead of 5 s")),
    ],
    ids=[
        "ok",
        "a figure with exit status 1",
        "refused",
        "refused, older",
        "no route",
        "busy",
        "server without its address",
        "port in use",
        "other end went away",
        "stopped while it measured",
        "stopped with a figure: the tool calls it an error",
        "server, no client came",
        "nothing until the limit",
        "silence",
        "JSON of another kind",
        "not JSON",
        "refused, not JSON",
        "empty",
        "no summary",
        "zero",
        "not a number",
        "too short",
    ],
)
def test_the_output_of_iperf3(rc: int, stdout: str, stderr: str, expected: Reading) -> None:
    assert iperf.parse(rc, stdout.replace("Infinity", "1e999"), stderr, 5) == expected


@given(st.integers(0, 255), st.text(), st.text())
def test_any_text_is_read(rc: int, stdout: str, stderr: str) -> None:
    for reading in (perftest.parse(rc, stdout, stderr), iperf.parse(rc, stdout, stderr, 5)):
        assert (reading.gbps is None) == bool(reading.words)
        assert reading.gbps is None or reading.gbps > 0


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(
                st.sampled_from(["start", "end", "error", "sum_received", "bits_per_second", "seconds", "connected"]), x
            )
        ),
    )
)
def test_any_document_is_read(data: object) -> None:
    reading = iperf.parse(0, json.dumps(data), "", 5)
    assert (reading.gbps is None) == bool(reading.words)


@given(st.integers(0, len(out.rdma(out.HEALTHY_ROW))))
def test_output_that_was_cut_off_makes_no_figure_up(length: int) -> None:
    """What is left of an average that was cut off may be a number: then there is no next column."""
    reading = perftest.parse(0, out.rdma(out.HEALTHY_ROW)[:length], "")
    assert reading.gbps in (None, 98.03)


def test_the_commands() -> None:
    serve = "ib_write_bw -d rocep1s0f0 -x 3 -p 18516 -s 1048576 -q 4 -D 5 --report_gbits -F"
    assert " ".join(perftest.command("rocep1s0f0", 3, 18516, 5, None)) == serve
    assert " ".join(perftest.command("rocep1s0f0", 3, 18516, 5, "192.168.100.2")) == f"{serve} 192.168.100.2"
    send = "iperf3 -J -i 0 -c 198.18.0.2 -B 198.18.0.1 -p 18515 -t 5 -P 8 --connect-timeout 1000"
    assert " ".join(iperf.client("198.18.0.1", "198.18.0.2", 18515, 5, 8)) == send
    receive = "iperf3 -J -i 0 -s -1 -B 198.18.0.2 -p 18515 --rcv-timeout 3000"
    assert " ".join(iperf.server("198.18.0.2", 18515)) == receive
    assert bounded(13, ["iperf3"]) == ["timeout", "--kill-after=2", "13.0", "iperf3"]
