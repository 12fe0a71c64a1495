# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program that puts the network back: the script itself, with stubs that write down how they were called."""

from __future__ import annotations

import json
import os
import stat
import sys
import threading
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._node import change
from ansible_collections.switchless.spark.plugins.module_utils._node.change import Before, File
from ansible_collections.switchless.spark.plugins.module_utils._node.ip import Link
from tests.unit.node.node_world import FakeNode

SCRIPT = Path(__file__).resolve().parents[3] / "roles" / "fabric" / "files" / "fabric-rollback"
STUB = """\
#!/bin/sh
name=${0##*/}
echo "$name $*" >>"$RECORD"
[ -f "$FAIL/$name" ] || exit 0
cat "$FAIL/$name" >&2
exit 3
"""
TOOLS = ("ip", "systemctl", "netplan", "networkctl", "nmcli")
USED, SPARE = "enp1s0f0np0", "enp1s0f1np1"


@dataclass
class Bench:
    """The script as a module, a folder of stubs as PATH, and a staged change."""

    root: Path
    script: ModuleType
    sysctl: Path = field(init=False)

    def __post_init__(self) -> None:
        self.sysctl = self.root / "rp_filter"
        self.sysctl.write_text("2\n")

    def called(self) -> list[str]:
        record = self.root / "record"
        return record.read_text().splitlines() if record.exists() else []

    def fail(self, tool: str, message: str) -> None:
        (self.root / "fail" / tool).write_text(message)

    def stage(self, relay_loaded: bool = False, unit_enabled: bool = False) -> list[File]:
        """A change that replaces, makes and removes a file, staged by the code that stages it, then made."""
        etc = self.root / "etc"
        etc.mkdir(exist_ok=True)
        (etc / "replaced").write_text("old\n")
        (etc / "replaced").chmod(0o640)
        (etc / "removed").write_text("bye\n")
        (etc / "removed").chmod(0o600)
        files = [
            File(str(etc / "replaced"), "new\n", 0o600),
            File(str(etc / "made"), "new\n", 0o644),
            File(str(etc / "removed"), None, 0o600),
        ]
        links = {
            USED: Link(USED, 1500, True, ("10.0.0.1/24", "10.0.0.2/24")),
            SPARE: Link(SPARE, 9000, False, ()),
        }
        before = Before(
            links=links,
            managed=frozenset({USED}),
            networkd=frozenset({SPARE}),
            sysctl={},
            unit="switchless-fabric.service",
            unit_enabled=unit_enabled,
            relay_loaded=relay_loaded,
            routes=(("10.8.0.0/16", "via", "10.0.0.9", "dev", USED),),
        )
        change.stage(files, before, self.root / "state")
        manifest = self.root / "state" / "pending" / "manifest.json"
        # An absolute key is a path of its own: no kernel is touched.
        staged = json.loads(manifest.read_text()) | {"sysctl": {str(self.sysctl): "1"}}
        manifest.write_text(json.dumps(staged))
        for file in files:
            change.write(file)
        return files

    def run(self, *args: str) -> int:
        return int(self.script.main(*args))

    def report(self) -> dict[str, Any]:
        report: dict[str, Any] = json.loads((self.root / "state" / "last-rollback.json").read_text())
        return report

    def etc(self) -> dict[str, tuple[str, int]]:
        """Every file with content and mode."""
        return {
            path.name: (path.read_text(), stat.S_IMODE(path.stat().st_mode))
            for path in sorted((self.root / "etc").iterdir())
        }


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    stubs = tmp_path / "bin"
    for folder in (stubs, tmp_path / "fail"):
        folder.mkdir()
    for tool in (*TOOLS, "fabric-relay"):
        (stubs / tool).write_text(STUB)
        (stubs / tool).chmod(0o755)
    monkeypatch.setenv("PATH", f"{stubs}:{os.environ['PATH']}")
    monkeypatch.setenv("RECORD", str(tmp_path / "record"))
    monkeypatch.setenv("FAIL", str(tmp_path / "fail"))
    monkeypatch.setenv("SWITCHLESS_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(sys, "argv", [str(SCRIPT)])
    loader = SourceFileLoader("fabric_rollback", str(SCRIPT))
    spec = spec_from_loader("fabric_rollback", loader)
    assert spec is not None
    script = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "fabric_rollback", script)
    loader.exec_module(script)
    monkeypatch.setattr(script, "RELAY", str(stubs / "fabric-relay"))
    return Bench(tmp_path, script)


BEFORE = {"removed": ("bye\n", 0o600), "replaced": ("old\n", 0o640)}
PORTS_BACK = [
    f"ip address flush dev {USED} scope global",
    f"ip link set dev {USED} mtu 1500 up",
    f"ip address replace 10.0.0.1/24 dev {USED}",
    f"ip address replace 10.0.0.2/24 dev {USED}",
    f"nmcli device set {USED} managed yes",
    f"ip address flush dev {SPARE} scope global",
    f"ip link set dev {SPARE} mtu 9000 down",
    f"networkctl reconfigure {SPARE}",
    f"ip route replace 10.8.0.0/16 via 10.0.0.9 dev {USED}",
]
RELOAD = ["netplan generate", "networkctl reload", "nmcli general reload conf"]


