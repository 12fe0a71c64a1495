# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A served model: the real vLLM on two nodes, which live and die as one group, whatever ends one of them.

The tests go on from one another. How long the group took to serve again is printed, and kept in the results.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.cluster import CHECKOUT, Cluster
from tests.e2e.served import MANY_STARTS, UNIT, ask, faulty, last_end, recipe, spoil, state, unit, until

Record = Callable[[str, object], None]


def serves_again(served: Cluster, life: str, record: Record) -> None:
    """Another life of the group serves, with the right answer, and no rank is of the old one."""
    took = until(
        lambda: (now := state(served)).get("state") == "serving" and now["life"] != life, "the group serves again"
    )
    record("recovery_seconds", round(took, 1))
    print(f"served again after {took:.0f} s")
    assert ask(served).split() == ["200", "C1234"]
    now = state(served)
    assert {entry["state"] for entry in now["ranks"]} == {"running"}
    assert state(served, "spark2")["life"] == now["life"]


def test_the_checkpoint_comes_over_the_fabric_and_the_group_serves(served: Cluster) -> None:
    played = served.play("--tags", "fabric,transport,checkpoint,vllm", *MANY_STARTS)
    assert played.rc == 0, played.text
    assert played.said("lab serves as copy on http://10.77.0.11:8000/v1, tensor parallel 2 over spark1, spark2")
    assert played.said("Answered: C1234")
    sums = served.nodes("cd /srv/models/copy && sha256sum *.safetensors *.json")
    assert sums["spark1"] == sums["spark2"] != ""


def test_a_second_run_restarts_nothing(served: Cluster) -> None:
    life = state(served)["life"]
    played = served.play("--tags", "checkpoint,vllm", *MANY_STARTS)
    assert played.rc == 0, played.text
    assert not any(played.changed.values()), played.text
    assert state(served)["life"] == life


def test_it_is_right_seen_from_outside(served: Cluster) -> None:
    assert "failed" not in served.asked_from_outside("checkpoint", "vllm")
    assert ask(served, key="wrong") == "401"


@pytest.mark.parametrize(
    ("node", "harm", "reason", "rank"),
    [
        pytest.param(
            "spark2", "kill -9 $(jq .child /run/vllm/lab/state.json)", "rank_ended", 1, id="kill -9 of a rank"
        ),
        pytest.param(
            "spark2", "kill -TERM $(jq .child /run/vllm/lab/state.json)", "rank_ended", 1, id="exit 0 of a rank"
        ),
        pytest.param("spark1", "pkill -9 -f '[V]LLM::EngineCore'", "", 0, id="kill -9 of the engine"),
        pytest.param(
            "spark1",
            "kill -9 $(systemctl show -P MainPID vllm@lab)",
            "rank_silent",
            0,
            id="kill -9 of the head's keeper",
        ),
    ],
)
def test_whatever_ends_a_rank_ends_all_and_they_come_back(
    served: Cluster, record_property: Record, node: str, harm: str, reason: str, rank: int
) -> None:
    life = state(served)["life"]
    served.node(node, harm)
    serves_again(served, life, record_property)
    end = last_end(served)
    assert (end["life"], end["rank"]) == (life, rank)
    assert end["reason"] == reason or (not reason and end["reason"] in ("rank_ended", "engine_dead"))


def test_two_ranks_restarted_by_hand_at_once(served: Cluster, record_property: Record) -> None:
    life = state(served)["life"]
    for node in served.names:
        served.node(node, f"systemctl --no-block restart {UNIT}")
    serves_again(served, life, record_property)


def test_stop_on_the_head_is_that_of_the_group(served: Cluster, record_property: Record) -> None:
    life = state(served)["life"]
    served.node("spark1", f"systemctl stop {UNIT}")
    assert state(served)["state"] == "stopped"
    until(lambda: state(served, "spark2").get("state") == "waiting", "the other rank waits for the head", 60)
    assert served.node("spark2", "pgrep -f '[V]LLM::' || true") == ""
    served.node("spark1", f"systemctl start {UNIT}")
    serves_again(served, life, record_property)


def test_a_node_without_power_and_its_return(served: Cluster, record_property: Record) -> None:
    life = state(served)["life"]
    served.lab("powercut", "spark2")
    until(lambda: state(served).get("state") == "gathering", "the head ends its rank and waits", 90)
    assert served.node("spark1", "pgrep -f '[V]LLM::' || true") == ""
    assert last_end(served)["reason"] in ("rank_silent", "rank_ended")
    served.lab("poweron", "spark2")
    serves_again(served, life, record_property)


def test_a_cable_out_is_a_stall_that_ends_the_group(served: Cluster, record_property: Record) -> None:
    """/health says 200 all the while."""
    life = state(served)["life"]
    for cable in ("1", "2"):
        served.lab("unplug", cable)
    try:
        until(
            lambda: state(served).get("life") != life or state(served)["state"] != "serving", "the stall is seen", 180
        )
        assert last_end(served)["reason"] in ("stalled", "engine_dead", "rank_ended")
    finally:
        for cable in ("1", "2"):
            served.lab("plug", cable)
    serves_again(served, life, record_property)


