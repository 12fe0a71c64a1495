# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules as Ansible runs them: the real main(), real arguments, and the exact commands."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args

from ansible_collections.switchless.spark.plugins.module_utils._cx7 import health, kernel_log, model, verdicts
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import (
    CommandError,
    ModuleRunner,
    Result,
    run_checked,
)
from ansible_collections.switchless.spark.plugins.modules import cx7_health, cx7_info
from tests.unit.cx7 import spark_logs as log
from tests.unit.cx7.spark_tree import Script, Shown, journal

JOURNAL = (
    "journalctl",
    "-k",
    "-b",
    "-o",
    "json",
    "--no-pager",
    "--output-fields=MESSAGE,PRIORITY,_SOURCE_MONOTONIC_TIMESTAMP",
)
NETDEVS = "enp1s0f0np0,enP2p1s0f0np0,enp1s0f1np1,enP2p1s0f1np1"
LLDP = ("lldpcli", "-f", "json0", "show", "neighbors", "ports", NETDEVS)
NMCLI = ("nmcli", "-t", "-f", "DEVICE,STATE", "device")
C_LOCALE = {"LC_ALL": "C", "LANG": "C", "LANGUAGE": "C"}

Run = Callable[..., Any]


class Commands:
    """Stands in for AnsibleModule's two methods: programs that a script knows are installed, in /usr/sbin."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, script: Script) -> None:
        self.script = script
        monkeypatch.setattr(AnsibleModule, "get_bin_path", self.path)
        monkeypatch.setattr(AnsibleModule, "run_command", self.run)

    def path(self, arg: str, required: bool = False) -> str | None:
        assert not required
        return f"/usr/sbin/{arg}" if arg in self.script.answers else None

    def run(self, args: list[str], **more: Any) -> tuple[int, str, str]:
        assert more == {"data": None, "environ_update": C_LOCALE, "handle_exceptions": False}
        assert args[0].startswith("/usr/sbin/")
        result = self.script.run([args[0].removeprefix("/usr/sbin/"), *args[1:]])
        return result.rc, result.stdout, result.stderr


def result_of(main: Callable[[], None], capsys: pytest.CaptureFixture[str], **args: Any) -> Any:
    with patch_module_args(args), pytest.raises(SystemExit):
        main()
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def info(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """cx7_info on a node that a Shown describes."""

    def run(shown: Shown, script: Script, **args: Any) -> Any:
        shown.build(tmp_path)
        Commands(monkeypatch, script)
        monkeypatch.setattr(cx7_info, "PROC_ROOT", str(tmp_path / "proc"))
        monkeypatch.setattr(cx7_info, "HOST_ROOT", str(tmp_path))
        return result_of(cx7_info.main, capsys, sysfs_root=str(tmp_path / "sys"), **args)

    return run


def answers(**more: Result) -> Script:
    lines = journal((0.0, "Booting Linux on physical CPU 0x0"), (1.5, f"mlx5_core 0000:01:00.0: {log.LOW_POWER}"))
    return Script({"journalctl": Result(0, lines), "nmcli": Result(0, "enp1s0f0np0:unmanaged\n"), **more})


@pytest.mark.parametrize("check", [False, True])
def test_info(info: Run, *, check: bool) -> None:
    script = answers(lldpcli=Result(0, '{"lldp": []}'))
    result = info(Shown(), script, _ansible_check_mode=check)
    assert result["changed"] is False
    assert script.asked == [NMCLI, LLDP, JOURNAL]
    seen = result["cx7"]
    assert [(f["cage"], f["root"]) for f in seen["functions"]] == [("p0", "A"), ("p0", "B"), ("p1", "A"), ("p1", "B")]
    assert [line["watts"] for line in seen["slot_power"]] == [27]
    assert (seen["log_source"], seen["log_complete"], seen["lldp_running"]) == ("journal", True, True)
    assert seen["functions"][0]["networkmanager"] == "unmanaged"
    assert seen["functions"][0]["mac_permanent"] is None
    assert result["lldp_config"] is None


def test_info_without_a_nic(info: Run) -> None:
    script = answers()
    seen = info(Shown(absent="all"), script)["cx7"]
    assert seen["functions"] == []
    assert script.asked == [JOURNAL]


def test_info_reads_a_given_log(info: Run, tmp_path: Path) -> None:
    path = tmp_path / "dmesg.txt"
    path.write_text(log.HEALTHY + log.PLUGGED_LATER, encoding="utf-8")
    script = answers()
    seen = info(Shown(), script, kernel_log=str(path), lldp=False)["cx7"]
    assert script.asked == [NMCLI]
    assert seen["log_source"] == "file"
    assert "hotplug_plugin" in {event["kind"] for event in seen["events"]}


@pytest.mark.parametrize("text", [None, "configure ports a lldp\n"])
def test_info_tells_what_lldpd_was_told_to_announce(info: Run, tmp_path: Path, text: str | None) -> None:
    path = "/etc/lldpd.d/90-switchless.conf"
    (tmp_path / path[1:]).parent.mkdir(parents=True)
    if text is not None:
        (tmp_path / path[1:]).write_text(text, encoding="utf-8")
    assert info(Shown(), answers(), lldp_config=path)["lldp_config"] == (text and text.strip())


def test_info_log_that_is_not_there(info: Run) -> None:
    result = info(Shown(), answers(), kernel_log="/nowhere/dmesg.txt")
    assert result["failed"] is True
    assert "No such file or directory: '/nowhere/dmesg.txt'" in result["msg"]


def test_info_reads_the_register_in_check_mode(info: Run) -> None:
    script = answers(mstreg=Result(0, "pwr_status | 0x00000000\n"))
    seen = info(Shown(), script, read_slot_power_register=True, _ansible_check_mode=True)["cx7"]
    assert [register["status"] for register in seen["slot_power_register"]] == ["not_advertised"] * 4


@pytest.mark.parametrize(
    ("uptime", "settle", "waited"),
    [("12.5 1.0", None, [17.5]), ("31.0 1.0", None, []), ("12.5 1.0", 0, []), (None, None, [])],
)
def test_info_waits_until_the_nic_is_settled(
    info: Run, monkeypatch: pytest.MonkeyPatch, uptime: str | None, settle: int | None, waited: list[float]
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(cx7_info.time, "sleep", slept.append)
    info(Shown(uptime=uptime), answers(), **({} if settle is None else {"settle_seconds": settle}))
    assert slept == waited


def test_health_of_what_info_returned(info: Run, capsys: pytest.CaptureFixture[str]) -> None:
    seen = info(Shown(), answers())["cx7"]
    result = result_of(
        cx7_health.main,
        capsys,
        cx7=seen,
        # As fabric_host gives the ports, with keys that are of no use here.
        expect=[
            {"cage": "p0", "root": root, "cable": 1, "towards": "next", "address": "192.168.100.1", "unmanaged": True}
            | {"peer": {"host": "spark2", "cage": "p1", "address": "192.168.100.2"}}
            for root in "AB"
        ],
        bandwidth=[
            {"cage": "p0", "root": root, "direction": way, "gbps": gbps, "method": "rdma", "tool": "ib_write_bw"}
            for root, gbps in (("A", 98.03), ("B", 13.23))
            for way in ("out", "in")
        ],
    )
    assert result["changed"] is False
    judged = result["health"]
    assert (judged["verdict"], judged["reboot"], judged["reboot_codes"]) == ("needs_reboot", True, ["throttled"])
    assert judged["cages"] == [{"cage": "p0", "verdict": "needs_reboot"}, {"cage": "p1", "verdict": "no_cable"}]
    assert judged["nothing_wrong"] is False
    assert judged["summary"] == [
        "p0 A: ok",
        (
            "p0 B: needs_reboot: cage p0, root B sends 13.23 Gb/s: the cap after a hot-plug; "
            "cage p0, root B receives 13.23 Gb/s: the cap after a hot-plug"
        ),
    ]
    assert judged["functions"][1]["reasons"][0]["evidence"] == ["out: 13.23 Gb/s by RDMA"]
    assert judged["remedy"][0].startswith("Reboot all nodes")
    # NetworkManager runs and does not know this one
    assert [r["code"] for r in judged["functions"][1]["reasons"]] == ["throttled", "throttled", "networkmanager"]


@pytest.mark.parametrize(("state", "verdict"), [("connected", "misconfigured"), ("unmanaged", "unknown")])
def test_health_networkmanager(info: Run, capsys: pytest.CaptureFixture[str], state: str, verdict: str) -> None:
    seen = info(Shown(), answers(nmcli=Result(0, f"enp1s0f0np0:{state}\n")))["cx7"]
    port = {"cage": "p0", "root": "A"}
    assert result_of(cx7_health.main, capsys, cx7=seen, expect=[port])["health"]["nothing_wrong"] is True
    judged = result_of(cx7_health.main, capsys, cx7=seen, expect=[port | {"unmanaged": True}])["health"]
    assert judged["verdict"] == verdict


def test_health_without_rdma(info: Run, capsys: pytest.CaptureFixture[str]) -> None:
    seen = info(Shown(), answers())["cx7"]
    seen["functions"][0] |= {"rdma": None, "ib_state": None}
    judged = result_of(cx7_health.main, capsys, cx7=seen)["health"]
    assert judged["functions"][0]["reasons"][0]["code"] == "rdma_missing"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"cx7": {}}, "cx7.schema is None, this version of cx7_health reads 1"),
        ({"cx7": {"schema": 1}}, "cx7.hotplug must be a dictionary, not NoneType"),
        ({"cx7": {"schema": 1, "hotplug": {}}}, "cx7.hotplug is not what cx7_info returns"),
        ({"cx7": {"schema": 1, "functions": "x"}}, "cx7.functions must be a list, not str"),
        ({"cx7": {"schema": 1, "functions": [1]}}, "cx7.functions[0] must be a dictionary, not int"),
        ({"expect": [{"cage": "p2", "root": "A"}]}, "expect[0]: cage 'p2', root 'A' is no port"),
        ({"expect": [{"cage": "p0", "root": "A"}] * 2}, "expect[1]: cage p0, root A is expected twice"),
        ({"expect": [{"cage": "p0", "root": "A", "mtu": "x"}]}, "expect[0].mtu must be a number, not 'x'"),
        ({"expect": [{"cage": "p0", "root": "A", "peer": "x"}]}, "expect[0].peer must be a dictionary, not str"),
        ({"bandwidth": [{"cage": "p0", "root": "A"}]}, "bandwidth[0]: direction must be one of out, in, not None"),
        (
            {"bandwidth": [{"cage": "p0", "root": "A", "direction": "in"}]},
            "bandwidth[0]: method must be one of rdma, tcp, not None",
        ),
        (
            {"bandwidth": [{"cage": "p0", "root": "A", "direction": "in", "method": "tcp", "gbps": "fast"}]},
            "bandwidth[0].gbps must be a number, not 'fast'",
        ),
        (
            {
                "bandwidth": [
                    {"cage": "p0", "root": "A", "direction": "in", "method": m, "gbps": 98} for m in ("rdma", "tcp")
                ]
            },
            "bandwidth[1]: in of cage p0, root A is measured twice",
        ),
    ],
)
def test_health_refuses(info: Run, capsys: pytest.CaptureFixture[str], args: dict[str, Any], said: str) -> None:
    if "cx7" not in args:
        args = {"cx7": info(Shown(absent="all"), answers())["cx7"], **args}
    result = result_of(cx7_health.main, capsys, **args)
    assert result["failed"] is True
    assert said in result["msg"]


# What the documentation promises


@pytest.mark.parametrize(
    ("module", "keys", "record"),
    [
        (cx7_info, ("cx7",), model.Cx7),
        (cx7_info, ("cx7", "functions"), model.Function),
        (cx7_info, ("cx7", "functions", "lldp"), model.Neighbour),
        (cx7_info, ("cx7", "root_ports"), model.RootPort),
        (cx7_info, ("cx7", "hotplug"), model.Hotplug),
        (cx7_info, ("cx7", "events"), model.Event),
        (cx7_info, ("cx7", "slot_power"), model.SlotPower),
        (cx7_info, ("cx7", "slot_power_register"), model.SlotPowerRegister),
        (cx7_health, ("health",), health.Health),
        (cx7_health, ("health", "functions"), health.PortHealth),
        (cx7_health, ("health", "functions", "reasons"), verdicts.Reason),
    ],
)
def test_documented_keys_are_those_returned(module: Any, keys: tuple[str, ...], record: Any) -> None:
    described = {"contains": yaml.safe_load(module.RETURN)}
    for key in keys:
        described = described["contains"][key]
    assert set(described["contains"]) == {item.name for item in fields(record)}


def test_documented_kinds_are_those_told() -> None:
    kinds = {kind for kind, _rule in kernel_log._RULES}
    kinds |= {"module_plugged", "module_unplugged", "module_error", "module_other", "other"}
    text = " ".join(yaml.safe_load(cx7_info.RETURN)["cx7"]["contains"]["events"]["contains"]["kind"]["description"])
    assert set(re.findall(r"V\((\w+)\)", text)) == kinds


# The runner


class Module:
    """An AnsibleModule on which a program vanishes between the look and the run."""

    def __init__(self) -> None:
        self.looked: list[str] = []

    def get_bin_path(self, arg: str, required: bool = False) -> str | None:  # noqa: ARG002
        self.looked.append(arg)
        return f"/sbin/{arg}"

    def run_command(self, args: list[str], **_more: Any) -> tuple[int, str, str]:
        raise FileNotFoundError(2, "No such file or directory", args[0])


def test_runner() -> None:
    module = Module()
    runner = ModuleRunner(module)
    first, second = runner.run(["ip", "a"]), runner.run(["ip", "b"])
    assert first.missing
    assert second.rc == 127
    assert module.looked == ["ip"]
    assert "/sbin/ip" in first.stderr


def test_run_checked() -> None:
    script = Script({"true": Result(0, "fine"), "false": Result(3, "half of it\n", "no: because\n"), "mute": Result(1)})
    assert run_checked(script, ["true"]).stdout == "fine"
    with pytest.raises(CommandError, match="Command false 'a b' returned 3: half of it\nno: because"):
        run_checked(script, ["false", "a b"])
    with pytest.raises(CommandError, match="it said nothing"):
        run_checked(script, ["mute"])
