# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role decides from all nodes together, and what it says."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible.template import trust_as_template

from ansible_collections.switchless.spark.plugins.filter.checkpoint_situation import checkpoint_situation
from ansible_collections.switchless.spark.plugins.module_utils._fabric.plan import plan_to_dict
from tests.unit.checkpoint.checkpoint_world import ROLE, ring
from tests.unit.rendering import load, render

PLAN = plan_to_dict(ring(3))
HOSTS = ["spark1", "spark2", "spark3"]
FILES = [{"name": "a.safetensors", "size": 60 * 10**9, "sha256": "a"}, {"name": "b.json", "size": 5, "sha256": "b"}]
GB = 10**9


def node(verdict: str = "ok", code: str = "", **more: Any) -> dict[str, Any]:
    reasons = [{"code": code, "verdict": verdict, "text": f"the {code}", "remedy": "Cure it"}] if code else []
    found = {
        "verdict": verdict,
        "reasons": reasons,
        "path": "/srv/models/flash",
        "files": FILES,
        "half_bytes": 0,
        "free_bytes": 100 * GB,
        "manifest": {"files": FILES},
        "manifest_digest": "d1",
        "index": None,
        "sizes": {"weight_bytes": 60 * GB},
        "recognised": None,
        "revision": None,
    }
    return found | more


ABSENT = node("absent", "absent", files=[], manifest=None, manifest_digest=None)
UNREAD = node("unverified", "not_measured", manifest=None, manifest_digest=None)


