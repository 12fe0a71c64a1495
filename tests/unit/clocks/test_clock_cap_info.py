# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""clock_cap_info as Ansible runs it, on a copy of a node's files, and the look at a load."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args

from ansible_collections.switchless.spark.plugins.module_utils._clocks import look
from ansible_collections.switchless.spark.plugins.module_utils._clocks.judge import Load
from ansible_collections.switchless.spark.plugins.module_utils._clocks.smi import Sample
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Result
from ansible_collections.switchless.spark.plugins.modules import clock_cap_info
from tests.unit.clocks import clock_world as world

UNIT = "switchless-clock-cap.service"
APPS = "4711, /usr/bin/python3, 96000 MiB\n"
OFF = "UnitFileState=disabled\nActiveState=inactive\nTriggeredBy=\nWantedBy=\nRequiredBy=\n"
ON = OFF.replace("disabled", "enabled")
OURS = {
    f"etc/systemd/system/{UNIT}": world.UNIT_TEXT,
    "etc/switchless/clock_cap.env": world.ENV_TEXT,
    "usr/local/lib/switchless/clock_cap.py": (world.ROLE / "files/clock_cap.py").read_text(),
}
OTHERS = {
    "etc/systemd/system/gpu-clock-lock.service": "[Service]\nExecStart=/usr/bin/nvidia-smi -lgc 0,2000\n",
    "usr/lib/systemd/system/gpu-clock-lock.service": "[Service]\nExecStart=/usr/bin/nvidia-smi -lgc 0,1\n",
    "usr/lib/systemd/system/old.service": "[Service]\nExecStart=/opt/old.sh\n",
    "opt/old.sh": "#!/bin/sh\n\nnvidia-smi -lgc 0,1990\n",
    "etc/systemd/system/nvidia-persistenced.service.d/cap.conf": "[Service]\nExecStartPost=nvidia-smi -lgc 2100\n",
    "etc/systemd/system/ssh.service": "[Service]\nExecStart=/usr/sbin/sshd -D\n",
    "etc/rc.local": "#!/bin/sh\nnvidia-smi -lgc 0,2300\n",
    "etc/cron.d/cap": "@reboot root /opt/cap\n",
    "opt/cap": "#!/bin/sh\nnvidia-smi -rgc\n",
}


