# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NCCL did against what it was told: over sockets, over RDMA, and with one thing wrong at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.testing import patch_module_args
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._nccl.compare import differences, expected_from
from ansible_collections.switchless.spark.plugins.module_utils._nccl.graph import generate, render
from ansible_collections.switchless.spark.plugins.module_utils._nccl.log import parse
from ansible_collections.switchless.spark.plugins.module_utils._nccl.model import Device, device_to_dict
from ansible_collections.switchless.spark.plugins.module_utils._nccl.xml import parse as parse_graph
from ansible_collections.switchless.spark.plugins.modules import nccl_graph_info

WRITTEN = Path(__file__).parent / "written"
SOCKETS, RDMA = ((WRITTEN / f"{name}.log").read_text() for name in ("sockets", "rdma"))


def devices(*names: tuple[str, str, str, str]) -> tuple[Device, ...]:
    """Devices as NCCL numbers them: name, cage, root, neighbour."""
    return tuple(
        Device(number, name, name.replace("roce", "en"), "", cage, root, 4 if towards == "previous" else 1, towards)
        for number, (name, cage, root, towards) in enumerate(names)
    )


OVER_SOCKETS = devices(
    ("enp1s0f1np1", "p1", "A", "next"),
    ("enP2p1s0f1np1", "p1", "B", "next"),
    ("enp1s0f0np0", "p0", "A", "previous"),
    ("enP2p1s0f0np0", "p0", "B", "previous"),
)
OVER_RDMA = devices(
    ("rocep1s0f0", "p0", "A", "previous"),
    ("rocep1s0f1", "p1", "A", "next"),
    ("roceP2p1s0f0", "p0", "B", "previous"),
    ("roceP2p1s0f1", "p1", "B", "next"),
)
AWARE = {"NCCL_NET": "IB", "NCCL_IB_SUBNET_AWARE_ROUTING": "1", "NCCL_DEBUG_SUBSYS": "INIT,ENV,NET,GRAPH"}
TCP = {"NCCL_NET": "Socket", "NCCL_IB_DISABLE": "1", "NCCL_ALGO": "Ring"}


def expected(ports: tuple[Device, ...], environment: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "devices": [device_to_dict(device) for device in ports],
        "graph": render(generate(ports, 2)),
        "environment": environment,
        "rank": 0,
        "ranks": 4,
    } | more


def told(text: str, wanted: dict[str, Any], dump: str | None = None) -> list[tuple[str, str]]:
    dumped = None if dump is None else parse_graph(dump)
    return [(found.code, found.text) for found in differences(parse(text), dumped, expected_from(wanted))]


@pytest.mark.parametrize("dump", [None, render(generate(OVER_SOCKETS, 2)), render(generate(OVER_SOCKETS, 4))])
def test_over_sockets_all_is_as_told(dump: str | None) -> None:
    assert told(SOCKETS, expected(OVER_SOCKETS, TCP), dump) == []


def test_over_rdma_all_is_as_told() -> None:
    assert told(RDMA, expected(OVER_RDMA, AWARE)) == []


def swapped(*order: int) -> tuple[Device, ...]:
    ports = [OVER_SOCKETS[index] for index in order]
    return devices(*((port.device, port.cage, port.root, port.towards) for port in ports))


def test_another_order_of_the_devices() -> None:
    found = told(SOCKETS, expected(swapped(2, 0, 3, 1), TCP))
    assert found[0][0] == "device_order"
    assert (
        "[0]enp1s0f1np1 [1]enP2p1s0f1np1 [2]enp1s0f0np0 [3]enP2p1s0f0np0, the graph was written for [0]enp1s0f0np0"
        in (found[0][1])
    )
    assert {code for code, _text in found} == {"device_order", "via"}


