# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What files and systemd say: our cap with its drop-ins, and what else sets clocks."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._clocks import setters, unit
from tests.unit.clocks.clock_world import ENV_TEXT, SHOWN, UNIT_TEXT, state

ENV = "/etc/switchless/clock_cap.env"
OURS = f"/usr/bin/python3 {unit.PROGRAM}"


@pytest.mark.parametrize(
    ("dropins", "files", "expected"),
    [
        ([], {ENV: ENV_TEXT}, 2200),
        ([], {ENV: "CLOCK_CAP_MAX_MHZ='1990'\n"}, 1990),
        ([], {ENV: ""}, None),
        ([], {ENV: "CLOCK_CAP_MAX_MHZ=much\n"}, None),
        ([], {}, None),
        (["[Service]\nEnvironment=CLOCK_CAP_MAX_MHZ=2000\n"], {ENV: ENV_TEXT}, 2200),
        (["[Service]\nEnvironment=CLOCK_CAP_MAX_MHZ=2000\n"], {}, 2000),
        (["[Service]\nEnvironmentFile=\nEnvironment=CLOCK_CAP_MAX_MHZ=2000\n"], {ENV: ENV_TEXT}, 2000),
        (["[Service]\nEnvironmentFile=-/etc/mine\n"], {ENV: ENV_TEXT, "/etc/mine": "CLOCK_CAP_MAX_MHZ=1800"}, 1800),
        ([f"[Service]\nExecStart=\nExecStart={OURS} lock \\\n  2100\n"], {ENV: ENV_TEXT}, 2100),
        (["[Service]\nExecStart=nvidia-smi -lgc 300,2050\n"], {ENV: ENV_TEXT}, 2050),
        (["[Service]\nExecStart=\nExecStart=nvidia-smi --lock-gpu-clocks=2050\n"], {ENV: ENV_TEXT}, 2050),
        (["[Service]\nExecStart=\nExecStart=/bin/true\n"], {ENV: ENV_TEXT}, None),
        (["[Service]\nExecStart=\n"], {ENV: ENV_TEXT}, None),
        ([f"[Service]\nExecStart=\nExecStart={OURS} release\n"], {ENV: ENV_TEXT}, None),
        (["[Unit]\nExecStart=\n# ExecStart=\n[Service]\n;ExecStart=\n"], {ENV: ENV_TEXT}, 2200),
        (["[Service]\nExecStart='\n"], {ENV: ENV_TEXT}, 2200),
    ],
)
def test_the_cap_of_our_unit(dropins: list[str], files: dict[str, str], expected: int | None) -> None:
    texts = [("/u", UNIT_TEXT), *((f"/u.d/{number}.conf", text) for number, text in enumerate(dropins))]
    found = unit.configured(texts, files.get)
    assert found.max_mhz == expected
    assert found.files == tuple(path for path, _text in texts)
    assert ("names no cap" in found.detail) is (expected is None)


def test_without_a_unit() -> None:
    assert unit.configured([], {}.get) == unit.Configured(None, (), f"there is no {unit.UNIT}")


def test_state() -> None:
    assert unit.state(SHOWN) == state()
    assert unit.state(SHOWN).applied
    assert unit.state("") == unit.State()
    assert unit.state("ExecMainStatus=n/a\nNeedDaemonReload=maybe\nnoise") == unit.State()


@pytest.mark.parametrize("change", ["ActiveState=failed", "SubState=dead", "Result=exit-code", "ExecMainStatus=3"])
def test_applied_is_all_of_it(change: str) -> None:
    assert not unit.state(SHOWN + change + "\n").applied


@pytest.mark.parametrize(
    ("text", "lines", "cap"),
    [
        ("ExecStart=/usr/bin/nvidia-smi -i 0 -lgc 0,2200", [1], 2200),
        ("ExecStart=nvidia-smi -lgc=200,2150", [1], 2150),
        ("nvidia-smi --lock-gpu-clocks 2190", [1], 2190),
        ("subprocess.run(['nvidia-smi', '-lgc', '0,2000'])", [1], 2000),
        ("\n\n$SMI -lgc $CAP", [3], None),
        ("nvidia-smi \\\n  -i 0 \\\n  -lgc 0,1995", [1], 1995),
        ("ExecStop=nvidia-smi -rgc", [1], None),
        ("sudo nvidia-smi -ac 1000,2400", [1], None),
        ("nvmlDeviceSetGpuLockedClocks(handle, 0, 2000)", [1], None),
        ("nvidia-settings -a '[gpu:0]/GPUGraphicsClockOffset[4]=100'", [1], None),
        ("# nvidia-smi -lgc 0,2200\n; nvidia-smi -lgc 0,2200", [], None),
        ("curl -ac x; tar -rac y", [], None),
        ("nvidia-smi -q -d CLOCK\nnvidia-smi --query-gpu=clocks.sm --format=csv", [], None),
        ("nvidia-smi -pm 1\nnvidia-settings -q all", [], None),
    ],
)
def test_lines_that_set_clocks(text: str, lines: list[int], cap: int | None) -> None:
    found = setters.found("/f", text, setters.CRON)
    assert [setter.line for setter in found] == lines
    assert [setter.max_mhz for setter in found] == [cap] * len(lines)
    assert all(setter.counts for setter in found)


def test_scripts_that_a_file_runs() -> None:
    text = (
        "Documentation=file:/usr/share/doc\nWorkingDirectory=/opt\nExecStart=-/opt/cap.sh --to=/etc/cap $HOME/x 2/3\n"
    )
    assert list(setters.scripts(text, setters.UNIT_FILE)) == ["/opt/cap.sh", "/etc/cap"]
    assert list(setters.scripts("@reboot root /opt/cap\n# /opt/no", setters.CRON)) == ["/opt/cap"]
    assert setters.is_script("/opt/cap.py", "import os")
    assert setters.is_script("/opt/cap", "#!/bin/sh\n")
    assert not setters.is_script("/usr/bin/nvidia-smi", "\x7fELF")


OFF = {"UnitFileState": "disabled", "ActiveState": "inactive", "TriggeredBy": "", "WantedBy": "", "RequiredBy": ""}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, False),
        ({"UnitFileState": "masked", "ActiveState": "failed"}, False),
        ({"UnitFileState": "enabled"}, True),
        ({"UnitFileState": "static"}, True),
        ({"ActiveState": "active"}, True),
        ({"TriggeredBy": "cap.timer"}, True),
        ({"RequiredBy": "vllm.service"}, True),
        ({"UnitFileState": ""}, None),
    ],
)
def test_units_that_are_off(change: dict[str, str], expected: bool | None) -> None:
    assert setters.live(OFF | change) is expected


@pytest.mark.parametrize("name", OFF)
def test_what_systemd_does_not_say(name: str) -> None:
    assert setters.live({key: value for key, value in OFF.items() if key != name}) is None


@settings(max_examples=80)
@given(
    st.lists(
        st.one_of(st.sampled_from([*UNIT_TEXT.splitlines(), "nvidia-smi -lgc 0,2"]), st.text(max_size=15)), max_size=15
    )
)
def test_any_text_can_be_read(lines: list[str]) -> None:
    text = "\n".join(lines)
    unit.configured([("/u", text)], lambda _path: text)
    unit.state(text)
    for setter in setters.found("/f", text, setters.BOOT):
        assert 1 <= setter.line <= text.count("\n") + 1
    assert all(path.startswith("/") for path in setters.scripts(text, setters.BOOT))