def judged(*nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = checkpoint_situation(dict(zip(HOSTS, nodes, strict=False)), PLAN, **more)
    return found


def test_all_have_it() -> None:
    edited = node("unverified", "edited")
    assert judged(node(), edited, node("unverified", "revision_unknown")) == {
        "done": True,
        "source": "spark1",
        "needy": [],
        "measure": None,
        "refusals": [],
    }


@pytest.mark.parametrize(
    ("nodes", "source", "needy"),
    [
        ((ABSENT, node(), ABSENT), "spark2", ["spark1", "spark3"]),
        ((UNREAD, node(), ABSENT), "spark2", ["spark1", "spark3"]),
        ((node(), node("corrupt", "sha256"), node("incomplete", "missing")), "spark1", ["spark2", "spark3"]),
        ((node(), node(manifest_digest="d2"), node()), "spark1", []),
        ((node("unverified", "no_reference"), ABSENT, ABSENT), "spark1", HOSTS),
    ],
)
def test_who_gives_and_who_takes(nodes: tuple[dict[str, Any], ...], source: str, needy: list[str]) -> None:
    found = judged(*nodes)
    assert (found["done"], found["source"], found["needy"]) == (False, source, needy)
    assert (found["refusals"], found["measure"]) == ([], None)


def test_a_source_that_nobody_read_is_measured_first() -> None:
    found = judged(UNREAD, ABSENT, ABSENT)
    assert (found["source"], found["refusals"]) == ("spark1", [])
    assert [file["name"] for file in found["measure"]["manifest"]["files"]] == ["a.safetensors", "b.json"]


@pytest.mark.parametrize(
    ("nodes", "more", "words"),
    [
        ((ABSENT, ABSENT, ABSENT), {}, "no node has the whole checkpoint: spark1: absent, the absent; spark2"),
        ((node(), ABSENT), {}, "spark3 took no part in this run"),
        ((ABSENT, node(), node()), {"source": "spark1"}, "spark1: absent, the absent. It was to give"),
        ((ABSENT, node(), node()), {"source": "spark9"}, "checkpoint_source is spark9, expected one of spark1,"),
        (
            (node(), node("wrong", "lookalike"), node()),
            {},
            "spark2: wrong, the lookalike. Nothing of it is overwritten",
        ),
        ((node(), ABSENT | {"free_bytes": 59 * GB}, node()), {}, "spark2: 60.0 GB are to come"),
        ((node(), ABSENT, node()), {"reserve_gb": "50"}, "50.0 GB are to stay free, but free are 100.0 GB"),
        ((node(), ABSENT | {"free_bytes": None}, node()), {}, "free are unknown"),
        ((node("corrupt", "hub"), ABSENT, ABSENT), {"source": "spark1"}, "remove .switchless/manifest.json there"),
    ],
)
def test_refusals(nodes: tuple[dict[str, Any], ...], more: dict[str, Any], words: str) -> None:
    [refusal] = judged(*nodes, **more)["refusals"]
    assert words in refusal


def test_what_is_there_needs_no_room() -> None:
    assert judged(node(), ABSENT | {"free_bytes": 11 * GB, "half_bytes": 50 * GB}, node())["refusals"] == []
    assert judged(node(), UNREAD | {"free_bytes": GB}, node())["refusals"] == []


def test_all_refusals_come_at_once() -> None:
    full = ABSENT | {"free_bytes": 0}
    assert len(judged(full, node(), full)["refusals"]) == 2


def test_a_damaged_plan() -> None:
    with pytest.raises(AnsibleFilterError, match="checkpoint_situation"):
        checkpoint_situation({}, {})


def said(template: str, hostvars: dict[str, Any]) -> list[str]:
    variables = {"ansible_play_hosts": list(hostvars), "hostvars": hostvars}
    text: str = render(trust_as_template((ROLE / "templates" / template).read_text()), variables, "checkpoint")
    return text.strip().splitlines()


def test_the_progress() -> None:
    transfer = {
        "state": "running",
        "files_done": 3,
        "files_total": 60,
        "bytes_done": 41_700_000_000,
        "bytes_total": 166_900_000_000,
        "seconds": 30.1,
        "rate_mb_per_second": 1400.5,
        "mean_mb_per_second": 1300.5,
        "lanes": [{"lane": "onward A", "peer": "spark1", "file": "x", "size": 4, "bytes": 1}],
    }
    done = transfer | {"state": "complete", "lanes": []}
    hosts = {
        "spark1": {"__checkpoint_fetch": {"skipped": True}},
        "spark2": {"__checkpoint_fetch": {"transfer": transfer}},
        "spark3": {"__checkpoint_fetch": {"transfer": done}},
        "spark4": {"__checkpoint_fetch": {"transfer": {"state": "running", "error": None}}},
    }
    assert said("progress.j2", hosts) == [
        "spark2: running, 3 of 60 files, 41.7 of 166.9 GB (24 %) after 30.1 s, 1400.5 MB/s",
        "spark2: onward A: x 25 % from spark1",
        "spark3: complete, 3 of 60 files, 41.7 of 166.9 GB (24 %) after 30.1 s, 1300.5 MB/s",
        "spark4: running",
    ]


def test_the_states() -> None:
    index = {"tensors": 72317, "mtp_tensors": 4705, "shards": 48, "total_size": 1}
    good = node(index=index, recognised={"name": "X"}, revision="7872f01b1d1f", manifest_digest="d" * 64, path="/m")
    assert said("states.j2", {"spark1": {"checkpoint_state": good}, "spark2": {"checkpoint_state": ABSENT}}) == [
        "spark1: ok, /m, 72317 tensors (4705 mtp.*) in 48 files, 60.0 GB, X, revision 7872f01b, manifest dddddddddddd",
        "spark2: absent, /srv/models/flash",
        "spark2: absent: the absent. Cure it.",
    ]


@pytest.mark.parametrize(
    ("states", "goes_on"), [(["running", "complete"], True), (["complete", "complete"], False), ([None, None], False)]
)
def test_it_is_followed_until_nobody_runs(states: list[str | None], goes_on: bool) -> None:
    task = next(item for item in load(ROLE / "tasks/follow.yml") if item["name"] == "Go on")
    fetches = [{"transfer": {"state": state}} if state else {"skipped": True} for state in states]
    hostvars = {f"spark{at}": {"__checkpoint_fetch": found} for at, found in enumerate(fetches)}
    condition = trust_as_template("{{ " + task["when"] + " }}")
    assert render(condition, {"ansible_play_hosts": list(hostvars), "hostvars": hostvars}) is goes_on


@pytest.mark.parametrize(("seconds", "waits"), [(None, 30), (10.0, 30), (400.0, 100)])
def test_the_waits_grow(seconds: float | None, waits: int) -> None:
    task = next(item for item in load(ROLE / "tasks/follow.yml") if item["name"] == "Take files")
    fetch = {"__checkpoint_fetch": {"transfer": {"seconds": seconds}}} if seconds else {}
    found = render(
        task["switchless.spark.checkpoint_fetch"]["wait_seconds"], {"checkpoint_progress_seconds": "30"} | fetch
    )
    assert int(found) == waits