WRONG: tuple[tuple[str, str, str, dict[str, Any], str, str], ...] = (
    ("device", "rdma", "[1]rocep1s0f1:1/RoCE ", {}, "", "devices"),
    ("rank", "sockets", "", {"rank": 2}, "rank 0 on the node that is rank 2", "rank"),
    ("ranks", "sockets", "", {"ranks": 3}, "4 ranks, expected 3", "ranks"),
    (
        "ring",
        "sockets",
        "Ring 01 : 3 -> 0 -> 1|Ring 01 : 2 -> 0 -> 1",
        {},
        "ring 1 goes 2 to 0 to 1, expected 3",
        "ring",
    ),
    (
        "loaded",
        "sockets",
        "Search 0 : 2 ch|Search 0 : 0 ch",
        {},
        "took 0 channels from the graph, expected 2",
        "channels",
    ),
    ("graph", "sockets", "Search 0 : 2 channels loaded from XML graph", {}, "says nothing of loading", "channels"),
    (
        "via",
        "sockets",
        "0[0] -> 1[0] [send] via NET/Socket/3|0[0] -> 1[0] [send] via NET/Socket/0",
        {},
        "channel 1 sends to rank 1 over device 0 (enp1s0f1np1, cage p1, root A, cable 1), expected device 1 (enP2",
        "via",
    ),
    (
        "receive",
        "rdma",
        "[receive] via NET/IB/2|[receive] via NET/IB/9",
        {},
        "channel 1 receives from rank 3 over device 9, which is not there, expected device 2 (roceP2p1s0f0",
        "via",
    ),
    (
        "override",
        "rdma",
        "NET/IB: Subnet-aware routing: overriding dev 2 with dev 3",
        {},
        "does not say that it sends over device 3 (roceP2p1s0f1",
        "override_missing",
    ),
    (
        "root",
        "rdma",
        "overriding dev 2 with dev 3|overriding dev 2 with dev 1",
        {},
        "the other PCIe root",
        "override_root",
    ),
    ("version", "rdma", "nccl==2.30.7|nccl==2.28.9", {}, "2.28.9 is loaded, expected 2.30.7", "version"),
    ("net", "rdma", "Using network IB|Using network Socket", {}, "the network Socket, expected IB", "net"),
    (
        "told",
        "sockets",
        "ALGO set by environment to Ring|ALGO set by environment to Tree",
        {},
        "NCCL_ALGO=Tree",
        "environment",
    ),
    (
        "gid",
        "rdma",
        "NCCL_IB_SUBNET_AWARE_ROUTING set by environment to 1.|NCCL_IB_GID_INDEX set by environment to 3.",
        {},
        "NCCL_IB_GID_INDEX=3, expected it not to be set",
        "environment",
    ),
)


@pytest.mark.parametrize(("name", "log", "change", "more", "words", "code"), WRONG, ids=[row[0] for row in WRONG])
def test_one_thing_wrong(name: str, log: str, change: str, more: dict[str, Any], words: str, code: str) -> None:
    before, after = change.split("|") if "|" in change else (change, "")
    text = SOCKETS if log == "sockets" else RDMA
    assert before in text, name
    wanted = expected(OVER_SOCKETS, TCP, **more) if log == "sockets" else expected(OVER_RDMA, AWARE, **more)
    found = told(text.replace(before, after), wanted)
    assert code in [one for one, _text in found]
    assert any(words in text for one, text in found if one == code)


def test_where_the_log_is_silent_nothing_is_said() -> None:
    """Without the lines of NET, whether NCCL overrode its choice is not known."""
    lines = [line for line in RDMA.splitlines() if "Subnet-aware" not in line]
    quiet = {"NCCL_IB_SUBNET_AWARE_ROUTING": "1", "NCCL_DEBUG_SUBSYS": "INIT"}
    assert told("\n".join(lines), expected(OVER_RDMA, quiet)) == []
    assert told("", expected(OVER_RDMA, AWARE)) == []


