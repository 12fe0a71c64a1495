# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""vllm_group_info as Ansible runs it, on answers of systemd and files that are whole, torn, old or not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args

from ansible_collections.switchless.spark.plugins.modules import vllm_group_info

INVOCATION = "1" * 32
BOOT = "11111111-2222-3333-4444-555555555555"
SHOWN = f"""LoadState=loaded
ActiveState=active
SubState=running
Result=success
ExecMainStatus=0
ExecMainStartTimestamp=@1796000000
StateChangeTimestamp=@1796000002
NRestarts=2
MainPID=812
InvocationID={INVOCATION}
StatusText=serving, life 1a2b
UnitFileState=enabled
NeedDaemonReload=no
MemoryCurrent=3221225472
StartLimitBurst=5
StartLimitIntervalUSec=1h
"""
NOT_THERE = """LoadState=not-found
LoadError=org.freedesktop.systemd1.NoSuchUnit "Unit vllm@lab.service not found."
ActiveState=inactive
SubState=dead
Result=success
ExecMainStatus=0
NRestarts=0
MainPID=0
InvocationID=
StatusText=
UnitFileState=
NeedDaemonReload=no
MemoryCurrent=[not set]
"""
STATE = {"schema": 1, "state": "serving", "invocation": INVOCATION, "boot_id": BOOT, "life": "c" * 32}


