# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conditions and words of the role cuda, rendered as Ansible renders them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible.template import trust_as_template

from tests.unit.rendering import CHECKOUT, load, render

ROLE = CHECKOUT / "roles/cuda"
GIVEN = load(ROLE / "defaults/main.yml") | load(ROLE / "vars/main.yml") | {"inventory_hostname": "spark1"}
AUTO = {"auto": True, "current": "/usr/local/cuda-13.0", "priorities": {"/usr/local/cuda-13.0": 130}}
SET = AUTO | {"auto": False}
HIS = {
    "auto": False,
    "current": "/usr/local/cuda-13.3",
    "priorities": SET["priorities"] | {"/usr/local/cuda-13.3": 133},
}


def task(file: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(item for item in load(ROLE / "tasks" / file) if item["name"] == name)
    return found


def fits(**changes: Any) -> bool:
    check = task("main.yml", "Require toolkits that can be had without a driver")
    conditions = check["ansible.builtin.assert"]["that"]
    variables = GIVEN | check["vars"] | changes
    return all(render(trust_as_template("{{ " + condition + " }}"), variables) for condition in conditions)


@pytest.mark.parametrize(
    "name",
    [
        "cuda",
        "cuda=13.3.0-1",
        "cuda-13",
        "cuda-13-3",
        "cuda-drivers",
        "cuda-drivers-580",
        "cuda-runtime-13-3",
        "cuda-demo-suite-12-9",
        "nvidia-open",
        "nvidia-open-590",
        "nvidia-driver-580-open",
        "nvidia-driver:arm64",
    ],
)
def test_what_brings_a_driver_is_refused(name: str) -> None:
    assert not fits(cuda_extra_packages=[name])
    assert not fits(cuda_extra_packages=f"tree,{name}")


@pytest.mark.parametrize(
    "name", ["cuda-toolkit-13-3", "cuda-nvcc-13-3", "cuda-compat-13-3", "libnccl2", "cudnn", "tree=1"]
)
def test_what_does_not_is_taken(name: str) -> None:
    assert fits(cuda_extra_packages=[name])


@pytest.mark.parametrize(
    ("changes", "fine"),
    [
        ({}, True),
        ({"cuda_toolkits": "13.0,13.3"}, True),  # -e gives text
        ({"cuda_toolkits": [13.0, 13.3], "cuda_default": 13.0}, True),
        ({"cuda_toolkits": ["13.0"]}, False),
        ({"cuda_default": "12.9"}, False),
        ({"cuda_toolkits": ["13", "13.0", "13.3"]}, False),
        ({"cuda_toolkits": []}, False),
    ],
)
def test_versions(changes: dict[str, Any], fine: bool) -> None:
    assert fits(**changes) is fine


@pytest.mark.parametrize(
    ("alternatives", "sets", "registered"),
    [(None, True, False), (AUTO, True, True), (SET, False, True), (HIS, True, True)],
)
def test_when_the_link_is_set(alternatives: dict[str, Any] | None, sets: bool, registered: bool) -> None:
    """Also where it leads right in auto mode: the next package would move it."""
    step = task("main.yml", "See what there is to do")
    variables = GIVEN | step["vars"] | {"__cuda_before": {"cuda": {"alternatives": alternatives, "lacking": []}}}
    facts = step["ansible.builtin.set_fact"]
    assert render(facts["__cuda_set"], variables) is sets
    assert render(facts["__cuda_registered"], variables) is registered


@pytest.mark.parametrize(
    ("sets", "lacking", "link", "packages"),
    [
        (True, ["tree"], {"set": "/usr/local/cuda-13.0", "auto": False, "current": "/usr/local/cuda-13.3"}, ["a", "b"]),
        (False, [], {"set": "/usr/local/cuda-12.9"}, ["a"]),
    ],
)
def test_what_is_remembered(sets: bool, lacking: list[str], link: dict[str, Any], packages: list[str]) -> None:
    """What an earlier run brought stays ours, and what the link was is that of its last change."""
    step = task("apply.yml", "Remember what was there, so that it can be undone")
    earlier = {"packages": ["a"], "link": {"set": "/usr/local/cuda-12.9"}}
    variables = GIVEN | step["vars"]
    variables |= {"__cuda_set": sets, "__cuda_lacking": lacking, "__cuda_alternatives": HIS}
    variables |= {"__cuda_before": {"cuda": {"remembered": earlier}}}
    variables |= {"__cuda_plan": {"simulation": {"installs": ["b", "a"]}} if lacking else {"skipped": True}}
    written = json.loads(render(step["ansible.builtin.copy"]["content"], variables))
    assert written == {"link": link, "packages": packages}


@pytest.mark.parametrize(
    ("alternatives", "told"),
    [
        (HIS, "leads to /usr/local/cuda-13.3, which somebody chose by hand. It is set to /usr/local/cuda-13.0"),
        (AUTO, "leads to /usr/local/cuda-13.0 in auto mode. It is set to"),
        (AUTO | {"current": None}, "is not there. It is set to"),
    ],
)
def test_what_is_said_of_the_link(alternatives: dict[str, Any], told: str) -> None:
    step = task("apply.yml", "Say what becomes of the link")
    variables = GIVEN | step["vars"] | {"__cuda_alternatives": alternatives, "ansible_check_mode": False}
    assert told in render(step["ansible.builtin.debug"]["msg"], variables)


@pytest.mark.parametrize(
    ("was", "now", "gives_back"),
    [
        ({"set": "/usr/local/cuda-13.0", "auto": True, "current": None}, SET, ("auto", "/usr/local/cuda-13.0")),
        (
            {"set": "/usr/local/cuda-13.0", "auto": False, "current": "/usr/local/cuda-13.3"},
            HIS | {"current": "/usr/local/cuda-13.0"},
            ("selected", "/usr/local/cuda-13.3"),
        ),
        (
            {"set": "/usr/local/cuda-13.0", "auto": False, "current": "/opt/gone"},
            SET,
            ("auto", "/usr/local/cuda-13.0"),
        ),
        ({"set": "/usr/local/cuda-13.0", "auto": True, "current": None}, HIS, None),
        (None, SET, None),
        ({"set": "/usr/local/cuda-13.0", "auto": True, "current": None}, None, None),
    ],
)
def test_reset_gives_the_link_back(was: Any, now: Any, gives_back: tuple[str, str] | None) -> None:
    step = task("reset.yml", "Give the link back")
    before = {"cuda": {"remembered": {"link": was}, "alternatives": now}}
    variables = GIVEN | step["vars"] | {"__cuda_before": before}
    asked = step["community.general.alternatives"]
    assert render(trust_as_template("{{ " + step["when"] + " }}"), variables) is (gives_back is not None)
    if gives_back is not None:
        assert (render(asked["state"], variables), render(asked["path"], variables)) == gives_back
