# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A task that runs once runs on whichever host comes first, which need not be the head.

So it must not read a variable whose default is a host's own: that of the host that is meant is kept as a fact before.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.roles.test_registered import tasks

ROLES = Path(__file__).resolve().parents[3] / "roles"
NAMES = sorted(path.parent.name for path in ROLES.glob("*/tasks"))


def own_of_a_host(role: str) -> list[str]:
    """Variables of a role whose default differs between hosts."""
    defaults: dict[str, Any] = yaml.safe_load((ROLES / role / "defaults/main.yml").read_text()) or {}
    return [name for name, value in defaults.items() if re.search(r"ansible_host|inventory_hostname", str(value))]


def read_once(role: str) -> list[tuple[str, str]]:
    """Tasks that run once and read such a variable."""
    found = [
        task
        for path in (ROLES / role / "tasks").glob("*.yml")
        for task in tasks(yaml.safe_load(path.read_text()) or [])
    ]
    return [
        (task["name"], name)
        for task in found
        if task.get("run_once")
        for name in own_of_a_host(role)
        if re.search(rf"(?<!\w){name}(?!\w)", str(task))
    ]


def test_there_are_such_variables() -> None:
    assert {"vllm_api_address", "vllm_control_address"} <= set(own_of_a_host("vllm"))


@pytest.mark.parametrize("role", NAMES)
def test_no_task_that_runs_once_reads_what_is_a_hosts_own(role: str) -> None:
    assert read_once(role) == []
