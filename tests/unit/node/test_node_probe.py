# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a probe is judged: real output of iputils 20221126, real connections on the loopback."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.switchless.spark.plugins.module_utils._node import probe
from ansible_collections.switchless.spark.plugins.module_utils._node.probe import Outcome, connect, parse_ping, ping
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Result
from ansible_collections.switchless.spark.plugins.modules import fabric_probe_info

ANSWER = """\
PING 192.168.100.2 (192.168.100.2) from 192.168.100.1 : 8972(9000) bytes of data.
8980 bytes from 192.168.100.2: icmp_seq=1 ttl=64 time=0.119 ms

--- 192.168.100.2 ping statistics ---
1 packets transmitted, 1 received, 0% packet loss, time 0ms
rtt min/avg/max/mdev = 0.119/0.119/0.119/0.000 ms
"""
NO_ANSWER = """\
PING 192.168.100.2 (192.168.100.2) from 192.168.100.1 : 972(1000) bytes of data.

--- 192.168.100.2 ping statistics ---
1 packets transmitted, 0 received, 100% packet loss, time 0ms

"""
UNREACHABLE = """\
PING 192.168.100.2 (192.168.100.2) from 192.168.100.1 : 972(1000) bytes of data.
From 192.168.100.1 icmp_seq=1 Destination Host Unreachable

--- 192.168.100.2 ping statistics ---
1 packets transmitted, 0 received, +1 errors, 100% packet loss, time 0ms

"""
TOO_LONG = """\
PING 192.0.2.1 (192.0.2.1) from 192.0.2.11 : 8972(9000) bytes of data.

--- 192.0.2.1 ping statistics ---
1 packets transmitted, 0 received, +1 errors, 100% packet loss, time 0ms

"""
TOO_LONG_ON_THE_WAY = """\
PING 192.0.2.1 (192.0.2.1) from 192.0.2.11 : 8972(9000) bytes of data.
From 192.0.2.254 icmp_seq=1 Frag needed and DF set (mtu = 1500)

--- 192.0.2.1 ping statistics ---
1 packets transmitted, 0 received, +1 errors, 100% packet loss, time 0ms

"""


@pytest.mark.parametrize(
    ("rc", "stdout", "stderr", "expected"),
    [
        (0, ANSWER, "", Outcome(True, 0.119, "answered")),
        (0, ANSWER.replace("time=0.119 ms", "time=12 ms"), "", Outcome(True, 12.0, "answered")),
        (1, NO_ANSWER, "", Outcome(False, None, "no answer")),
        (0, NO_ANSWER, "", Outcome(False, None, NO_ANSWER.strip())),
        (1, ANSWER, "", Outcome(False, None, "no answer")),
        (1, UNREACHABLE, "", Outcome(False, None, "unreachable")),
        (2, "", "ping: connect: Network is unreachable\n", Outcome(False, None, "unreachable")),
        (
            1,
            TOO_LONG,
            "ping: local error: message too long, mtu=1500\n",
            Outcome(False, None, "the packet is larger than the MTU somewhere on the path"),
        ),
        (1, TOO_LONG_ON_THE_WAY, "", Outcome(False, None, "the packet is larger than the MTU somewhere on the path")),
        (
            2,
            "",
            "ping: bind: Cannot assign requested address\n",
            Outcome(False, None, "this node does not have the source address"),
        ),
        (127, "", "ping: not installed", Outcome(False, None, "ping: not installed")),
        (2, "", "", Outcome(False, None, "ping ended with 2")),
    ],
    ids=[
        "answer",
        "slow answer",
        "no answer",
        "status 0 without an answer is none",
        "an answer with status 1 is none",
        "host unreachable",
        "network unreachable",
        "too long for the own port",
        "too long for a port on the way",
        "no such source",
        "no such program",
        "silence",
    ],
)
def test_the_output_of_ping(rc: int, stdout: str, stderr: str, expected: Outcome) -> None:
    assert parse_ping(rc, stdout, stderr) == expected


