# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program of the role at work, with an nvidia-smi that is a stub, and the unit that runs it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ansible.template import trust_as_template

from ansible_collections.switchless.spark.plugins.module_utils._clocks import smi, unit
from tests.unit.clocks import clock_world as world
from tests.unit.rendering import load, render

PROGRAM = world.ROLE / "files/clock_cap.py"
UNIT = world.ROLE / "files/switchless-clock-cap.service"
DONE, FAILED, HOPELESS = 0, 1, 3


def run(folder: Path, *arguments: str, said: str | None = None, exits: int = 0, hangs: bool = False) -> tuple[int, str]:
    """The program with a stub that says and exits as told, or without any."""
    if said is not None:
        (folder / "said").write_text(said)
        stub = folder / "nvidia-smi"
        slow = "exec /bin/sleep 20\n" if hangs else ""
        stub.write_text(f'#!/bin/sh\necho "$*" >>{folder}/asked\n{slow}/bin/cat {folder}/said\nexit {exits}\n')
        stub.chmod(0o755)
    ran = subprocess.run(
        [sys.executable, PROGRAM, *arguments], env={"PATH": str(folder)}, capture_output=True, text=True, check=False
    )
    assert ran.stderr == ""
    return ran.returncode, ran.stdout


@pytest.mark.parametrize(
    ("said", "exits", "expected", "words"),
    [
        (world.LOCKED, 0, DONE, "set to 0 to 2200 MHz"),
        (world.LOCKED, 5, DONE, "set to 0 to 2200 MHz"),
        (world.LOCKED.replace("2200", "2176"), 0, DONE, "set to 0 to 2176 MHz"),
        (world.LOCKED.replace("2200", "2251"), 0, FAILED, "more than 50 MHz above"),
        (world.UNSUPPORTED, 0, HOPELESS, "refused"),
        (world.UNSUPPORTED + world.LOCKED, 0, HOPELESS, "refused"),
        (world.DENIED, 4, HOPELESS, "refused"),
        (world.MISMATCH, 18, FAILED, "does not say which clocks it set"),
        (world.NO_DEVICE, 6, FAILED, "does not say which clocks it set"),
        ("All done.\n", 0, FAILED, "does not say which clocks it set"),
        ("", 3, FAILED, "nvidia-smi said nothing and exited 3"),
        (None, 0, FAILED, "nvidia-smi cannot be run"),
    ],
)
def test_setting_a_cap(tmp_path: Path, said: str | None, exits: int, expected: int, words: str) -> None:
    rc, output = run(tmp_path, "lock", "2200", said=said, exits=exits)
    assert rc == expected
    assert words in output
    assert (said or "").strip() in output
    if said is not None:
        assert (tmp_path / "asked").read_text() == "-i 0 -lgc 0,2200\n"
    # The module reads the same from the unit's log.
    seen = smi.lock(output)
    assert seen.asked_mhz == 2200
    assert (seen.unsupported or seen.denied) is (expected == HOPELESS)
    assert (seen.max_mhz is not None and seen.max_mhz <= 2250) is (expected == DONE)


@pytest.mark.parametrize(
    ("said", "expected"),
    [("All done.\n", DONE), (world.DENIED, FAILED), (world.MISMATCH, FAILED), ("", FAILED), (None, FAILED)],
)
def test_taking_it_away(tmp_path: Path, said: str | None, expected: int) -> None:
    rc, output = run(tmp_path, "release", said=said)
    assert rc == expected
    assert ("A reboot does" in output) is (expected == FAILED)
    if said is not None:
        assert (tmp_path / "asked").read_text() == "-i 0 -rgc\n"


def test_an_nvidia_smi_that_hangs(tmp_path: Path) -> None:
    rc, output = run(tmp_path, "--seconds", "0.3", "lock", "2200", said=world.LOCKED, hangs=True)
    assert rc == FAILED
    assert "nvidia-smi said nothing for 0.3 s and was stopped" in output


def test_what_is_no_number(tmp_path: Path) -> None:
    """As with an empty file of the cap: exit status 2, which systemd does not try again."""
    ran = subprocess.run(
        [sys.executable, PROGRAM, "lock"], env={"PATH": str(tmp_path)}, capture_output=True, check=False
    )
    assert ran.returncode == 2


def test_the_unit_asks_for_what_the_role_was_told() -> None:
    template = (world.ROLE / "templates/clock_cap.env.j2").read_text()
    written = render(trust_as_template(template), {"clock_cap_max_mhz": 2150}, "clock_cap")
    files = {"/etc/switchless/clock_cap.env": written}
    found = unit.configured([("/u", UNIT.read_text())], files.get)
    assert found == unit.Configured(2150, ("/u",))
    assert load(world.ROLE / "defaults/main.yml")["clock_cap_max_mhz"] == 2200


def test_the_unit_does_not_try_again_what_is_hopeless() -> None:
    text = UNIT.read_text()
    assert re.search(rf"^RestartPreventExitStatus=2 {HOPELESS}$", text, re.MULTILINE)
    wanted = {"After": "nvidia-persistenced.service", "RemainAfterExit": "yes", "WantedBy": "multi-user.target"}
    said = {name: value for _line, _section, name, value in unit.settings(text)}
    assert wanted.items() <= said.items()


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed here")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    """The program of the unit need not be where the tests run."""
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/usr/bin/python3", shutil.which("true") or "/bin/true"))
    ran = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True, check=False)
    assert (ran.returncode, [line for line in ran.stderr.splitlines() if UNIT.name in line]) == (0, [])