@pytest.mark.parametrize(
    ("relay_loaded", "unit_enabled", "commands"),
    [
        (
            False,
            False,
            [
                "fabric-relay remove",
                "systemctl disable --quiet switchless-fabric.service",
                "systemctl daemon-reload",
                *RELOAD,
                *PORTS_BACK,
            ],
        ),
        (True, True, ["systemctl daemon-reload", "fabric-relay apply", *RELOAD, *PORTS_BACK]),
    ],
    ids=["the first change of a node", "a change of a fabric"],
)
def test_everything_is_put_back_in_order(
    relay_loaded: bool, unit_enabled: bool, commands: list[str], bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.stage(relay_loaded, unit_enabled)
    assert bench.etc() == {"made": ("new\n", 0o644), "replaced": ("new\n", 0o600)}
    assert bench.run() == 0
    assert bench.etc() == BEFORE
    assert bench.called() == commands
    assert bench.sysctl.read_text() == "1"
    assert bench.report() | {"time": ""} == {
        "schema": 1,
        "time": "",
        "reason": "the change was not confirmed in time",
        "failed": [],
    }
    assert capsys.readouterr().out == "rolled back: the change was not confirmed in time\n"
    assert not (bench.root / "state" / "pending").exists()


def test_a_second_run_does_nothing(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.stage()
    bench.run()
    done, report = bench.called(), bench.report()
    (bench.root / "etc" / "replaced").write_text("changed by hand\n")
    capsys.readouterr()
    assert bench.run() == 0
    assert capsys.readouterr().out == "nothing to roll back\n"
    assert (bench.called(), bench.report()) == (done, report)
    assert bench.etc()["replaced"][0] == "changed by hand\n"


def test_nothing_was_ever_pending(bench: Bench) -> None:
    assert bench.run() == 0
    assert bench.called() == []
    assert change.last_rollback(bench.root / "state") is None


def test_the_reason_that_was_given(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.stage()
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "the play asked for it"])
    bench.run()
    report = change.last_rollback(bench.root / "state")
    assert report is not None
    assert report["reason"] == "the play asked for it"


def test_what_fails_stops_nothing_and_is_written_down(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.stage()
    (bench.root / "state" / "pending" / "files" / "2").unlink()
    bench.fail("netplan", "netplan: no such device\n")
    bench.fail("ip", "RTNETLINK answers: No such device\n")
    bench.fail("nmcli", "")
    bench.fail("networkctl", "Failed to connect to bus\n")
    bench.sysctl.unlink()
    bench.sysctl.mkdir()
    assert bench.run() == 1
    copy = bench.root / "state" / "pending" / "files" / "2"
    device = "RTNETLINK answers: No such device"
    assert bench.report()["failed"] == [
        f"{bench.root}/etc/removed: [Errno 2] No such file or directory: '{copy}'",
        "netplan generate: netplan: no such device",
        f"ip address flush dev {USED} scope global: {device}",
        f"ip link set dev {USED} mtu 1500 up: {device}",
        f"ip address replace 10.0.0.1/24 dev {USED}: {device}",
        f"ip address replace 10.0.0.2/24 dev {USED}: {device}",
        f"nmcli device set {USED} managed yes: 3",
        f"ip address flush dev {SPARE} scope global: {device}",
        f"ip link set dev {SPARE} mtu 9000 down: {device}",
        f"networkctl reconfigure {SPARE}: Failed to connect to bus",
        f"{bench.sysctl}: [Errno 21] Is a directory: '{bench.sysctl}'",
    ]
    assert bench.called()[-len(PORTS_BACK) :] == PORTS_BACK
    assert bench.etc() == {"replaced": ("old\n", 0o640)}
    assert "failed: netplan generate: netplan: no such device" in capsys.readouterr().out
    assert not (bench.root / "state" / "pending").exists()


def test_a_tool_that_is_gone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.stage()
    (bench.root / "bin" / "nmcli").unlink()
    monkeypatch.setenv("PATH", str(bench.root / "bin"))
    assert bench.run() == 1
    assert bench.report()["failed"] == [
        f"nmcli device set {USED} managed yes: [Errno 2] No such file or directory: 'nmcli'"
    ]
    assert bench.called()[-1] == PORTS_BACK[-1]


def test_the_relay_was_never_installed(bench: Bench) -> None:
    bench.stage()
    (bench.root / "bin" / "fabric-relay").unlink()
    assert bench.run() == 0
    assert bench.called()[0] == "systemctl disable --quiet switchless-fabric.service"


def test_a_crash_at_the_end_does_not_repeat_it_without_the_copies(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.stage()

    def crash(_folder: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(bench.script.shutil, "rmtree", crash)
        with pytest.raises(KeyboardInterrupt):
            bench.run()
    done = bench.called()
    assert bench.run() == 0
    assert bench.called() == done
    assert bench.etc() == BEFORE


@pytest.mark.parametrize("confirm", [True, False], ids=["confirmed meanwhile", "not confirmed"])
def test_a_roll_back_waits_for_a_change_at_work(bench: Bench, confirm: bool) -> None:
    bench.stage()
    thread = threading.Thread(target=bench.run)
    with change.lock(bench.root / "state"):
        thread.start()
        thread.join(0.1)
        assert thread.is_alive()
        assert bench.called() == []
        if confirm:
            assert change.commit(FakeNode(bench.root), bench.root / "state")
    thread.join(10)
    assert not thread.is_alive()
    assert bool(bench.called()) is not confirm
    assert (bench.etc() == BEFORE) is not confirm


def test_a_confirmation_after_the_roll_back_finds_nothing_to_keep(bench: Bench) -> None:
    bench.stage()
    bench.run()
    with change.lock(bench.root / "state"):
        assert not change.commit(FakeNode(bench.root), bench.root / "state")


def test_a_change_that_hangs_does_not_keep_the_node_cut_off(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.stage()
    monkeypatch.setattr(bench.script, "LOCK_SECONDS", 0.05)
    thread = threading.Thread(target=bench.run, daemon=True)
    with change.lock(bench.root / "state"):
        thread.start()
        thread.join(10)
        assert not thread.is_alive()
    assert bench.etc() == BEFORE
