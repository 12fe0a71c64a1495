# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The battery against the real server, whose engine is spoiled: each fault is found by its guard, a sound one by none.

The tests go on from one another. RUNS_CLEAN says how often the sound engine is judged (default 3).
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cluster import CHECKOUT, Cluster, Played
from tests.e2e.served import MANY_STARTS, ask, faulty, spoil, state, until

SETTINGS = "/etc/switchless/battery/faulty.json"
RECORDS = "/var/lib/switchless/battery/faulty"
BATTERY = "runuser -u battery -- /usr/bin/python3 -I /usr/local/lib/switchless/battery"
SILENT = ("passed", "not asked", "not exercised")


def judge(served: Cluster, level: str = "quick") -> dict[str, Any]:
    """Run the battery on the head, whatever it finds; gives its record."""
    served.node("spark1", f"{BATTERY} {level} --settings {SETTINGS} >/tmp/battery.log 2>&1", check=False)
    latest = json.loads(served.node("spark1", f"cat {RECORDS}/latest.json"))
    found: dict[str, Any] = json.loads(served.node("spark1", f"cat {RECORDS}/runs/{latest['id']}/result.json"))
    return found


def verdicts(record: dict[str, Any]) -> dict[str, str]:
    return {result["guard"]: result["verdict"] for result in record["results"]}


def words(record: dict[str, Any]) -> str:
    return "\n".join(f"{one['guard']}: {one['verdict']}: {one['summary']}" for one in record["results"])


@pytest.fixture(scope="module")
def proved(served: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """The recipe whose engine can be spoiled is served, and was judged as part of the site."""
    recipe = faulty(served, tmp_path_factory.mktemp("recipe"))
    served.nodes("systemctl disable --now vllm@lab 2>/dev/null || true")
    return served.play("--tags", "fabric,transport,checkpoint,vllm,guards", "-e", f"vllm_recipe={recipe}", *MANY_STARTS)


def test_a_new_fingerprint_is_proved_by_a_quick_run(served: Cluster, proved: Played) -> None:
    assert proved.rc == 0, proved.text
    assert proved.said("unproven")
    accepted = json.loads(served.node("spark1", f"cat {RECORDS}/accepted.json"))
    assert (accepted["level"], set(accepted["fingerprint"]) >= {"vllm", "kernel", "recipe"}) == ("quick", True)


def test_what_is_proved_can_be_asked_from_outside(served: Cluster, proved: Played) -> None:
    assert proved.rc == 0
    assert " passed" in served.asked_from_outside("vllm", "guards")


def test_a_second_run_judges_nothing(served: Cluster, proved: Played, tmp_path: Path) -> None:
    assert proved.rc == 0
    before = served.node("spark1", f"ls {RECORDS}/runs")
    again = served.play("--tags", "vllm,guards", "-e", f"vllm_recipe={faulty(served, tmp_path)}", *MANY_STARTS)
    assert (again.rc, set(again.changed.values())) == (0, {0}), again.text
    assert served.node("spark1", f"ls {RECORDS}/runs") == before


def test_a_sound_engine_raises_no_alarm(served: Cluster, proved: Played) -> None:
    assert proved.rc == 0
    for _run in range(int(os.environ.get("RUNS_CLEAN", "3"))):
        record = judge(served)
        assert set(verdicts(record).values()) <= set(SILENT), words(record)
        exercised = [name for name, verdict in verdicts(record).items() if verdict == "passed"]
        assert {"count", "concurrent_prefill", "margin", "needles", "prefix_reuse"} <= set(exercised), words(record)


@pytest.mark.parametrize(
    ("fault", "meant", "silent"),
    [
        pytest.param("zeroer", "concurrent_prefill", ("count", "corruption"), id="block zeroed at three prefills"),
        pytest.param("solo", "margin", ("concurrent_prefill", "needles"), id="soft logits alone after a mixed batch"),
        pytest.param("stale", "prefix_reuse", ("count",), id="stale prefix"),
        pytest.param("collapse", "acceptance", ("count", "concurrent_prefill", "margin"), id="acceptance collapses"),
        pytest.param(
            "disagree", "acceptance", ("count", "concurrent_prefill", "margin"), id="a draft head that disagrees"
        ),
        pytest.param("markup", "corruption", (), id="markup in the answer"),
    ],
)
def test_a_fault_is_found_by_its_guard(
    served: Cluster, proved: Played, fault: str, meant: str, silent: tuple[str, ...]
) -> None:
    assert proved.rc == 0
    spoil(served, fault)
    try:
        record = judge(served)
    finally:
        spoil(served)
    found = verdicts(record)
    print(f"{fault}: {', '.join(f'{name} {verdict}' for name, verdict in found.items())}")
    assert found[meant] == "failed", words(record)
    assert {name: found[name] for name in silent if found[name] not in SILENT} == {}, words(record)


def test_what_a_fault_left_in_the_cache_is_gone_for_new_texts(served: Cluster, proved: Played) -> None:
    assert proved.rc == 0
    record = judge(served)
    assert set(verdicts(record).values()) <= set(SILENT), words(record)


def test_a_server_that_goes_away_leaves_what_was_found(served: Cluster, proved: Played) -> None:
    assert proved.rc == 0
    life = state(served, recipe="faulty")["life"]
    served.node("spark1", "(sleep 8; pkill -9 -f '[V]LLM::EngineCore') >/dev/null 2>&1 &")
    record = judge(served)
    assert record["state"] == "incomplete", words(record)
    assert "passed" in verdicts(record).values(), words(record)
    until(
        lambda: (now := state(served, recipe="faulty")).get("state") == "serving" and now["life"] != life, "it is back"
    )
    assert ask(served, recipe="faulty").split() == ["200", "C1234"]


def test_a_wrong_key_is_said(served: Cluster, proved: Played) -> None:
    assert proved.rc == 0
    key, other = "/run/wrong.key", "/run/wrong.json"
    served.node("spark1", f"echo wrong >{key}; jq '.key_file=\"{key}\"' {SETTINGS} >{other}; chmod 644 {key} {other}")
    said = served.node("spark1", f"{BATTERY} canary --settings {other} 2>&1; true")
    assert re.search(r"401|key", said), said
    assert key in said, said


def test_the_page_and_the_papers_are_on_the_controller(served: Cluster, proved: Played, tmp_path: Path) -> None:
    assert proved.rc == 0
    played = served.play(
        "-e", f"vllm_recipe={faulty(served, tmp_path)}", "-e", "guards_level=quick", playbook="playbooks/battery.yml"
    )
    assert played.rc == 0, played.text
    latest = json.loads(served.node("spark1", f"cat {RECORDS}/latest.json"))
    for name in ("report.html", "report.md", "result.json"):
        assert latest["id"] in (CHECKOUT / ".report/battery" / name).read_text(encoding="utf-8"), name
