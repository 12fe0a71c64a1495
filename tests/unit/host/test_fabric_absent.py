# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fabric is taken away by the roll-back program itself: fabric_network with state absent, and the role's script."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._node import change, undo
from ansible_collections.switchless.spark.plugins.module_utils._node.netplan import Port
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Result
from tests.unit.node.node_bench import Bench, made
from tests.unit.node.node_world import LAN, PORTS, UNIT, FakeNode
from tests.unit.rendering import CHECKOUT, load, render

SCRIPT = CHECKOUT / "roles/fabric/files/fabric-rollback"
STUB = '#!/bin/sh\necho "${0##*/} $*" >>"$RECORD"\n'
OWN = "network:\n  version: 2\n  ethernets:\n" + "".join(f"    {name}:\n      mtu: 9000\n" for name in PORTS)
CX7 = f"network:\n  version: 2\n  ethernets:\n    {PORTS[0]}:\n      dhcp4: true\n"
MIXED = f"network:\n  version: 2\n  ethernets:\n    {LAN}:\n      dhcp4: true\n    {PORTS[0]}:\n      dhcp4: true\n"
LEFT = f"network:\n  version: 2\n  ethernets:\n    {LAN}:\n      dhcp4: true\n"


class Node(FakeNode):
    """The roll-back program is the real one, whose commands are only written down."""

    @property
    def record(self) -> Path:
        return self.root / "record"

    def change(self, argv: list[str]) -> Result:
        match argv:
            case ["/usr/bin/python3", _, reason]:
                stubs = self.root / "bin"
                stubs.mkdir(exist_ok=True)
                for tool in ("ip", "systemctl", "netplan", "networkctl", "nmcli"):
                    (stubs / tool).write_text(STUB)
                    (stubs / tool).chmod(0o755)
                self.loaded = False
                done = subprocess.run(
                    [sys.executable, str(SCRIPT), reason],
                    env=os.environ
                    | {
                        "PATH": f"{stubs}:{os.environ['PATH']}",
                        "RECORD": str(self.record),
                        "SWITCHLESS_STATE": str(self.state),
                    },
                    capture_output=True,
                    text=True,
                    check=False,
                )
                return Result(done.returncode, done.stdout, done.stderr)
            case ["systemctl", "disable", "--quiet", unit]:
                self.enabled.discard(unit)
            case ["nmcli", "device", "set", netdev, "managed", "yes"]:
                self.managed.add(netdev)
            case _:
                return super().change(argv)
        return Result(0)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bench:
    """A node with a fabric."""
    made(tmp_path, monkeypatch, capsys)
    node = Node(tmp_path)
    node.settled()
    found = Bench(node, capsys)
    found.write_files()
    (node.netplan / "90-switchless-fabric.yaml").write_text(OWN)
    for function in (undo.stage, undo.forget):
        monkeypatch.setattr(function, "__defaults__", (node.state,))
    monkeypatch.setattr(change, "BACKUPS", tmp_path / "backup")
    monkeypatch.setattr(
        "ansible_collections.switchless.spark.plugins.modules.fabric_network.ModuleRunner", lambda _module: node
    )
    return found


def take_away(bench: Bench, **more: Any) -> dict[str, Any]:
    return bench.run(state="absent", ports=[], routes=[], subnets=[], sysctl={}, **more)


def keep(bench: Bench, time: str, name: str, text: str) -> Path:
    """A copy that a change kept of a netplan file."""
    copy = bench.node.root / "backup" / time / str(bench.node.netplan / name).lstrip("/")
    copy.parent.mkdir(parents=True)
    copy.write_text(text)
    copy.chmod(0o600)
    return copy


def recorded(bench: Bench) -> list[str]:
    record = bench.node.root / "record"
    return record.read_text().splitlines() if record.exists() else []


def test_files_go_and_ports_come_back(bench: Bench) -> None:
    paths = [file["path"] for file in bench.args["files"]]
    result = take_away(bench)
    assert result["changes"] == [f"{path} goes" for path in paths]
    assert [path for path in paths if Path(path).exists()] == []
    assert bench.node.managed == {LAN, *PORTS}
    assert bench.node.enabled == set()
    assert not bench.node.state.exists()
    assert (result["armed"], result["last_rollback"]) == (False, None)
    assert sorted(Path(copy).name for copy in result["backups"]) == ["90-switchless-fabric.yaml", "fabric-relay"]
    flushed = [line for line in recorded(bench) if line.startswith("ip ")]
    assert flushed == [
        f"ip address flush dev {PORTS[0]} scope global",
        f"ip link set dev {PORTS[0]} mtu 1500 up",
        f"ip address flush dev {PORTS[1]} scope global",
        f"ip link set dev {PORTS[1]} mtu 1500 up",
    ]
    assert f"systemctl disable --quiet {UNIT}" in bench.node.asked
    again = take_away(bench)
    assert (again["changed"], again["changes"]) == (False, [])


def test_nothing_names_the_management_port(bench: Bench) -> None:
    take_away(bench)
    assert [line for line in [*bench.node.asked, *recorded(bench)] if LAN in line] == []


def test_in_check_mode_nothing_is_touched(bench: Bench) -> None:
    before = bench.everything()
    result = take_away(bench, check=True)
    assert (result["changed"], len(result["changes"])) == (True, 3)
    assert bench.everything() == before
    assert bench.node.changing == []


