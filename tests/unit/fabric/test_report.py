# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a run, as a person sees it and as a program reads it."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._fabric.devices import devices
from ansible_collections.switchless.spark.plugins.module_utils._fabric.report import report
from tests.unit.fabric.fabric_world import Data, plan_of, ring, views_of
from tests.unit.fabric.test_devices import functions
from tests.unit.fabric.test_fabric_golden import load

Proofs = dict[str, Any]


def proof(view: Data, *broken: str) -> Data:
    """What fabric_probe_info gives; probes fail whose name or target begins with one of `broken`."""
    bound = devices(view, functions(), 9000)
    probes = []
    for kind, asked in (("ping", bound["pings"]), ("tcp", bound["connections"])):
        for number, probe in enumerate(asked, 1):
            ok = not broken or not f"{probe['name']} {probe['target']}".startswith(broken)
            rtt, detail = (number / 10, "answered") if ok else (None, "no answer")
            named = {"kind": kind, "name": probe["name"], "target": probe["target"]}
            probes.append({**named, "ok": ok, "rtt_ms": rtt, "detail": detail})
    failures = [f"{p['name']} ({p['kind']} {p['target']}): {p['detail']}" for p in probes if not p["ok"]]
    return {"changed": False, "ok": bool(probes) and not failures, "failures": failures, "probes": probes}


def article() -> tuple[Data, dict[str, Data]]:
    cables, hosts, settings = load("ring4")
    return plan_of(cables, hosts, **settings), views_of(cables, hosts, **settings)


def page(text: str) -> list[str]:
    """The lines below the drawing."""
    lines = text.splitlines()
    return lines[next(number for number, line in enumerate(lines) if line.startswith("Neighbours")) :]


def test_the_page_of_the_article() -> None:
    plan, views = article()
    found = report(plan, {host: proof(view) for host, view in views.items()})
    assert found["text"].startswith("ring of 4 nodes, 4 cables, MTU 9000, control plane: management\n")
    assert page(found["text"]) == [
        "Neighbours: ping of 8972 bytes, unfragmented, both ways, in ms",
        "    1  329f:p1 - 355d:p1                 A 0.30 0.30     B 0.40 0.40",
        "    2  355d:p0 - c049:p0                 A 0.10 0.10     B 0.20 0.20",
        "    3  c049:p1 - 3d38:p0                 A 0.30 0.10     B 0.40 0.20",
        "    4  3d38:p1 - 329f:p0                 A 0.10 0.30     B 0.20 0.40",
        "",
        "Relay: TCP to the nodes that share no cable, through the node in between",
        "  relay from 329f to c049: 4 of 4 addresses, slowest 0.40 ms",
        "  relay from 355d to 3d38: 4 of 4 addresses, slowest 0.40 ms",
        "  relay from c049 to 329f: 4 of 4 addresses, slowest 0.40 ms",
        "  relay from 3d38 to 355d: 4 of 4 addresses, slowest 0.40 ms",
        "",
        "Fabric proved: 16 of 16 paths to neighbours, 16 of 16 through a relay",
    ]
    assert found["text"].endswith("through a relay\n")
    data = found["data"]
    assert (data["schema"], data["verdict"], data["failures"], data["not_probed"]) == (1, "proved", [], [])
    assert data["plan"] == plan
    assert {host: len(probes) for host, probes in data["probes"].items()} == dict.fromkeys(plan["order"], 8)


def test_a_path_that_does_not_answer() -> None:
    plan, views = article()
    proofs = {host: proof(view) for host, view in views.items()}
    proofs["329f"] = proof(views["329f"], "cable 1 root B", "relay from 329f to c049 192.168.105.2")
    found = report(plan, proofs)
    lines = page(found["text"])
    assert lines[1] == "    1  329f:p1 - 355d:p1                 A 0.30 0.30     B failed 0.40"
    assert lines[7] == "  relay from 329f to c049: 3 of 4 addresses, slowest 0.40 ms"
    assert lines[-3:] == [
        "FAILED  329f: cable 1 root B from 329f:p1 to 355d:p1 (ping 192.168.102.2): no answer",
        "FAILED  329f: relay from 329f to c049 (tcp 192.168.105.2): no answer",
        "Fabric failed: 15 of 16 paths to neighbours, 15 of 16 through a relay",
    ]
    assert found["data"]["verdict"] == "failed"
    assert found["data"]["failures"] == [line.removeprefix("FAILED  ") for line in lines[-3:-1]]