def build(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class Node:
    """Answers the module's commands, by the words that a command has."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answers: Sequence[tuple[str, tuple[int, str, str]]]) -> None:
        self.answers = answers
        self.asked: list[str] = []
        monkeypatch.setattr(AnsibleModule, "get_bin_path", lambda _self, arg: f"/bin/{arg}")
        monkeypatch.setattr(AnsibleModule, "run_command", self.run)

    def run(self, args: list[str], **more: Any) -> tuple[int, str, str]:
        assert more["environ_update"]["LC_ALL"] == "C"
        self.asked.append(" ".join(args))
        return next((answer for words, answer in self.answers if words in self.asked[-1]), (127, "", ""))


WELL = [
    (f"show {UNIT}", (0, world.SHOWN, "")),
    ("_SYSTEMD_INVOCATION_ID=4f2a", (0, world.LOG, "")),
    ("nvidia-smi -q", (0, world.DETAILS, "")),
    ("--query-compute-apps", (0, APPS, "")),
    ("--query-gpu", (0, world.CSV, "")),
    ("show old.service", (0, OFF, "")),
    ("show gpu-clock-lock.service", (0, ON, "")),
]


@pytest.fixture
def instant(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that were slept."""
    slept: list[float] = []
    monkeypatch.setattr(clock_cap_info.time, "sleep", slept.append)
    return slept


def info(capsys: pytest.CaptureFixture[str], root: Path, **args: Any) -> Any:
    with patch_module_args({"root": str(root), **args}), pytest.raises(SystemExit):
        clock_cap_info.main()
    said = json.loads(capsys.readouterr().out)
    assert said["changed"] is False
    return said["clocks"]


@pytest.mark.parametrize("check", [False, True])
def test_a_node_that_computes(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    instant: list[float],
    check: bool,
) -> None:
    build(tmp_path, OURS)
    node = Node(monkeypatch, WELL)
    seen = info(capsys, tmp_path, load_seconds=4, _ansible_check_mode=check)
    assert (seen["verdict"], seen["reasons"]) == ("verified", [])
    assert seen["configured"] == {"max_mhz": 2200, "files": [f"/etc/systemd/system/{UNIT}"], "detail": ""}
    assert seen["applied"] | {"said": ""} == {
        "this_boot": True,
        "asked_mhz": 2200,
        "min_mhz": 0,
        "max_mhz": 2200,
        "unsupported": False,
        "denied": False,
        "said": "",
    }
    assert seen["gpu"]["max_sm_mhz"] == 3003
    assert (
        seen["load"]["samples"]
        == [{"sm_mhz": 2185, "utilization_percent": 96, "power_w": 44.12, "temperature_c": 63}] * 4
    )
    assert (seen["highest_mhz"], seen["slow"], seen["others"], seen["unread"]) == (2185, [], [], [])
    smi = "/bin/timeout --kill-after=2 20.0 nvidia-smi"
    assert node.asked[:2] == [
        f"{smi} --query-compute-apps=pid,process_name,used_memory --format=csv,noheader",
        f"{smi} -i 0 --query-gpu=clocks.sm,utilization.gpu,power.draw,temperature.gpu --format=csv",
    ]
    assert node.asked[-1] == f"{smi} -q -i 0"
    assert len(instant) == 4


def test_a_node_with_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    Node(monkeypatch, [])
    seen = info(capsys, tmp_path, load_seconds=20)
    assert seen["verdict"] == "not_applied"
    assert [reason["code"] for reason in seen["reasons"]] == ["not_configured", "cut_short", "no_load"]
    assert (seen["gpu"], seen["gpu_detail"]) == (None, "nvidia-smi is not installed")
    assert seen["load"]["detail"] == "no program computed on the GPU"


@pytest.mark.parametrize("text", [text for text in world.FAILURES if text])
def test_a_driver_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> None:
    build(tmp_path, OURS)
    Node(monkeypatch, [("nvidia-smi", (9, text, ""))])
    seen = info(capsys, tmp_path)
    assert (seen["verdict"], seen["gpu"]) == ("not_applied", None)
    assert seen["gpu_detail"].startswith("nvidia-smi -q showed no GPU, it exited 9 and said: ")
    assert text.splitlines()[0] in seen["gpu_detail"]


def test_what_else_sets_clocks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    build(tmp_path, OURS | OTHERS)
    (tmp_path / "etc/rc.local").chmod(0o644)
    Node(monkeypatch, WELL)
    seen = info(capsys, tmp_path)
    assert seen["verdict"] == "conflict"
    assert [tuple(other[key] for key in ("file", "line", "unit", "max_mhz", "live")) for other in seen["others"]] == [
        ("/etc/systemd/system/gpu-clock-lock.service", 2, "gpu-clock-lock.service", 2000, True),
        ("/etc/systemd/system/nvidia-persistenced.service.d/cap.conf", 2, "nvidia-persistenced.service", 2100, None),
        ("/opt/old.sh", 3, "old.service", 1990, False),
        ("/etc/rc.local", 2, None, 2300, False),
        ("/opt/cap", 2, None, None, True),
    ]
    assert [reason["code"] for reason in seen["reasons"]].count("others") == 3


def test_drop_ins(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Of one name the first counts; they are part of our cap, and nobody else's."""
    number = "[Service]\nEnvironmentFile=\nEnvironment=CLOCK_CAP_MAX_MHZ={}\n"
    folder = f"systemd/system/{UNIT}.d"
    build(
        tmp_path,
        OURS
        | {
            f"etc/{folder}/20-mine.conf": number.format(2000),
            f"usr/lib/{folder}/20-mine.conf": number.format(1000),
            f"run/{folder}/10-first.conf": "[Service]\nExecStart=nvidia-smi -lgc 0,1500\n",
        },
    )
    Node(monkeypatch, WELL)
    seen = info(capsys, tmp_path)
    assert seen["others"] == []
    assert seen["configured"]["files"][1:] == [f"/run/{folder}/10-first.conf", f"/etc/{folder}/20-mine.conf"]
    assert seen["configured"]["max_mhz"] == 1500
    assert "another_cap" in [reason["code"] for reason in seen["reasons"]]


def test_what_cannot_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    build(tmp_path, {"etc/crontab": "", "etc/cron.d/x": ""})

    def refuse(*_args: object, **_more: object) -> Iterator[Path]:
        raise PermissionError

    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr(Path, "iterdir", refuse)
    files = look.Files(look.Tree(str(tmp_path)))
    assert files.read("/etc/crontab") is None
    assert files.names("/etc/cron.d") == []
    assert list(files.unread) == ["/etc/crontab", "/etc/cron.d"]


class Script:
    """A GPU on which a program computes for some seconds, and a clock that only waiting moves."""

    def __init__(self, busy: int) -> None:
        self.busy = busy
        self.now = 100.0

    def run(self, argv: Sequence[str], *, data: str | None = None) -> Result:
        assert data is None
        self.now += 0.2
        if "--query-gpu" in " ".join(argv):
            return Result(0, world.CSV)
        self.busy -= 1
        return Result(0, APPS if self.busy >= 0 else "")

    def clock(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(
    ("busy", "taken", "detail"),
    [(9, 5, ""), (5, 5, ""), (3, 3, "no program computed on the GPU"), (0, 0, "no program computed on the GPU")],
)
def test_samples_are_taken_while_a_program_computes(busy: int, taken: int, detail: str) -> None:
    script = Script(busy)
    seen = look.watch(script, 5, script.clock, script.pause)
    assert seen == Load(5, (Sample(2185, 96, 44.12, 63),) * taken, detail)
    if taken == 5:
        assert script.now == pytest.approx(104.4)  # one a second, however long nvidia-smi takes


def test_no_look_at_the_load_unless_asked() -> None:
    script = Script(9)
    assert look.watch(script, 0, script.clock, script.pause) == Load()
    assert script.now == 100.0


def test_a_negative_time(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    Node(monkeypatch, [])
    with patch_module_args({"load_seconds": -1}), pytest.raises(SystemExit):
        clock_cap_info.main()
    assert json.loads(capsys.readouterr().out)["msg"] == "load_seconds is -1, expected 0 or more seconds"


def test_documented_as_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, instant: list[float]
) -> None:
    """Every key that comes back is documented, at every depth."""
    build(tmp_path, OURS | OTHERS)
    Node(monkeypatch, WELL)
    seen = info(capsys, tmp_path, load_seconds=3)
    assert instant
    documented = yaml.safe_load(clock_cap_info.RETURN)["clocks"]["contains"]
    assert sorted(documented) == sorted(seen)
    for key, value in (*seen.items(), ("samples", seen["load"]["samples"])):
        inner = value[0] if isinstance(value, list) and value else value
        about = documented["load"]["contains"]["samples"] if key == "samples" else documented[key]
        if isinstance(inner, dict):
            assert sorted(about["contains"]) == sorted(inner), key