def test_a_node_that_is_managed_over_the_fabric_is_refused(bench: Bench) -> None:
    before = bench.everything()
    result = take_away(bench, management_address="198.18.0.1")
    assert result["failed"]
    assert result["msg"].startswith(
        "Nothing was changed. This node is managed at 198.18.0.1, an address of the fabric port"
    )
    assert bench.everything() == before


@pytest.mark.parametrize(
    ("kept", "now", "comes_back"),
    [(MIXED, LEFT, True), (CX7, None, True), (MIXED, LEFT + "      mtu: 9000\n", False), (MIXED, None, False)],
    ids=["reduced", "removed", "edited since", "removed by the user"],
)
def test_netplan_files_of_others(bench: Bench, kept: str, now: str | None, comes_back: bool) -> None:
    copy = keep(bench, "20260101T000000Z", "40-cx7.yaml", kept)
    path = bench.node.netplan / "40-cx7.yaml"
    if now is not None:
        path.write_text(now)
    os_owner(bench)
    result = take_away(bench)
    assert (f"{path} comes back" in result["changes"]) is comes_back
    assert [line.endswith(str(copy)) for line in result["left"]] == ([] if comes_back else [True])
    assert (path.read_text() if path.exists() else None) == (kept if comes_back else now)


def os_owner(bench: Bench) -> None:
    """Copies are put back as root's."""
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    assert bench


def test_a_file_that_was_never_cut_is_no_concern(bench: Bench) -> None:
    keep(bench, "20260101T000000Z", "50-lan.yaml", LEFT)
    keep(bench, "20260102T000000Z", "40-cx7.yaml", MIXED)
    (bench.node.netplan / "40-cx7.yaml").write_text(MIXED)  # the user put it back
    result = take_away(bench)
    assert [change_ for change_ in result["changes"] if "comes back" in change_] == []
    assert result["left"] == []


def test_the_latest_copy_counts(tmp_path: Path) -> None:
    folder = tmp_path / "netplan"
    folder.mkdir()
    for time, text in (("20260102T000000Z", CX7), ("20260101T000000Z", MIXED)):
        copy = tmp_path / "backup" / time / str(folder).lstrip("/") / "40-cx7.yaml"
        copy.parent.mkdir(parents=True)
        copy.write_text(text)
    back, edited = undo.reduced(str(folder), (), [Port(PORTS[0], "")], [], tmp_path / "backup")
    assert (list(back.values()), edited) == (
        [str(tmp_path / "backup/20260102T000000Z" / str(folder).lstrip("/") / "40-cx7.yaml")],
        {},
    )


def test_a_roll_back_that_fails_is_quoted(bench: Bench) -> None:
    bench.node.answers["/usr/bin/python3"] = Result(1, "rolled back: x\nfailed: netplan generate: no", "")
    assert "failed: netplan generate: no" in take_away(bench)["msg"]


def test_relay_rules_that_stay_are_a_failure(bench: Bench) -> None:
    bench.node.answers["nft list table"] = Result(0)
    assert "nft delete table inet switchless_fabric" in take_away(bench)["msg"]


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        (
            "# ours\nnet.ipv4.conf.enp1s0f0np0.forwarding = 1\nnet.ipv4.conf.fabric/0.rp_filter = 2\n",
            {
                "net.ipv4.conf.enp1s0f0np0.forwarding": "net.ipv4.conf.default.forwarding",
                "net.ipv4.conf.fabric/0.rp_filter": "net.ipv4.conf.default.rp_filter",
            },
        ),
        ("net.ipv4.ip_forward = 1\n\n", {}),
    ],
)
def test_settings_go_back_to_what_a_new_port_gets(text: str, settings: dict[str, str]) -> None:
    assert undo.settings(text) == settings


def test_the_manifest_names_settings_by_path() -> None:
    made_ = undo.manifest(["/a"], {"/b": "/copy"}, ["fabric.0"], {"net.ipv4.conf.fabric/0.rp_filter": "0"}, UNIT)
    assert made_["sysctl"] == {"net/ipv4/conf/fabric.0/rp_filter": "0"}
    assert made_["files"] == [{"path": "/a", "backup": None}, {"path": "/b", "backup": "/copy", "uid": 0, "gid": 0}]
    assert json.loads(json.dumps(made_)) == made_


@pytest.mark.parametrize(("text", "ports"), [("", ()), ("network: {}\n", ()), (OWN, PORTS)])
def test_the_ports_are_those_of_our_own_file(text: str, ports: Sequence[str]) -> None:
    assert undo.ports(text) == tuple(ports)


def test_the_role_gives_every_path_and_no_content_that_hangs_on_a_plan() -> None:
    variables: dict[str, Any] = load(CHECKOUT / "roles/fabric/vars/main.yml")
    task = load(CHECKOUT / "roles/fabric/tasks/reset.yml")[0]
    own = render(task["vars"]["__fabric_own"], variables, "fabric")
    assert [Path(file["path"]).name for file in own] == ["fabric-rollback", "switchless-fabric-rollback.service"]
    assert own[0]["content"] == SCRIPT.read_text()


@pytest.mark.parametrize(("state", "support"), [("present", False), ("present", True), ("absent", True)])
def test_a_file_without_content_is_not_taken_for_an_empty_one(bench: Bench, state: str, support: bool) -> None:
    path = str(bench.node.netplan / "90-switchless-fabric.yaml")
    result = bench.run(state=state, files=[{"path": path, "support": support}])
    assert result["failed"]
    assert f"{path} has no content" in result["msg"]
    assert Path(path).read_text() == OWN
