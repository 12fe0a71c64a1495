# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pinned driver, asked of dpkg and apt: nothing here uses a module of the collection."""

from __future__ import annotations

import json
import re

from testinfra.host import Host

# The driver's libraries and programs, modules for kernels, and metapackages of kernels.
FAMILY = re.compile(
    r"nvidia-(driver|headless|dkms|kernel-common|kernel-source|utils|compute-utils)\b.*|nvidia-(modprobe|persistenced)"
    r"|libnvidia-(cfg1|common|compute|decode|encode|extra|fbc1|gl|gpucomp)\b.*"
    r"|linux-(nvidia|image-nvidia|headers-nvidia)-.*|linux-modules-nvidia-\d{3}.*"
)
OF_A_KERNEL = re.compile(r"-\d+\.\d+\.\d+-\d+-")
MOVE = re.compile(r"(?:Inst|Remv|Purg) (?P<name>[^\s:]+)")
KERNEL = re.compile(r"linux-image-\d.*")
PREFERENCES, SETTINGS = (
    "/etc/apt/preferences.d/switchless-nvidia-driver",
    "/etc/apt/apt.conf.d/52switchless-nvidia-driver",
)


def installed(host: Host) -> dict[str, str]:
    """Packages of the family with their state. Modules of other kernels than the running one are left out."""
    running = host.check_output("uname -r")
    said = host.check_output("dpkg-query -W -f '${db:Status-Abbrev}\\t${Package}\\n'")
    rows = [line.split("\t") for line in said.splitlines()]
    there = {name: state.strip() for state, name in rows if FAMILY.fullmatch(name) and state[1] not in "cn"}
    return {name: state for name, state in there.items() if name.endswith(running) or not OF_A_KERNEL.search(name)}


def test_all_of_the_family_is_held(host: Host) -> None:
    found = installed(host)
    assert any(name.startswith("nvidia-driver-") for name in found)
    assert {name: state for name, state in found.items() if state != "hi"} == {}


def test_nobody_can_autoremove_it(host: Host) -> None:
    automatic = set(host.check_output("apt-mark showauto").split())
    assert automatic & set(installed(host)) == set()


def test_no_upgrade_moves_it(host: Host) -> None:
    for option in ("", "-o APT::Get::Always-Include-Phased-Updates=true"):
        said = host.check_output(f"LC_ALL=C apt-get -s {option} dist-upgrade")
        moved = [match["name"] for match in map(MOVE.match, said.splitlines()) if match]
        assert [name for name in moved if FAMILY.fullmatch(name) or KERNEL.fullmatch(name)] == []


def test_the_libraries_and_the_loaded_module_are_of_one_version(host: Host) -> None:
    loaded = host.file("/sys/module/nvidia/version").content_string.strip()
    packages = "'nvidia-driver-*' 'libnvidia-compute-*'"
    said = host.check_output(f"dpkg-query -W -f '${{db:Status-Abbrev}}\\t${{Version}}\\n' {packages}")
    rows = [line.split("\t") for line in said.splitlines()]
    assert {version.partition("-")[0] for state, version in rows if state[1] not in "cn"} == {loaded}


def test_unattended_upgrades_leave_it(host: Host) -> None:
    """Its patterns are Python's re.match."""
    said = host.check_output("apt-config dump Unattended-Upgrade::Package-Blacklist")
    patterns = [re.compile(pattern) for pattern in re.findall(r'Blacklist:: "(.*)";', said)]
    assert [name for name in installed(host) if not any(pattern.match(name) for pattern in patterns)] == []
    free = ("nvidia-container-toolkit", "libnvidia-container1", "libnccl2", "cuda-toolkit-13-0", "linux-firmware")
    assert [name for name in free if any(pattern.match(name) for pattern in patterns)] == []


def test_files_belong_to_root(host: Host) -> None:
    for path in (PREFERENCES, SETTINGS):
        file = host.file(path)
        assert (file.user, file.group, file.mode) == ("root", "root", 0o644)


def test_what_is_given_back_one_day_is_still_there(host: Host) -> None:
    """What the role holds is held, as it remembers."""
    file = host.file("/var/lib/switchless/nvidia_driver.json")
    if file.exists:
        held = set(host.check_output("apt-mark showhold").split())
        assert set(json.loads(file.content_string)["held"]) & set(installed(host)) <= held
