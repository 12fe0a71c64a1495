# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""preflight_info as Ansible runs it, on a copy of a node's files."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.testing import patch_module_args

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._driver import dgx
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Result
from ansible_collections.switchless.spark.plugins.module_utils._preflight import disk, look, ports
from ansible_collections.switchless.spark.plugins.modules import preflight_info
from tests.unit.preflight import preflight_world as world

CHECK = "opt/nvidia/spark-ota-check/check_ota_status.py"
DKMS_FOLDER = "var/lib/dkms/nvidia/580.173.02/source/dkms.conf"
Ask = Callable[..., Any]


class World:
    """One node, and the commands that were run on it."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.root, self.monkeypatch, self.capsys = root, monkeypatch, capsys
        self.asked: list[tuple[str, ...]] = []

    def ask(
        self,
        files: Mapping[str, str | None] | None = None,
        answers: Mapping[tuple[str, ...], Result] | None = None,
        **arguments: Any,
    ) -> Any:
        """Run the module; text when it fails."""
        world.build(self.root, files or {})
        commands = world.Commands(answers or {})
        self.monkeypatch.setattr(preflight_info, "ModuleRunner", lambda _module: commands)
        with patch_module_args({"root": str(self.root)} | arguments), pytest.raises(SystemExit) as end:
            preflight_info.main()
        self.asked = commands.asked
        result = json.loads(self.capsys.readouterr().out)
        if end.value.code:
            return result["msg"]
        assert result["changed"] is False
        return result["preflight"]


@pytest.fixture
def spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> World:
    return World(tmp_path, monkeypatch, capsys)


def test_a_fit_node(spark: World) -> None:
    before = time.time()
    seen = spark.ask(asked=world.NOW)
    assert before <= seen["clock"].pop("epoch") <= time.time()
    expected = world.node(uid=os.geteuid())
    del expected["clock"]["epoch"]
    assert seen == expected


def test_it_runs_few_commands(spark: World) -> None:
    spark.ask(ports=[8000])
    assert sorted(argv[0] for argv in spark.asked) == [
        "apt-cache",
        "dpkg-query",
        "loginctl",
        "systemctl",
        "timedatectl",
    ]


def test_what_is_documented_is_returned(spark: World) -> None:
    documented = yaml.safe_load(preflight_info.RETURN)["preflight"]["contains"]
    seen = spark.ask(disk=[{"path": "/etc", "need_gib": 1}])
    assert set(seen) == set(documented)
    for name in ("gpu", "dgx", "driver", "desktop", "clock", "ports"):
        assert set(seen[name]) == set(documented[name]["contains"]), name
    assert set(seen["memory"]) == set(documented["memory"]["sample"])
    assert set(seen["disk"][0]) == set(documented["disk"]["contains"])
    assert set(seen["driver"]["installed"][0]) == set(documented["driver"]["contains"]["installed"]["sample"][0])


def test_nothing_there_is_null(spark: World) -> None:
    nothing = dict.fromkeys(world.FILES)
    seen = spark.ask(nothing, dict.fromkeys(world.ANSWERS, Result(127)), ports=[8000], disk=[])
    for name in ("hostname", "machine_id", "boot_id", "uptime_seconds", "kernel", "secure_boot"):
        assert seen[name] is None, name
    assert seen["gpu"] == {"gb10": None, "others": None}
    assert seen["driver"] == {"loaded": None, "open": None, "modules_listed": False, "installed": None}
    assert seen["dgx"]["version"] is None
    assert set(seen["memory"].values()) == {None}
    assert (seen["desktop"]["active"], seen["ports"]["taken"], seen["clock"]["ntp_synchronized"]) == (None, None, None)
    assert seen["dkms"] == []


@pytest.mark.parametrize(
    ("device", "vendor", "kind", "expected"),
    [
        ("0x2e12", "0x10de", "0x030200", {"gb10": ["000f:01:00.0"], "others": []}),
        ("0x2684", "0x10de", "0x030000", {"gb10": [], "others": ["000f:01:00.0 10de:2684"]}),
        ("0x22ba", "0x10de", "0x040300", {"gb10": [], "others": []}),  # the sound of a GPU
        ("0x2e12", "0x1af4", "0x030200", {"gb10": [], "others": []}),  # the number with somebody else
    ],
)
def test_gb10_is_told_by_its_pci_id(spark: World, device: str, vendor: str, kind: str, expected: Any) -> None:
    folder = "sys/bus/pci/devices/000f:01:00.0"
    files = {f"{folder}/device": device, f"{folder}/vendor": vendor, f"{folder}/class": kind}
    assert spark.ask(files)["gpu"] == expected


@pytest.mark.parametrize(
    ("text", "version"), [(world.P36, "7.5.0"), (world.P37, "7.6.0"), (world.P38, "7.5.0"), ("PRETTY_NAME=x\n", None)]
)
def test_dgx_release(spark: World, text: str, version: str | None) -> None:
    assert spark.ask({"etc/dgx-release": text})["dgx"]["version"] == version


@pytest.mark.parametrize(
    ("said", "there", "wanted", "score"),
    [
        ("OTA2607 torn-score: 0\n", True, True, 0),  # P40
        ("torn-score: 3\n", True, True, 3),
        ("Permission denied\n", True, True, None),
        ("torn-score: 3\n", True, False, None),
        ("torn-score: 3\n", False, True, None),
    ],
)
def test_ota_check_is_run_only_when_it_is_wanted(
    spark: World, said: str, there: bool, wanted: bool, score: int | None
) -> None:
    files = {CHECK: "#"} if there else {}
    seen = spark.ask(files, {dgx.TORN: Result(0, said)}, ota_check=wanted)
    assert (seen["dgx"]["torn_score"], seen["dgx"]["torn_asked"]) == (score, wanted)
    assert (dgx.TORN in spark.asked) is (there and wanted)


@pytest.mark.parametrize(
    ("listing", "installed"),
    [
        (Result(1, "", "dpkg-query: no packages found matching nvidia-driver-*"), []),
        (Result(2, "", "dpkg-query: error"), None),
        (Result(127), None),
    ],
)
def test_no_package_is_not_the_same_as_nobody_to_ask(
    spark: World, listing: Result, installed: list[Any] | None
) -> None:
    assert spark.ask(answers={look.DRIVERS: listing})["driver"]["installed"] == installed
    assert not [argv for argv in spark.asked if argv[0] == "apt-cache"]


def test_the_loaded_module_without_proc(spark: World) -> None:
    seen = spark.ask({"proc/driver/nvidia/version": None})["driver"]
    assert (seen["loaded"], seen["open"]) == ("580.173.02", None)


@pytest.mark.parametrize(
    ("unit", "session", "expected"),
    [
        pytest.param(
            "Id=gdm.service\nActiveState=active\n",
            world.SESSION.replace("tty", "wayland").replace("user", "greeter"),
            {"active": True, "display_manager": "gdm.service", "sessions": [("nvidia", "wayland", "greeter")]},
            id="login screen",
        ),
        pytest.param(
            "Id=display-manager.service\nActiveState=inactive\n",
            f"{world.SESSION}\nId=9\nName=eve\nType=x11\nClass=user\n",
            {"active": False, "display_manager": None, "sessions": [("eve", "x11", "user")]},
            id="remote desktop",
        ),
        pytest.param(
            "Id=display-manager.service\nActiveState=failed\n",
            world.SESSION,
            {"active": False, "display_manager": None, "sessions": []},
            id="none",
        ),
    ],
)
def test_desktop(spark: World, unit: str, session: str, expected: dict[str, Any]) -> None:
    answers = {look.DISPLAY_MANAGER: Result(0, unit), (*look.SESSION, "7"): Result(0, session)}
    seen = spark.ask(answers=answers)["desktop"]
    seen["sessions"] = [(row["user"], row["type"], row["class"]) for row in seen["sessions"]]
    assert seen == expected


def test_ports(spark: World) -> None:
    """A connection from or to a port does not take it, nor does a port that merely ends so."""
    seen = spark.ask(ports=[8080, 8000, 8001, 64])["ports"]
    assert seen["wanted"] == [64, 8000, 8001, 8080]
    assert seen["taken"] == [
        {"port": 8000, "address": "0.0.0.0", "pid": 4711, "process": "vllm"},  # noqa: S104 (somebody else does)
        {"port": 8080, "address": "::1", "pid": None, "process": None},
    ]
    assert spark.root.joinpath("proc/net/tcp").exists()


def test_ports_beyond_a_page(spark: World) -> None:
    line = world.TCP.splitlines()[2]
    table = "\n".join([world.TCP.splitlines()[0], *[line] * 4000, world.TCP.splitlines()[1]])
    assert len(table) > 4 * 65536
    assert len(spark.ask({"proc/net/tcp": table}, ports=[8000])["ports"]["taken"]) == 1


def test_no_port_wanted_reads_none(tmp_path: Path) -> None:
    assert ports.look(Tree(str(tmp_path)), ()) == ()
    assert ports.look(Tree(str(tmp_path)), (8000,)) is None


@pytest.mark.parametrize(("byte", "expected"), [("\x01", True), ("\x00", False), ("", None), ("\x02", None)])
def test_secure_boot(spark: World, byte: str, expected: bool | None) -> None:
    name = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
    assert spark.ask({name: f"\x06\x00\x00\x00{byte}"})["secure_boot"] is expected


@pytest.mark.parametrize(
    ("result", "lines"),
    [
        (
            Result(0, "nvidia/580.173.02, 6.17.0-1032-nvidia, aarch64: installed\nzfs/2.2, 6.17: installed\n"),
            ["nvidia/580.173.02, 6.17.0-1032-nvidia, aarch64: installed"],
        ),
        (Result(127), None),
    ],
)
def test_dkms_is_asked_where_it_has_nvidia(spark: World, result: Result, lines: list[str] | None) -> None:
    assert spark.ask({DKMS_FOLDER: ""}, {("dkms", "status"): result})["dkms"] == lines
    assert ("dkms", "status") in spark.asked


@pytest.mark.parametrize("text", ["", "uninitialized\n", "0123\n", "0" * 33 + "\n"])
def test_what_is_no_machine_id(spark: World, text: str) -> None:
    assert spark.ask({"etc/machine-id": text})["machine_id"] is None


def test_kho(spark: World) -> None:
    seen = spark.ask({"proc/meminfo": world.KHO_MEMINFO, "proc/cmdline": "ro kho=off quiet\n"})["memory"]
    assert (seen["cma_total_kb"], seen["cma_free_kb"], seen["kho_off"]) == (32768, 9814671, True)


def test_kho_is_not_off_by_another_word(spark: World) -> None:
    assert spark.ask({"proc/cmdline": "ro nokho=off kho=on\n"})["memory"]["kho_off"] is False


def test_disk(spark: World) -> None:
    (spark.root / "srv/models").mkdir(parents=True)
    (spark.root / "srv/models/weights").write_bytes(b"x" * (1 << 20))
    os.link(spark.root / "srv/models/weights", spark.root / "srv/models/again")
    asks = [
        {"path": "/srv/models/new/deep", "need_gib": 1.5},
        {"path": "/srv/models", "need_gib": 2, "count_present": True},
    ]
    deep, models = spark.ask(disk=asks)["disk"]
    assert (deep["path"], deep["need_gib"], deep["present_gib"]) == ("/srv/models/new/deep", 1.5, 0.0)
    assert deep["there"] == models["there"] == str(spark.root / "srv/models")
    assert deep["device"] == models["device"] == spark.root.stat().st_dev
    assert deep["free_gib"] > 0
    assert disk.look(Tree(str(spark.root)), disk.Ask("/srv/models", 1, count_present=True)).present_gib == 0.0


def test_what_is_there_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"x" * 40960)
    os.link(tmp_path / "a", tmp_path / "b")
    monkeypatch.setattr(disk, "GIB", 40960)
    room = disk.look(Tree(str(tmp_path)), disk.Ask("/", 1, count_present=True))
    assert room.present_gib == pytest.approx(1, abs=0.1)


def test_a_path_has_to_be_absolute(spark: World) -> None:
    assert spark.ask(disk=[{"path": "srv", "need_gib": 1}]) == "disk has the path srv, expected absolute paths"