@dataclass
class Answers:
    """A runner that gives one result after the other, the last one for ever."""

    results: list[Result]
    asked: list[list[str]] = field(default_factory=list)

    def run(self, argv: Sequence[str], *, data: str | None = None) -> Result:
        assert data is None
        self.asked.append(list(argv))
        return self.results.pop(0) if len(self.results) > 1 else self.results[0]


def test_the_command_of_a_ping() -> None:
    runner = Answers([Result(0, ANSWER)])
    assert ping(runner, "192.168.100.1", "192.168.100.2", 8972).ok
    assert runner.asked == [
        ["ping", "-n", "-c", "1", "-W", "1", "-M", "do", "-s", "8972", "-I", "192.168.100.1", "192.168.100.2"],
    ]


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def test_a_connection_to_an_open_port(listener: socket.socket) -> None:
    outcome = connect("127.0.0.1", listener.getsockname()[1])
    assert (outcome.ok, outcome.detail) == (True, "connected")
    assert outcome.rtt_ms is not None
    assert 0 <= outcome.rtt_ms < 1000


def test_a_refusal_proves_the_path_as_well() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert (connect("127.0.0.1", port).ok, connect("127.0.0.1", port).detail) == (True, "refused by the far node")


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (TimeoutError("timed out"), "no answer"),
        (OSError(113, "No route to host"), "No route to host"),
        (OSError(101, "Network is unreachable"), "Network is unreachable"),
        (OSError("nothing more is known"), "nothing more is known"),
    ],
)
def test_a_connection_that_fails(monkeypatch: pytest.MonkeyPatch, error: OSError, detail: str) -> None:
    def fail(_address: object, timeout: float) -> None:
        assert timeout == 1.0
        raise error

    monkeypatch.setattr(probe.socket, "create_connection", fail)
    assert connect("192.168.104.2", 22) == Outcome(False, None, detail)


PING = {"name": "cable 1 root A", "source": "192.168.100.1", "target": "192.168.100.2"}


@pytest.mark.parametrize(
    ("pings", "answers", "ok", "failures", "tries"),
    [
        ([], [Result(0, ANSWER)], False, [], 0),
        ([PING], [Result(0, ANSWER)], True, [], 1),
        ([PING], [Result(1, NO_ANSWER), Result(1, UNREACHABLE), Result(0, ANSWER)], True, [], 3),
        ([PING], [Result(1, NO_ANSWER)], False, ["cable 1 root A (ping 192.168.100.2): no answer"], None),
    ],
    ids=["nothing to probe is no proof", "at once", "at the third", "never"],
)
def test_the_module(
    pings: list[dict[str, str]],
    answers: list[Result],
    ok: bool,
    failures: list[str],
    tries: int | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    runner = Answers(answers)
    monkeypatch.setattr(fabric_probe_info, "ModuleRunner", lambda _module: runner)
    monkeypatch.setattr(fabric_probe_info, "PAUSE_SECONDS", 0.001)
    timeout = 0 if failures else 10
    args = {"pings": pings, "timeout": timeout, "_ansible_check_mode": True}
    with patch_module_args(args), pytest.raises(SystemExit) as end:
        fabric_probe_info.main()
    result = json.loads(capsys.readouterr().out)
    assert end.value.code == 0
    assert (result["ok"], result["failures"], result["changed"]) == (ok, failures, False)
    assert tries is None or len(runner.asked) == tries


def test_the_module_connects(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fabric_probe_info, "ModuleRunner", lambda _module: Answers([Result(0, ANSWER)]))
    wanted = {"name": "relay from 329f to c049", "target": "127.0.0.1"}
    port = listener.getsockname()[1]
    with patch_module_args({"pings": [PING], "connections": [wanted], "port": port}), pytest.raises(SystemExit):
        fabric_probe_info.main()
    result = json.loads(capsys.readouterr().out)
    assert result["ok"]
    assert [(p["kind"], p["name"], p["target"], p["detail"]) for p in result["probes"]] == [
        ("ping", "cable 1 root A", "192.168.100.2", "answered"),
        ("tcp", "relay from 329f to c049", "127.0.0.1", "connected"),
    ]
