# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""host_info as Ansible runs it, on a copy of a node's files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args

from ansible_collections.switchless.spark.plugins.module_utils._host.look import UNITS
from ansible_collections.switchless.spark.plugins.modules import host_info

FILES = {
    "proc/meminfo": "MemTotal:       127600748 kB\nMemFree:         1000 kB\nMemAvailable:   121634816 kB\n",
    "proc/swaps": "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/swap.img    file\t\t16777212\t2048\t\t-2\n",
    "proc/sys/kernel/core_pattern": "core\n",
    "proc/sys/vm/swappiness": "60\n",
    "proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n",
    "etc/hosts": "127.0.0.1 localhost\n",
}
BLOCK = "LoadState=loaded\nActiveState=active\nUnitFileState=static\n"
ANSWERS = {
    "systemd-detect-virt --container": (0, "systemd-nspawn\n", ""),
    "systemctl get-default": (0, "graphical.target\n", ""),
    "DefaultLimitMEMLOCK": (0, "DefaultLimitMEMLOCK=8388608\nDefaultLimitCORE=infinity\n", ""),
    "LoadState": (0, "\n".join([BLOCK] * len(UNITS)), ""),
}


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[int, str, str]]:
    given = dict(ANSWERS)

    def run(_self: object, args: list[str], **more: Any) -> tuple[int, str, str]:
        assert more["environ_update"]["LC_ALL"] == "C"
        line = " ".join(args)
        return next((answer for words, answer in given.items() if words in line), (1, "", ""))

    monkeypatch.setattr(AnsibleModule, "get_bin_path", lambda _self, arg: f"/bin/{arg}")
    monkeypatch.setattr(AnsibleModule, "run_command", run)
    return given


def info(capsys: pytest.CaptureFixture[str], root: Path, **args: Any) -> Any:
    with patch_module_args({"root": str(root), **args}), pytest.raises(SystemExit):
        host_info.main()
    said = json.loads(capsys.readouterr().out)
    assert said["changed"] is False
    return said["host"]


@pytest.mark.parametrize("check", [False, True])
def test_a_node(
    answers: dict[str, tuple[int, str, str]], capsys: pytest.CaptureFixture[str], tmp_path: Path, check: bool
) -> None:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "etc/hosts").chmod(0o600)
    (tmp_path / "etc/loop").symlink_to("loop")
    seen = info(
        capsys,
        tmp_path,
        files=["/etc/hosts", "/etc/nowhere", "/etc/nowhere.d/x", "/etc/loop", "/etc"],
        sysctl=["vm.swappiness", "vm.nothing", "net.ipv4.tcp_rmem"],
        _ansible_check_mode=check,
    )
    assert answers
    assert {name: value for name, value in seen.items() if name not in ("units", "files")} == {
        "schema": 1,
        "container": "systemd-nspawn",
        "default_target": "graphical.target",
        "available_kib": 121634816,
        "core_pattern": "core",
        "swaps": [{"path": "/swap.img", "size_kib": 16777212, "used_kib": 2048}],
        "defaults": {"DefaultLimitMEMLOCK": "8388608", "DefaultLimitCORE": "infinity"},
        "sysctl": {"vm.swappiness": "60", "vm.nothing": None, "net.ipv4.tcp_rmem": "4096 131072 6291456"},
    }
    assert seen["units"] == {unit: {"load": "loaded", "active": "active", "enabled": "static"} for unit in UNITS}
    assert seen["files"] == {
        "/etc/hosts": {"content": "127.0.0.1 localhost\n", "mode": "0600", "folder": True},
        "/etc/nowhere": {"content": None, "mode": None, "folder": True},
        "/etc/nowhere.d/x": {"content": None, "mode": None, "folder": False},
        "/etc/loop": {"content": None, "mode": None, "folder": True},
        "/etc": {"content": None, "mode": None, "folder": True},
    }


@pytest.mark.parametrize("units", ["", BLOCK], ids=["nothing", "one block for all"])
def test_a_node_that_says_nothing(
    answers: dict[str, tuple[int, str, str]], capsys: pytest.CaptureFixture[str], tmp_path: Path, units: str
) -> None:
    answers.clear()
    answers["LoadState"] = (1, units, "")
    seen = info(capsys, tmp_path, sysctl=["vm.swappiness"])
    assert (seen["container"], seen["default_target"], seen["available_kib"], seen["swaps"]) == ("", "", None, [])
    assert seen["units"] == {unit: {"load": "", "active": "", "enabled": ""} for unit in UNITS}
    assert (seen["defaults"], seen["sysctl"]) == ({}, {"vm.swappiness": None})