def test_other_files_of_vllm_on_one_node_are_refused_and_nothing_restarts(served: Cluster) -> None:
    life = state(served)["life"]
    file = served.node("spark2", "ls /opt/switchless/vllm/lab-*/lib/python3*/site-packages/vllm/envs.py").strip()
    served.node("spark2", f"echo '# by hand' >> {file}")
    try:
        played = served.play("--tags", "vllm", *MANY_STARTS)
    finally:
        served.node("spark2", f"sed -i '$d' {file}")
    assert played.rc != 0
    assert played.said("the nodes differ in content_sha256 of vLLM")
    assert state(served)["life"] == life


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        pytest.param("truncate -s -4096 model.safetensors", "model.safetensors", id="truncated"),
        pytest.param("rm -r /srv/models/copy", "spark2", id="gone"),
    ],
)
def test_a_checkpoint_that_was_harmed_is_brought_again(served: Cluster, harm: str, said: str) -> None:
    served.node("spark2", f"cd /srv/models/copy && {harm}")
    played = served.play("--tags", "checkpoint")
    assert played.rc == 0, played.text
    assert played.said(said)
    assert played.changed["spark2"] > 0
    sums = served.nodes("cd /srv/models/copy && sha256sum *.safetensors")
    assert sums["spark1"] == sums["spark2"]


def test_the_budget_of_starts_ends_in_one_clear_state(served: Cluster) -> None:
    """A rank without its model fails at every start. The group stays down, says so, and says why."""
    played = served.play("--tags", "vllm", "-e", "vllm_starts=2")
    assert played.rc == 0, played.text
    served.node("spark2", "mv /srv/models/copy /srv/models/away")
    try:
        served.node("spark2", "kill -9 $(jq .child /run/vllm/lab/state.json)")
        until(lambda: unit(served, "ActiveState") == "failed", "the head's unit has failed")
        assert "stays down" in served.node("spark1", "journalctl -t vllm-alarm -p crit -o cat --no-pager")
        played = served.play("--tags", "vllm", *MANY_STARTS)
        assert played.rc != 0
        assert played.said("lab does not serve"), played.text
        assert last_end(served)["host"] == "spark2"
    finally:
        served.node("spark1", f"systemctl stop {UNIT}")
        served.node("spark2", "mv /srv/models/away /srv/models/copy")
    played = served.play("--tags", "vllm", *MANY_STARTS)
    assert played.rc == 0, played.text
    assert played.said("Answered: C1234")


def test_a_port_that_is_taken_is_named_before_anything_starts(served: Cluster) -> None:
    served.node("spark1", f"systemctl stop {UNIT}")
    served.node("spark1", "systemd-run --quiet --unit=e2e-port python3 -m http.server 8000")
    try:
        played = served.play("--tags", "vllm", *MANY_STARTS)
    finally:
        served.node("spark1", "systemctl stop e2e-port")
    assert played.rc != 0
    assert played.said("8000", "python3", "vllm_api_port")
    served.node("spark1", f"systemctl start {UNIT}")
    until(lambda: state(served).get("state") == "serving", "it serves again")


def test_another_recipe_takes_the_place_of_this_one(served: Cluster, tmp_path: Path) -> None:
    played = served.play("-e", f"vllm_recipe={faulty(served, tmp_path)}", *MANY_STARTS, playbook="playbooks/switch.yml")
    assert played.rc == 0, played.text
    assert played.said("faulty serves as copy", "Answered: C1234")
    for node in served.names:
        assert served.node(node, "systemctl is-active vllm@lab || true").strip() == "inactive"
        assert served.node(node, "systemctl is-enabled vllm@lab vllm@faulty || true").split() == ["disabled", "enabled"]


def test_an_engine_that_ends_itself_with_success_is_noticed(served: Cluster, record_property: Record) -> None:
    """As in finding 13: a prompt ends the process with exit status 0."""
    life = state(served, recipe="faulty")["life"]
    spoil(served, "crash")
    assert ask(served, recipe="faulty", code="C4095").split()[0] == "500"
    spoil(served)
    took = until(
        lambda: (now := state(served, recipe="faulty")).get("state") == "serving" and now["life"] != life, "it is back"
    )
    record_property("recovery_seconds", round(took, 1))
    assert ask(served, recipe="faulty").split() == ["200", "C1234"]


def test_a_recipe_that_does_not_come_up_leaves_the_old_one(served: Cluster, tmp_path: Path) -> None:
    broken = recipe(tmp_path, "broken", {"environment": {"VLLM_CPU_KVCACHE_SPACE": "much"}})
    played = served.play("-e", f"vllm_recipe={broken}", "-e", "vllm_starts=1", playbook="playbooks/switch.yml")
    assert played.rc != 0
    assert played.said("broken did not come up", "vllm@faulty was started again")
    until(lambda: state(served, recipe="faulty").get("state") == "serving", "the old one serves again")
    assert ask(served, recipe="faulty").split() == ["200", "C1234"]


def test_back_to_the_first_recipe(served: Cluster) -> None:
    played = served.play("-e", "vllm_recipe=lab", *MANY_STARTS, playbook="playbooks/switch.yml")
    assert played.rc == 0, played.text
    assert ask(served).split() == ["200", "C1234"]


def test_reset_takes_all_of_it_away(served: Cluster) -> None:
    played = served.play("--tags", "vllm", playbook="playbooks/reset.yml")
    assert played.rc == 0, played.text
    for node in served.names:
        left = served.node(
            node, "ls -d /etc/switchless/vllm /opt/switchless/vllm /var/lib/vllm 2>/dev/null; id vllm 2>/dev/null; true"
        )
        assert left == ""
    assert (CHECKOUT / "roles/vllm").is_dir()
