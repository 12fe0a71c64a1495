# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role vllm does about snapshots of weights: room, what is removed and when, as Ansible renders it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible.template import trust_as_template

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._preflight.disk import Ask, look
from tests.unit.rendering import CHECKOUT, load, render

ROLE = CHECKOUT / "roles/vllm"
KEPT = "/var/lib/vllm/glm-5.3-flash-nvfp4/snapshots"
OURS, OTHER = "rank1of4-0123456789abcdef", "rank1of4-fedcba9876543210"
HAS = {"directory_variable": "DIR", "tag_variable": "TAG", "gib": 46}


def tasks(name: str) -> list[Any]:
    found: list[Any] = load(ROLE / f"tasks/{name}.yml")
    return found


def task(name: str, words: str) -> Any:
    return next(one for one in tasks(name) if words in one["name"])


def expression(text: str, variables: dict[str, Any]) -> Any:
    return render(trust_as_template("{{ " + text + " }}"), variables)


def known(snapshots: Any = "has", wanted: Any = True, **more: Any) -> dict[str, Any]:
    chosen = {"name": "glm-5.3-flash-nvfp4", "runtime": {"snapshots": HAS if snapshots == "has" else snapshots}}
    host = {"vllm_chosen": chosen, "vllm_snapshots": wanted, "inventory_hostname": "spark2"}
    inner: dict[str, Any] = load(ROLE / "vars/main.yml")
    return inner | host | more


def room(free: float | None, present: float, need: float = 46.0) -> dict[str, Any]:
    seen = {"path": KEPT, "need_gib": need, "there": "/var/lib", "free_gib": free, "present_gib": present}
    return {"__vllm_node": {"preflight": {"disk": [seen]}}}


@pytest.mark.parametrize(
    ("snapshots", "wanted", "need"),
    [(HAS, True, 46), (HAS, "true", 46), (HAS, "false", 0), (HAS, False, 0), (None, True, 0)],
)
def test_room_is_asked_for_where_there_will_be_a_snapshot(snapshots: Any, wanted: Any, need: int) -> None:
    module = task("look", "Look at memory")["switchless.spark.preflight_info"]
    asked = render(module["disk"], known(snapshots, wanted))
    assert asked == [{"path": KEPT, "need_gib": need, "count_present": True}]


@pytest.mark.parametrize(
    ("free", "present", "need", "enough"),
    [
        (46.0, 0.0, 46.0, True),
        (45.9, 0.0, 46.0, False),
        # It is there: nothing more is written.
        (1.0, 45.3, 46.0, True),
        # One of another tag makes room when it goes, and only what it has.
        (20.0, 20.0, 46.0, False),
        (0.0, 0.0, 0.0, True),
        (None, 0.0, 46.0, True),
    ],
)
def test_what_is_enough_room(free: float | None, present: float, need: float, enough: bool) -> None:
    rule = task("look", "Require room")["ansible.builtin.assert"]
    assert expression(rule["that"], known(**room(free, present, need))) is enough


def test_too_little_room_is_said_with_what_to_do() -> None:
    said = render(task("look", "Require room")["ansible.builtin.assert"]["fail_msg"], known(**room(12.5, 1.0)))
    assert said == (
        f"spark2: /var/lib has 12.5 GiB free, and its rank keeps 46.0 GiB of weights in {KEPT}, where 1.0 GiB are now: "
        "make room, or set vllm_snapshots to false, and every start loads the checkpoint."
    )


def test_the_room_that_preflight_sees(tmp_path: Path) -> None:
    """That of the folder that will be, and what lies in it."""
    seen = look(Tree(str(tmp_path)), Ask(KEPT, 46, count_present=True))
    assert (seen.there, seen.present_gib) == (str(tmp_path), 0.0)
    folder = tmp_path / KEPT[1:] / OURS / "v2-target"
    folder.mkdir(parents=True)
    (folder / "data.bin").write_bytes(bytes(20 << 20))
    seen = look(Tree(str(tmp_path)), Ask(KEPT, 46, count_present=True))
    assert (seen.there, seen.present_gib) == (str(tmp_path / KEPT[1:]), 0.02)


THERE = [
    OURS,
    f"{OURS}/v2-target-tp1of4-dp0-0123456789abcdef",
    f"{OURS}/v2-target-tp1of4-dp0-0123456789abcdef.tmp71",
    OTHER,
    f"{OTHER}/v2-target-tp1of4-dp0-0123456789abcdef",
    # Whoever made these, it was not the role.
    "mine",
    "mine.tmp1",
    f"{OURS}.old",
    "rank1of4-0123",
    "v2-target-tp1of4-dp0-0123456789abcdef",
]
CUT_SHORT = f"{OURS}/v2-target-tp1of4-dp0-0123456789abcdef.tmp71"


@pytest.mark.parametrize(
    ("snapshot", "gone"),
    [(f"{KEPT}/{OURS}", [CUT_SHORT, OTHER]), ("", [OURS, CUT_SHORT, OTHER])],
)
def test_a_start_removes_other_snapshots_and_nothing_else(snapshot: str, gone: list[str]) -> None:
    found = {"files": [{"path": f"{KEPT}/{name}"} for name in THERE]}
    told = {"__vllm_told": {"snapshot": snapshot}, "__vllm_snapshots_there": found}
    assert render(task("snapshots", "Remove")["loop"], known(**told)) == [f"{KEPT}/{name}" for name in gone]


def test_where_nothing_was_looked_for_nothing_is_removed() -> None:
    told = {"__vllm_told": {"snapshot": ""}, "__vllm_snapshots_there": {"skipped": True}}
    assert render(task("snapshots", "Remove")["loop"], known(**told)) == []


def test_they_are_removed_while_no_rank_runs() -> None:
    """After the workers were started anew, which stops what they ran, and before the head, for which they wait."""
    names = [one["name"] for one in tasks("start")]
    place = names.index("Keep no weights but those of this start")
    assert names[place - 1].startswith("Start the ranks, which wait for the head")
    assert names[place + 1].startswith("Start the head")
    others = [path for path in (ROLE / "tasks").glob("*.yml") if "snapshots.yml" in path.read_text()]
    assert [path.name for path in others] == ["start.yml"]


@pytest.mark.parametrize(
    ("manifest", "checksum"),
    [({"stat": {"exists": True, "checksum": "3" * 64}}, "3" * 64), ({"stat": {"exists": False}}, None), ({}, None)],
)
def test_what_the_weights_are_made_with(manifest: Any, checksum: str | None) -> None:
    built = {"__vllm_built": {"build": {"content_sha256": "1" * 64, "packages_sha256": "2" * 64}}}
    made = expression("__vllm_made_with", known(__vllm_manifest=manifest, **built))
    assert made == {"vllm": "1" * 64, "packages": "2" * 64, "checkpoint": checksum}
