# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of the role host as Ansible renders them, and what its tasks read."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._host.model import OURS
from ansible_collections.switchless.spark.plugins.module_utils._host.work import Changes
from tests.unit.host.host_world import ROLE, wanted

UNITS = {"reload": {"system.conf.d", "system", "earlyoom.service.d"}}


def settings(text: str) -> list[str]:
    """A file without its comments."""
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def file(part: str, **more: Any) -> str:
    return next(one.content for one in wanted(**more).files if part in one.path)


def test_every_file_says_whose_it_is() -> None:
    files = wanted().files
    assert [one.path for one in files if OURS not in one.content.splitlines()[0]] == []
    assert {one.path.split("/")[-2] for one in files if one.reload} == UNITS["reload"]
    assert [one.wanted for one in files] == [True] * len(files)
    assert [one.wanted for one in wanted(reset=True).files] == [False] * len(files)


def test_the_limits_of_units() -> None:
    assert settings(file("system.conf.d")) == [
        "[Manager]",
        "DefaultLimitMEMLOCK=infinity",
        "DefaultLimitNOFILE=65536:524288",
        "DefaultLimitCORE=0",
    ]
    assert settings(file("system.conf.d", host_nofile="600000", host_memlock_unlimited="false")) == [
        "[Manager]",
        "DefaultLimitNOFILE=600000:600000",
        "DefaultLimitCORE=0",
    ]


def test_the_limits_of_logins_reach_root() -> None:
    assert settings(file("limits.d")) == [
        "* - memlock unlimited",
        "* soft nofile 65536",
        "* soft core 0",
        "root - memlock unlimited",
        "root soft nofile 65536",
        "root soft core 0",
    ]


@pytest.mark.parametrize(
    ("more", "defaults"),
    [
        (
            {},
            {
                "DefaultLimitMEMLOCK": "infinity",
                "DefaultLimitMEMLOCKSoft": "infinity",
                "DefaultLimitNOFILESoft": "65536",
                "DefaultLimitCORE": "0",
                "DefaultLimitCORESoft": "0",
            },
        ),
        ({"host_nofile": "0", "host_core_dumps": "true", "host_memlock_unlimited": "no"}, {}),
    ],
)
def test_what_systemd_has_to_say(more: dict[str, Any], defaults: dict[str, str]) -> None:
    want = wanted(**more)
    assert want.defaults == defaults
    assert [one.wanted for one in want.files if "limit" in one.path or "system.conf" in one.path] == [
        bool(defaults)
    ] * 2


def test_earlyoom_leaves_a_server_its_last_gigabyte() -> None:
    """0.63 GiB were left on a node that served well, 512 MiB are less."""
    lines = settings(file("earlyoom"))
    assert lines[:3] == ["[Unit]", "ConditionVirtualization=!container", "[Service]"]
    assert lines[3] == "ExecStart="
    assert lines[4].startswith("ExecStart=/usr/bin/earlyoom -M 524288,102400 -s 100 -r 3600 --prefer ")
    prefer, avoid = re.findall(r"'([^']+)'", lines[4])
    names = [
        "VLLM::Worker_TP",
        "VLLM::EngineCor",
        "vllm",
        "ray::RayWorker",
        "sshd",
        "systemd-journal",
        "nvidia-persiste",
    ]
    assert [name for name in names if re.search(prefer, name)] == names[:4]
    assert [name for name in names if re.search(avoid, name)] == names[4:]


def test_other_files() -> None:
    assert settings(file("journald", host_journal_max_mib="500")) == [
        "[Journal]",
        "Storage=persistent",
        "SystemMaxUse=500M",
    ]
    assert settings(file("sysctl.d", host_sysctl={"vm.swappiness": 10})) == ["vm.swappiness = 10"]
    assert settings(file("coredump")) == ["[Coredump]", "Storage=none", "ProcessSizeMax=0"]
    assert "ExecStart=/bin/sh -c 'echo 3 >/proc/sys/vm/drop_caches'" in settings(file("drop-caches"))


@pytest.mark.parametrize("given", [(), ("192.0.2.11 329f",)])
@pytest.mark.parametrize("switch", ["true", "false"])
def test_names_are_a_switch(given: tuple[str, ...], switch: str) -> None:
    assert wanted(__host_names=list(given), host_etc_hosts=switch).hosts == (given if switch == "true" else ())


def test_nothing_is_wanted_by_a_reset() -> None:
    nothing = wanted(reset=True)
    assert (nothing.hosts, nothing.sysctl, nothing.defaults) == ((), {}, {})
    switches = ("headless", "stop_desktop", "swap_off", "earlyoom", "time_sync")
    assert [getattr(nothing, name) for name in switches] == [False] * len(switches)


def test_the_tasks_do_all_of_the_work() -> None:
    text = "".join(path.read_text() for path in sorted((ROLE / "tasks").glob("*.yml")))
    used = set(re.findall(r"__host_changes\.(\w+)", text))
    assert used == {field.name for field in fields(Changes)}