def test_connections_of_send_and_receive_have_other_devices() -> None:
    more = "a:1:2 [0] NCCL INFO Channel 00/1 : 0[0] -> 1[0] [send] via NET/IB/3"
    assert told(f"{RDMA}{more}\n", expected(OVER_RDMA, AWARE)) == []


def test_a_dump_of_another_graph() -> None:
    found = told(SOCKETS, expected(OVER_SOCKETS, TCP), render(generate(swapped(2, 0, 3, 1), 2)))
    assert [code for code, _text in found] == ["dump", "dump"]
    assert found[0][1].startswith("channel 0 of the dumped graph receives on device 0 (enp1s0f1np1")
    assert told(SOCKETS, expected(OVER_SOCKETS, TCP), render(generate(OVER_SOCKETS, 3)))[-1][1].endswith(
        "or a multiple"
    )
    tree = render(generate(OVER_SOCKETS, 2)).replace('id="0"', 'id="1"')
    assert "has no ring" in told(SOCKETS, expected(OVER_SOCKETS, TCP), tree)[0][1]


def test_without_expectations_nothing_differs() -> None:
    assert told(SOCKETS, {}) == []
    assert told(RDMA, {}, render(generate(OVER_RDMA, 2))) == []


@given(st.lists(st.sampled_from([*SOCKETS.splitlines(), *RDMA.splitlines()]), max_size=25), st.booleans())
def test_any_part_of_a_log_can_be_compared(lines: list[str], rdma: bool) -> None:
    wanted = expected(OVER_RDMA, AWARE) if rdma else expected(OVER_SOCKETS, TCP)
    assert all(text for _code, text in told("\n".join(lines), wanted))


def run(capsys: pytest.CaptureFixture[str], **args: Any) -> Any:
    with patch_module_args(args), pytest.raises(SystemExit):
        nccl_graph_info.main()
    return json.loads(capsys.readouterr().out)


def test_the_module(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log, dump = tmp_path / "log", tmp_path / "dump.xml"
    log.write_text(SOCKETS)
    dump.write_text(render(generate(OVER_SOCKETS, 2)))
    result = run(capsys, log=str(log), dump=str(dump), expected=expected(OVER_SOCKETS, TCP), _ansible_check_mode=True)
    assert result["changed"] is False
    seen = result["nccl"]
    assert (seen["log"]["version"], seen["dump"][0]["nchannels"], seen["differences"]) == ("2.28.9+cuda13.0", 2, [])
    assert seen["dump"][0]["channels"][1] == {"receive": 3, "gpu": 0, "send": 1, "rank": None}
    documented = yaml.safe_load(nccl_graph_info.RETURN)["nccl"]["contains"]
    assert sorted(documented) == sorted(seen)
    assert sorted(documented["log"]["contains"]) == sorted(seen["log"])
    result = run(capsys, log=str(log), expected=expected(OVER_SOCKETS, TCP, rank=1))
    assert [found["code"] for found in result["nccl"]["differences"]] == ["rank"]


def test_files_that_are_not_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    nothing = str(tmp_path / "nothing")
    for args in ({}, {"log": nothing, "dump": nothing, "expected": expected(OVER_SOCKETS, TCP)}):
        seen = run(capsys, **args)["nccl"]
        assert seen == {"schema": 1, "log": None, "dump": None, "dump_error": None, "differences": []}


def test_a_dump_that_cannot_be_read(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    dump = tmp_path / "dump.xml"
    dump.write_text("<?xml?>")
    seen = run(capsys, dump=str(dump))["nccl"]
    assert seen["dump"] is None
    assert seen["dump_error"].startswith("line 1, column 1")


@pytest.mark.parametrize("wrong", [{"devices": [{"index": 3}]}, {"graph": "<graph>"}])
def test_expectations_that_cannot_be(capsys: pytest.CaptureFixture[str], wrong: dict[str, Any]) -> None:
    result = run(capsys, expected=wrong)
    assert result["failed"] is True
    assert result["msg"].startswith("expected: ")
