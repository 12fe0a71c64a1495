# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cap of the clock, asked of systemd and of nvidia-smi: nothing here uses a module of the collection."""

from __future__ import annotations

import re

from testinfra.host import Host

UNIT = "switchless-clock-cap.service"
SET = re.compile(r'GPU clocks set to "\(gpuClkMin \d+, gpuClkMax (\d+)\)"')


def cap(host: Host) -> int:
    """The cap as nvidia-smi took it in this boot: it may have been snapped."""
    said = host.check_output("journalctl -b -u %s -o cat --no-pager", UNIT)
    found: list[str] = SET.findall(said)
    assert found, said
    return int(found[-1])


def test_the_unit_is_in_force_and_comes_back_at_boot(host: Host) -> None:
    service = host.service(UNIT)
    assert service.is_running
    assert service.is_enabled
    assert host.check_output("systemctl show --property=ExecMainStatus --value %s", UNIT) == "0"


def test_nvidia_smi_took_a_cap_below_the_clock_of_a_free_gpu(host: Host) -> None:
    assert 950 <= cap(host) <= 2340


def test_the_clock_does_not_exceed_it(host: Host) -> None:
    """Says something only while a program computes."""
    now = host.check_output("nvidia-smi -i 0 --query-gpu=clocks.sm --format=csv,noheader,nounits")
    assert int(now) <= cap(host) + 50


def test_files_belong_to_root(host: Host) -> None:
    for path in ("/etc/switchless/clock_cap.env", f"/etc/systemd/system/{UNIT}"):
        file = host.file(path)
        assert (file.user, file.group, file.mode) == ("root", "root", 0o644)
