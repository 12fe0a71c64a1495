# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How two ends meet and what becomes of it: scripted tools, a clock that the script moves, the real main()."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._link.meet import Bench, Item, take_all
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Result
from ansible_collections.switchless.spark.plugins.modules import link_bandwidth
from tests.unit.link import link_outputs as out

GID = "0000:0000:0000:0000:0000:ffff:c0a8:6401"
SMI = "nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv,noheader"
NOT_THERE = Result(127, "", "not installed")


class Node:
    """Sysfs of one port, and tools that answer in turn; each answer may take time and do something to the node."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.time = 100.0
        self.asked: list[str] = []
        self.answers: list[tuple[float, Result, Callable[[], None]]] = []
        self.programs: dict[str, Result] = {}
        self.link(carrier="1", downs="1")
        self.gid(3, GID, "RoCE v2")
        self.gid(2, GID, "IB/RoCE v1")

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n", encoding="ascii")

    def link(self, *, carrier: str, downs: str) -> None:
        self.write("class/net/enp1s0f0np0/carrier", carrier)
        self.write("class/net/enp1s0f0np0/carrier_down_count", downs)

    def gid(self, index: int, gid: str, kind: str) -> None:
        port = "class/infiniband/rocep1s0f0/ports/1"
        self.write(f"{port}/gids/{index}", gid)
        self.write(f"{port}/gid_attrs/types/{index}", kind)

    def verbs(self) -> None:
        self.write("class/infiniband_verbs/abi_version", "6")
        self.write("class/infiniband_verbs/uverbs0/ibdev", "rocep1s0f0")
        self.write("class/infiniband_verbs/uverbs1/ibdev", "rocep1s0f1")
        self.write("dev/infiniband/uverbs0", "")

    def answer(
        self, result: Result, seconds: float = 0.1, then: Callable[[], None] = lambda: None, times: int = 1
    ) -> None:
        self.answers += [(seconds, result, then)] * times

    def run(self, argv: Sequence[str], *, data: str | None = None) -> Result:
        assert data is None
        if argv[0] != "timeout":
            return self.programs.get(argv[0], NOT_THERE)
        self.asked.append(" ".join(argv))
        seconds, result, then = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        self.time += seconds
        then()
        return result

    def sleep(self, seconds: float) -> None:
        self.time += seconds

    def bench(self, **more: Any) -> Bench:
        return Bench(Tree(str(self.root)), self, lambda: self.time, self.sleep, 5, 8, more.get("wait", 12))


@pytest.fixture
def spark(tmp_path: Path) -> Node:
    return Node(tmp_path)


def item(side: str = "client", method: str = "rdma", **more: Any) -> dict[str, Any]:
    return {
        "cable": 1,
        "root": "A",
        "cage": "p0",
        "direction": "out" if side == "client" else "in",
        "peer": "spark2:p1",
        "side": side,
        "method": method,
        "netdev": "enp1s0f0np0",
        "rdma": "rocep1s0f0",
        "address": "192.168.100.1",
        "peer_address": "192.168.100.2",
        "port": 18515,
    } | more


def outcome(spark: Node, *items: dict[str, Any]) -> dict[str, Any]:
    return take_all(spark.bench(), [Item(**one) for one in items])[-1]


SEND = "iperf3 -J -i 0 -c 192.168.100.2 -B 192.168.100.1 -p 18515 -t 5 -P 8 --connect-timeout 1000"
WRITE = "ib_write_bw -d rocep1s0f0 -x 3 -p 18515 -s 1048576 -q 4 -D 5 --report_gbits -F"


@pytest.mark.parametrize(
    ("side", "method", "command"),
    [
        ("client", "rdma", f"timeout --kill-after=2 13.0 {WRITE} 192.168.100.2"),
        ("server", "rdma", f"timeout --kill-after=2 38.0 {WRITE}"),
        (
            "client",
            "tcp",
            f"timeout --kill-after=2 13.0 {SEND}",
        ),
        (
            "server",
            "tcp",
            "timeout --kill-after=2 38.0 iperf3 -J -i 0 -s -1 -B 192.168.100.1 -p 18515 --rcv-timeout 3000",
        ),
    ],
)
def test_what_is_run_and_returned(spark: Node, side: str, method: str, command: str) -> None:
    text = out.rdma(out.HEALTHY_ROW) if method == "rdma" else out.tcp(gbps=98.03)
    spark.answer(Result(0, text, "a warning"))
    assert outcome(spark, item(side, method)) == {
        "cable": 1,
        "cage": "p0",
        "root": "A",
        "direction": "out" if side == "client" else "in",
        "peer": "spark2:p1",
        "method": method,
        "side": side,
        "gbps": 98.03,
        "detail": "",
        "lost": False,
        "raw": f"{text}\na warning",
    }
    assert spark.asked == [command]


def test_the_client_tries_until_the_server_is_there(spark: Node) -> None:
    spark.answer(Result(1, "", out.NO_CONNECTION), times=20)
    spark.answer(Result(0, out.rdma(out.HEALTHY_ROW)))
    assert outcome(spark, item())["gbps"] == 98.03
    assert len(spark.asked) == 21


@pytest.mark.parametrize(
    ("method", "result", "words"),
    [
        ("rdma", Result(1, "", out.NO_CONNECTION), "Couldn't connect to 192.168.100.2:18515"),
        ("tcp", Result(1, out.tcp_error(out.REFUSED)), "Connection refused"),
        ("tcp", Result(1, out.tcp_error(out.UNREACHABLE)), "No route to host"),
    ],
)
def test_a_server_that_never_comes(spark: Node, method: str, result: Result, words: str) -> None:
    spark.answer(result, seconds=1)
    seen = outcome(spark, item(method=method))
    assert seen["gbps"] is None
    assert words in seen["detail"]
    assert 125 <= spark.time <= 140, "a slot, and what the last try may take"


def test_a_server_takes_its_port_as_soon_as_it_can(spark: Node) -> None:
    spark.answer(Result(1, out.tcp_error(out.IN_USE)), times=3)
    spark.answer(Result(0, out.tcp()))
    assert outcome(spark, item("server", "tcp"))["gbps"] == 28.76
    limits = [float(asked.split()[2]) for asked in spark.asked]
    assert limits == sorted(limits, reverse=True), "it is not there longer than it must"


def test_after_a_failure_there_is_time_to_meet_the_other_end_again(spark: Node) -> None:
    """The first ends at once because of a wrong GID; the other end notices only when its slot is over."""
    spark.answer(Result(0, out.rdma()))
    spark.answer(Result(1, "", out.NO_CONNECTION), seconds=0.8, times=30)
    spark.answer(Result(0, out.rdma(out.HEALTHY_ROW)))
    assert outcome(spark, item(), item(port=18516))["gbps"] == 98.03
    assert spark.time > 125


@pytest.mark.parametrize("good", [0, 1, 3])
def test_a_server_whose_cable_is_pulled_ends_soon(spark: Node, good: int) -> None:
    """Its client is gone without a word, so that only the time limit ends it; what comes after it fails at once."""
    spark.answer(Result(0, out.rdma(out.HEALTHY_ROW)), seconds=6, times=good)
    spark.answer(Result(124, out.WAITING), seconds=38, then=lambda: spark.link(carrier="0", downs="2"))
    start = spark.time
    seen = outcome(spark, *[item("server") for _number in range(4)])
    assert [asked.split()[2] for asked in spark.asked] == ["38.0"] * (good + 1), "5 + 8 to measure, 25 to meet"
    assert spark.time - start - 6 * good <= 60
    assert seen["gbps"] is None


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (Result(0, out.rdma()), "a header but no row of figures"),
        (Result(1, out.OPENING, out.NO_RTR), "Failed to modify QP 306 to RTR"),
        (Result(0, "?"), "no header of results, it ended with 0: ?"),
        (Result(127, "", "timeout: failed to run command"), "ib_write_bw cannot be started: timeout: failed to run"),
        (Result(124), "nothing came of it until the time limit"),
    ],
    ids=["wrong GID", "wrong GID, with words", "garbage", "not installed", "no client"],
)
def test_what_trying_again_does_not_mend_is_not_tried_again(spark: Node, result: Result, words: str) -> None:
    spark.answer(result)
    seen = outcome(spark, item())
    assert seen["gbps"] is None
    assert words in seen["detail"]
    assert len(spark.asked) == 1


@pytest.mark.parametrize(
    ("carrier", "downs", "text", "said"),
    [
        ("0", "2", out.rdma(out.COMPLETION), "Completion with error at client"),
        ("0", "1", out.rdma(out.HEALTHY_ROW), "98.03 Gb/s"),
        ("1", "2", out.rdma(out.HEALTHY_ROW), "98.03 Gb/s"),
    ],
    ids=["it is down", "down, not counted", "down and up again"],
)
def test_a_link_that_goes_down_while_it_is_measured(
    spark: Node, carrier: str, downs: str, text: str, said: str
) -> None:
    spark.answer(Result(0, text), then=lambda: spark.link(carrier=carrier, downs=downs))
    seen = outcome(spark, item())
    assert (seen["gbps"], seen["lost"]) == (None, True)
    assert seen["detail"].startswith("enp1s0f0np0 lost its link during the measurement; ib_write_bw says: ")
    assert said in seen["detail"]


def test_nobody_waits_for_a_link_that_is_down(spark: Node) -> None:
    spark.link(carrier="0", downs="1")
    seen = outcome(spark, item())
    assert (seen["gbps"], seen["detail"], spark.asked) == (None, "enp1s0f0np0 has no link", [])


def test_the_index_of_the_gid_is_found_by_address_each_time(spark: Node) -> None:
    def drift() -> None:
        spark.gid(3, "0000:0000:0000:0000:0000:0000:0000:0000", "")
        spark.gid(5, GID, "RoCE v2")

    spark.answer(Result(0, out.rdma(out.HEALTHY_ROW)), then=drift)
    outcome(spark, item(), item())
    assert [asked.split()[6:8] for asked in spark.asked] == [["-x", "3"], ["-x", "5"]]


def test_no_gid_of_the_address(spark: Node) -> None:
    seen = outcome(spark, item(address="192.168.100.9"))
    assert seen["gbps"] is None
    assert seen["detail"] == (
        "rocep1s0f0 has no RoCE v2 GID of 192.168.100.9; it has 2: 192.168.100.1 RoCE v1, 3: 192.168.100.1 RoCE v2"
    )
    assert outcome(spark, item(rdma="rocep1s0f1"))["detail"].endswith("; it has none")
    assert spark.asked == []


# --- the module ---


@pytest.fixture
def module(spark: Node, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    monkeypatch.setattr(link_bandwidth, "ModuleRunner", lambda _module: spark)
    monkeypatch.setattr(link_bandwidth, "SYSFS_ROOT", str(spark.root))
    monkeypatch.setattr(link_bandwidth, "DEV_ROOT", str(spark.root / "dev"))
    monkeypatch.setattr(link_bandwidth.time, "monotonic", lambda: spark.time)
    monkeypatch.setattr(link_bandwidth.time, "sleep", spark.sleep)

    def run(**args: Any) -> Any:
        with patch_module_args(args), pytest.raises(SystemExit):
            link_bandwidth.main()
        return json.loads(capsys.readouterr().out)

    return run


def test_what_a_node_has(spark: Node, module: Callable[..., Any]) -> None:
    spark.verbs()
    spark.programs = {
        "iperf3": Result(0, "iperf 3.18"),
        "nvidia-smi": Result(0, "4711, /usr/bin/python3, 96000 MiB\n"),
    }
    assert module() == {
        "changed": False,
        "measured": [],
        "readiness": {
            "verbs": ["rocep1s0f0"],
            "verbs_detail": "",
            "tools": ["iperf3"],
            "gpu_processes": ["4711, /usr/bin/python3, 96000 MiB"],
        },
    }


@pytest.mark.parametrize(
    "answer",
    [NOT_THERE, Result(9, "No devices were found\n"), Result(0, ""), Result(0, "No running processes found\n")],
)
def test_a_gpu_that_nobody_uses(spark: Node, module: Callable[..., Any], answer: Result) -> None:
    spark.programs = {"nvidia-smi": answer}
    readiness = module()["readiness"]
    assert readiness["gpu_processes"] == []
    assert (readiness["verbs"], readiness["verbs_detail"]) == (
        [],
        "programs cannot open an RDMA device here: no /dev/infiniband/uverbs*",
    )


def test_the_module_measures(spark: Node, module: Callable[..., Any]) -> None:
    spark.answer(Result(0, out.rdma(out.THROTTLED_ROW)))
    spark.answer(Result(0, out.tcp()))
    result = module(measurements=[item(), item("server", "tcp", rdma=None)], seconds=4, streams=2)
    assert result["changed"] is False
    assert [(row["direction"], row["gbps"]) for row in result["measured"]] == [("out", 13.33), ("in", 28.76)]
    assert "-D 4 " in spark.asked[0]


def test_check_mode_measures_nothing(spark: Node, module: Callable[..., Any]) -> None:
    result = module(measurements=[item()], _ansible_check_mode=True)
    assert (result["measured"], spark.asked) == ([], [])


@pytest.mark.parametrize("force", [False, True])
def test_a_gpu_in_use(spark: Node, module: Callable[..., Any], *, force: bool) -> None:
    spark.programs = {"nvidia-smi": Result(0, "4711, vllm, 96000 MiB\n")}
    spark.answer(Result(0, out.rdma(out.HEALTHY_ROW)))
    result = module(measurements=[item()], force=force)
    if force:
        assert result["measured"][0]["gbps"] == 98.03
    else:
        assert result["failed"]
        assert result["msg"] == (
            "The GPU is in use (4711, vllm, 96000 MiB). Stop what runs there, or measure with force=true."
        )
        assert spark.asked == []


def test_rdma_needs_a_device(module: Callable[..., Any]) -> None:
    given = item()
    del given["rdma"]
    result = module(measurements=[given])
    assert result["failed"]
    assert "method is rdma but all of the following are missing: rdma" in result["msg"]