def info(capsys: pytest.CaptureFixture[str], root: Path, **args: Any) -> Any:
    with patch_module_args({"recipe": "lab", "root": str(root), **args}), pytest.raises(SystemExit):
        vllm_group_info.main()
    said = json.loads(capsys.readouterr().out)
    if "rank" not in said:
        return said
    assert said["changed"] is False
    assert "failed" not in said
    return said["rank"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in {
        "proc/sys/kernel/random/boot_id": BOOT + "\n",
        "etc/switchless/vllm/lab/rank.json": json.dumps({"group": "a" * 64, "argv": ["vllm"]}),
        "run/vllm/lab/state.json": json.dumps(STATE),
        "var/lib/vllm/lab/last_end.json": json.dumps({"reason": "stopped"}),
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def systemd(monkeypatch: pytest.MonkeyPatch, *answer: Any) -> list[list[str]]:
    asked: list[list[str]] = []

    def run(_self: AnsibleModule, args: list[str], **_more: Any) -> Any:
        asked.append(args)
        return answer

    monkeypatch.setattr(AnsibleModule, "get_bin_path", lambda _self, arg: f"/bin/{arg}" if answer else None)
    monkeypatch.setattr(AnsibleModule, "run_command", run)
    return asked


@pytest.mark.parametrize("check", [False, True])
def test_a_rank_that_serves(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], root: Path, check: bool
) -> None:
    asked = systemd(monkeypatch, 0, SHOWN, "")
    said = info(capsys, root, _ansible_check_mode=check)
    assert [args[:4] for args in asked] == [["/bin/systemctl", "show", "--timestamp=unix", "vllm@lab.service"]]
    assert said["unit"] == {
        "load": "loaded",
        "load_error": "",
        "active": "active",
        "sub": "running",
        "result": "success",
        "exit_status": 0,
        "restarts": 2,
        "pid": 812,
        "started": 1796000000.0,
        "changed": 1796000002.0,
        "invocation": INVOCATION,
        "status_text": "serving, life 1a2b",
        "enabled": "enabled",
        "need_reload": False,
        "memory_bytes": 3221225472,
        "starts_allowed": 5,
        "starts_within": "1h",
    }
    assert (said["unit_raw"], said["unit_detail"], said["boot"]) == (SHOWN, "", BOOT.replace("-", ""))
    assert said["config"] == {
        "path": "/etc/switchless/vllm/lab/rank.json",
        "found": True,
        "detail": "",
        "group": "a" * 64,
    }
    assert said["state"] == {
        "path": "/run/vllm/lab/state.json",
        "found": True,
        "stale": False,
        "detail": "",
        "data": STATE,
        "raw": json.dumps(STATE),
    }
    assert said["last_end"]["data"] == {"reason": "stopped"}


def test_nothing_is_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    systemd(monkeypatch, 0, NOT_THERE, "")
    said = info(capsys, tmp_path)
    unit = said["unit"]
    assert (unit["load"], unit["load_error"]) == ("not-found", "Unit vllm@lab.service not found.")
    assert (unit["pid"], unit["started"], unit["memory_bytes"], unit["starts_allowed"]) == (None, None, None, None)
    for name in ("config", "state", "last_end"):
        assert said[name]["found"] is False
        assert said[name]["detail"] == said[name]["path"] + " is not there"
    assert (said["state"]["stale"], said["state"]["data"], said["boot"]) == (None, None, "")


@pytest.mark.parametrize(
    ("changes", "shown", "stale", "detail"),
    [
        ({"boot_id": "9" * 32}, SHOWN, True, "it is of an earlier boot"),
        ({"invocation": "9" * 32}, SHOWN, True, "it is of an earlier start of the unit"),
        ({}, SHOWN.replace("ActiveState=active", "ActiveState=failed"), True, "it says serving, and the unit does not"),
        ({"state": "failed"}, SHOWN.replace("ActiveState=active", "ActiveState=failed"), False, ""),
        ({}, SHOWN.replace("ActiveState=active", "ActiveState=deactivating"), False, ""),
        ({}, "", None, "systemd did not say"),
    ],
)
def test_a_state_of_the_past(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    root: Path,
    changes: dict[str, str],
    shown: str,
    stale: bool | None,
    detail: str,
) -> None:
    systemd(monkeypatch, 0, shown, "")
    (root / "run/vllm/lab/state.json").write_text(json.dumps(STATE | changes))
    said = info(capsys, root)["state"]
    assert (said["stale"], said["data"]) == (stale, STATE | changes)
    assert said["detail"].startswith(detail)
    assert bool(said["detail"]) == bool(detail)


@pytest.mark.parametrize(
    ("raw", "detail"),
    [
        (b'{"state": "serv', "is torn: 15 characters that are no JSON"),
        (b"", "is torn: 0 characters that are no JSON"),
        (b"[1]", "is torn: expected one JSON object"),
        (b"\xff\xfe\x00", "is torn: 3 characters that are no JSON"),
        (None, "cannot be read: Is a directory"),
    ],
)
def test_a_file_that_is_torn(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    root: Path,
    raw: bytes | None,
    detail: str,
) -> None:
    systemd(monkeypatch, 0, SHOWN, "")
    place = root / "elsewhere"
    if raw is None:
        place.mkdir()
    else:
        place.write_bytes(raw)
    said = info(capsys, root, state_file="/elsewhere", end_file="/elsewhere", config_file="/elsewhere")
    for name in ("state", "last_end", "config"):
        assert said[name]["detail"] == "/elsewhere " + detail
        assert said[name]["found"] is (None if raw is None else True)
    assert (said["state"]["data"], said["state"]["stale"], said["last_end"]["data"]) == (None, None, None)
    assert said["state"]["raw"] == (raw or b"").decode("utf-8", "replace")


def test_no_systemd(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], root: Path) -> None:
    systemd(monkeypatch)
    said = info(capsys, root)
    assert said["unit_detail"] == "systemctl exited 127 and said: systemctl: not installed"
    assert (said["unit"]["active"], said["state"]["stale"], said["unit"]["need_reload"]) == ("", None, None)


def test_a_recipe_that_is_no_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], root: Path
) -> None:
    asked = systemd(monkeypatch, 0, SHOWN, "")
    said = info(capsys, root, recipe="../x")
    assert said["failed"]
    assert said["msg"].startswith("recipe is '../x', expected letters")
    assert asked == []
