# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role's conditions and words, rendered as Ansible renders them."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest
import yaml
from ansible.template import trust_as_template

from ansible_collections.switchless.spark.plugins.filter.preflight_findings import preflight_findings
from tests.unit.preflight.preflight_world import ROLE, node
from tests.unit.rendering import load, render

SUDO = (
    "Task failed: Premature end of stream waiting for become success.\n>>> Standard Error\nsudo: a password is required"
)
REACH = "Check that it is on and that `ssh` to it works."
GIVE = "Give the sudo password with --ask-become-pass, or allow the user sudo."


def said(template: str, variables: dict[str, Any]) -> list[str]:
    text = (ROLE / "templates" / template).read_text()
    lines: str | None = render(trust_as_template(text), variables, "preflight")
    return [line for line in (lines or "").splitlines() if line]


def problems(seen: dict[str, Any] | None, **more: Any) -> list[str]:
    host = {"ansible_host": "10.77.0.12"} | ({} if seen is None else {"__preflight_seen": seen})
    variables = {"ansible_play_hosts_all": ["spark2"], "hostvars": {"spark2": host}, "preflight_require_root": True}
    return said("problems.j2", variables | more)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ({"preflight": node()}, []),
        ({"msg": SUDO}, [f"spark2: root is needed and was not given: sudo: a password is required. {GIVE}"]),
        (
            {"msg": "Task failed: Missing sudo password"},
            [f"spark2: root is needed and was not given: Missing sudo password. {GIVE}"],
        ),
        (
            {"msg": "MODULE FAILURE", "module_stderr": "sudo: no tty present"},
            [f"spark2: root is needed and was not given: MODULE FAILURE. {GIVE}"],
        ),
        ({"preflight": node(uid=1000)}, [f"spark2: root is needed and was not given: no message. {GIVE}"]),
        (
            {"msg": "The module interpreter '/usr/bin/python3' was not found.", "module_stderr": "sh: not found"},
            ["spark2 cannot be looked at: The module interpreter '/usr/bin/python3' was not found."],
        ),
        (
            {"msg": "disk has the path srv, expected absolute paths"},
            ["spark2 cannot be looked at: disk has the path srv, expected absolute paths."],
        ),
        (
            {"unreachable": True, "msg": "Task failed: Failed to connect to the host via ssh:\nNo route to host"},
            [f"spark2 cannot be reached at 10.77.0.12: No route to host. {REACH}"],
        ),
        (None, [f"spark2 cannot be reached at 10.77.0.12: no answer. {REACH}"]),
    ],
)
def test_problems(seen: dict[str, Any] | None, expected: list[str]) -> None:
    assert problems(seen) == expected


@pytest.mark.parametrize("no", [False, "false"])
def test_root_may_be_not_needed(no: object) -> None:
    assert problems({"preflight": node(uid=1000)}, preflight_require_root=no) == []
    assert problems({"msg": SUDO}, preflight_require_root=no) == [
        "spark2 cannot be looked at: sudo: a password is required."
    ]


FINDINGS = [
    {"verdict": verdict, "code": f"{verdict}_code", "text": f"spark1: {verdict}."}
    for verdict in ("stop", "warn", "note")
]


@pytest.mark.parametrize(("verbosity", "lines"), [(0, 2), (1, 3)])
def test_findings(verbosity: int, lines: int) -> None:
    expected = ["stop (stop_code): spark1: stop.", "warn (warn_code): spark1: warn.", "note (note_code): spark1: note."]
    assert said("findings.j2", {"preflight_findings": FINDINGS, "ansible_verbosity": verbosity}) == expected[:lines]


def task(name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(item for item in load(ROLE / "tasks/main.yml") if item["name"] == name)
    return found


@pytest.mark.parametrize(("kept", "goes_on"), [(["stop"], False), (["warn", "note"], True), ([], True)])
def test_only_a_stop_stops(kept: list[str], goes_on: bool) -> None:
    check = task("Require nodes that are fit")["ansible.builtin.assert"]
    variables = {"preflight_findings": [row for row in FINDINGS if row["verdict"] in kept], "ansible_verbosity": 0}
    assert render(trust_as_template("{{ " + check["that"] + " }}"), variables) is goes_on
    text = render(check["fail_msg"], variables, "preflight")
    assert text.strip().splitlines()[-1] == "Nothing was changed."


@pytest.mark.parametrize(
    ("kept", "verbosity", "shown"), [(["warn"], 0, True), (["note"], 0, False), (["note"], 1, True), ([], 0, False)]
)
def test_notes_are_shown_when_asked_for(kept: list[str], verbosity: int, shown: bool) -> None:
    show = task("Show what should be known of the nodes")
    variables = {
        "preflight_findings": [row for row in FINDINGS if row["verdict"] in kept],
        "ansible_verbosity": verbosity,
    }
    assert render(trust_as_template("{{ " + show["when"] + " }}"), variables) is shown


def test_the_filter_is_asked_for_what_it_knows() -> None:
    """Every setting of it is a variable of the role, but for the time."""
    ask = task("Judge all nodes together")["ansible.builtin.set_fact"]["preflight_findings"]
    given = dict(re.findall(r"(\w+)=(\w+)", ask))
    settings = set(inspect.signature(preflight_findings).parameters) - {"nodes"}
    assert given == {name: f"preflight_{name}" for name in settings - {"judged_at"}} | {"judged_at": "now"}
    assert set(given.values()) - {"now"} <= set(yaml.safe_load((ROLE / "defaults/main.yml").read_text()))


def test_the_node_is_looked_at_in_check_mode_and_once() -> None:
    """One module run a host: it is in every run of site.yml."""
    tasks = load(ROLE / "tasks/main.yml")
    own = [item for item in tasks if "run_once" not in item and "import_role" not in str(item)]
    assert [item["name"] for item in own] == ["Check the arguments", "Reach every node as root"]
    assert "ansible.builtin.validate_argument_spec" in own[0]  # runs on the controller
    (look,) = own[1]["block"]
    assert set(look) >= {"switchless.spark.preflight_info", "become", "ignore_unreachable"}
    assert look.get("check_mode") is None
