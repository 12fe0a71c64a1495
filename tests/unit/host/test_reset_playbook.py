# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""playbooks/reset.yml undoes what is named, and nothing without a name."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible.template import trust_as_template

from tests.unit.rendering import CHECKOUT, load, render

PATH = CHECKOUT / "playbooks/reset.yml"


def plays() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = load(PATH)
    return found


def test_every_role_of_the_list_has_one_play_in_this_order() -> None:
    first, *others = plays()
    roles = first["vars"]["reset_roles"]
    assert [play["tags"] for play in others] == [[role] for role in roles]
    tasks = [task["ansible.builtin.import_role"] for play in others for task in play["tasks"]]
    assert tasks == [{"name": f"switchless.spark.{role}", "tasks_from": "reset"} for role in roles]
    assert first["tags"] == ["always"]
    assert first["any_errors_fatal"]


def test_it_is_the_reverse_of_site() -> None:
    site = [play["ansible.builtin.import_playbook"] for play in yaml.safe_load((PATH.parent / "site.yml").read_text())]
    names = ["checkpoint.yml,vllm" if name == "serve.yml" else name for name in site]
    order = list(dict.fromkeys(part.removesuffix(".yml") for name in names for part in name.split(",")))
    roles = plays()[0]["vars"]["reset_roles"]
    assert [role for role in reversed(order) if role in roles] == [role for role in roles if role in order]


@pytest.mark.parametrize(
    ("tags", "said"),
    [
        (("all",), "No role is named. "),
        (("fabrik", "host"), "fabrik is no role. "),
        (("always",), "always is no role. "),
        (("host",), ""),
        (("fabric", "transport"), ""),
    ],
)
def test_tags_are_required(tags: tuple[str, ...], said: str) -> None:
    first = plays()[0]
    check = first["tasks"][0]["ansible.builtin.assert"]
    variables = first["vars"] | {"ansible_run_tags": tags}
    holds = [render(trust_as_template("{{ " + condition + " }}"), variables) for condition in check["that"]]
    assert all(holds) is (said == "")
    if said:
        text = render(check["fail_msg"], variables)
        wanted = "Name what to undo: --tags followed by one or more of guards,report,vllm,checkpoint,"
        assert text.startswith(said + wanted)
