# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When the role says that what serves is not proven, by the expressions of its own tasks."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.unit.rendering import CHECKOUT, load, render

NOW = {"kernel": "6.17.0-1014-nvidia", "driver": "580.95.05", "recipe": "49045d34da0a"}


def differences(accepted: dict[str, str] | None) -> Any:
    tasks = load(CHECKOUT / "roles" / "guards" / "tasks" / "gate.yml")
    task = next(one for one in tasks if one["name"] == "Compare what serves with what passed")
    content = base64.b64encode(json.dumps({"fingerprint": accepted}).encode()).decode()
    hostvars = {"spark1": {"__guards_accepted": {} if accepted is None else {"content": content}}}
    variables = {"vllm_state": {"host": "spark1", "fingerprint": NOW}, "hostvars": hostvars}
    return render(task["ansible.builtin.set_fact"]["__guards_differences"], variables | task["vars"], "guards")


def test_what_passed_is_proven() -> None:
    """An empty template is None in Ansible, whose text is not empty: every run would have judged again."""
    assert differences(dict(NOW)) == []


def test_before_any_run_nothing_is_proven() -> None:
    assert differences(None) == ["no run of the battery was accepted yet"]


@pytest.mark.parametrize(
    ("accepted", "words"),
    [
        (NOW | {"kernel": "6.17.0-1000-nvidia"}, ["kernel 6.17.0-1000-nvidia -> 6.17.0-1014-nvidia"]),
        ({name: NOW[name] for name in ("kernel", "driver")}, ["recipe nothing -> 49045d34da0a"]),
        (NOW | {"nccl": "2.30.7"}, ["nccl 2.30.7 -> nothing"]),
        (NOW | {"kernel": "a", "driver": "b"}, ["driver b -> 580.95.05", "kernel a -> 6.17.0-1014-nvidia"]),
    ],
)
def test_what_differs_is_said(accepted: dict[str, str], words: list[str]) -> None:
    assert differences(accepted) == words