def test_a_relay_that_lets_nothing_through_has_no_slowest() -> None:
    plan, views = article()
    lines = page(report(plan, {"329f": proof(views["329f"], "relay")})["text"])
    assert "  relay from 329f to c049: 0 of 4 addresses" in lines


SKIPPED: Data = {"changed": False, "skipped": True, "skip_reason": "Conditional result was False"}
EMPTY: Data = {"changed": False, "ok": False, "failures": [], "probes": []}


@pytest.mark.parametrize("absent", ["missing", None, {}, SKIPPED, EMPTY], ids=str)
def test_a_node_that_proved_nothing(absent: Any) -> None:
    plan, views = article()
    proofs: Proofs = {host: proof(view) for host, view in views.items()}
    proofs["c049"] = absent
    if absent == "missing":
        del proofs["c049"]
    found = report(plan, proofs)
    lines = page(found["text"])
    assert lines[2] == "    2  355d:p0 - c049:p0                 A 0.10          B 0.20"
    assert lines[-2:] == [
        "Not probed in this run: c049",
        "Fabric incomplete: 12 of 16 paths to neighbours, 12 of 16 through a relay",
    ]
    assert (found["data"]["verdict"], found["data"]["not_probed"]) == ("incomplete", ["c049"])


def test_a_failure_counts_more_than_a_gap() -> None:
    plan, views = article()
    found = report(plan, {"329f": proof(views["329f"], "cable 1 root A")})
    assert (found["data"]["verdict"], found["data"]["not_probed"]) == ("failed", ["355d", "c049", "3d38"])
    assert "Not probed in this run: 355d, c049, 3d38" in page(found["text"])


def test_nothing_was_probed() -> None:
    plan, _views = article()
    lines = page(report(plan, {})["text"])
    assert lines[1] == "    1  329f:p1 - 355d:p1                 A not run       B not run"
    assert lines[-1] == "Fabric incomplete: 0 of 16 paths to neighbours, 0 of 16 through a relay"
    assert "Relay: TCP to the nodes that share no cable, through the node in between: not run" in lines


def test_every_node_was_probed_but_not_every_path() -> None:
    plan, views = article()
    proofs = {host: proof(view) for host, view in views.items()}
    del proofs["355d"]["probes"][-1]
    found = report(plan, proofs)
    assert (found["data"]["verdict"], found["data"]["not_probed"]) == ("incomplete", [])
    assert page(found["text"])[-1] == "Fabric incomplete: 16 of 16 paths to neighbours, 15 of 16 through a relay"


def test_long_names_do_not_run_into_the_times() -> None:
    hosts = ["spark-1.lab.example", "spark-2.lab.example"]
    cables = [{"ends": [f"{hosts[0]}:p1", f"{hosts[1]}:p0"]}]
    lines = page(report(plan_of(cables, hosts), {hosts[0]: proof(views_of(cables, hosts)[hosts[0]])})["text"])
    assert lines[1] == "    1  spark-1.lab.example:p1 - spark-2.lab.example:p0 A 0.10          B 0.20"


@pytest.mark.parametrize("size", [2, 3, 4, 5, 9])
def test_a_ring_of_any_size_is_proved_by_all_of_its_paths(size: int) -> None:
    cables, hosts = ring(size) if size > 2 else ([{"ends": ["a:p0", "b:p0"]}, {"ends": ["a:p1", "b:p1"]}], ["a", "b"])
    proofs = {host: proof(view) for host, view in views_of(cables, hosts).items()}
    assert report(plan_of(cables, hosts), proofs)["data"]["verdict"] == "proved"


def test_a_pair_needs_no_relay() -> None:
    cables, hosts = [{"ends": ["a:p1", "b:p0"]}], ["a", "b"]
    proofs = {host: proof(view) for host, view in views_of(cables, hosts).items()}
    assert page(report(plan_of(cables, hosts), proofs)["text"]) == [
        "Neighbours: ping of 8972 bytes, unfragmented, both ways, in ms",
        "    1  a:p1 - b:p0                       A 0.10 0.10     B 0.20 0.20",
        "",
        "Relay: none needed, every node has a cable to every other",
        "",
        "Fabric proved: 4 of 4 paths to neighbours, 0 of 0 through a relay",
    ]


def test_cable_1_is_not_cable_11() -> None:
    cables, hosts = ring(12)
    views = views_of(cables, hosts)
    proofs = {host: proof(view, "cable 11 ") for host, view in views.items()}
    lines = page(report(plan_of(cables, hosts, mtu=4200), proofs)["text"])
    assert lines[0].startswith("Neighbours: ping of 4172 bytes")
    assert [line.split()[0] for line in lines[1:13] if "failed" in line] == ["11"]
