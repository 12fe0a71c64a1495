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
from tests.unit.rendering import CHECKOUT, render
from tests.unit.rendering import load as load_tasks

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
    """The lines below the drawing, without the bandwidths."""
    lines = text.splitlines()
    start, end = (number(lines, word) for word in ("Bandwidth", "Relay"))
    return lines[number(lines, "Neighbours") : start] + lines[end:]


def speeds(text: str) -> list[str]:
    """The lines of the bandwidths."""
    lines = text.splitlines()
    return lines[number(lines, "Bandwidth") + 1 : number(lines, "Relay") - 1]


def number(lines: list[str], beginning: str) -> int:
    return next(number for number, line in enumerate(lines) if line.startswith(beginning))


def row(cable: int, place: str, gbps: float | None = 98.03, **more: Any) -> Data:
    """A row of link_test_bandwidth."""
    cage, root, direction = place.split()
    verdict = "unknown" if gbps is None else "ok"
    made = {"cable": cable, "cage": cage, "root": root, "direction": direction, "gbps": gbps, "verdict": verdict}
    return made | {"method": "rdma", "peer": "…", "detail": "", "raw": "…"} | more


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
        "Relay: none needed, every node reaches every other by itself",
        "",
        "Fabric proved: 4 of 4 paths to neighbours, 0 of 0 through a relay",
    ]


@pytest.mark.parametrize(("size", "cages"), [(2, 1), (4, 1), (4, 2), (7, 2)])
def test_on_a_switch_every_port_reaches_every_other_node(size: int, cages: int) -> None:
    hosts = [f"n{rank}" for rank in range(size)]
    cables = [{"ends": [f"{host}:p{cage}", "switch"]} for host in hosts for cage in range(cages)]
    told = report(plan_of(cables, hosts), {host: proof(view) for host, view in views_of(cables, hosts).items()})
    assert told["data"]["verdict"] == "proved"
    pings = 2 * cages * size * (size - 1)
    assert told["text"].splitlines()[-1].startswith(f"Fabric proved: {pings} of {pings} paths to neighbours, 0 of 0")


def test_cable_1_is_not_cable_11() -> None:
    cables, hosts = ring(12)
    views = views_of(cables, hosts)
    proofs = {host: proof(view, "cable 11 ") for host, view in views.items()}
    lines = page(report(plan_of(cables, hosts, mtu=4200), proofs)["text"])
    assert lines[0].startswith("Neighbours: ping of 4172 bytes")
    assert [line.split()[0] for line in lines[1:13] if "failed" in line] == ["11"]


ENDS = "Bandwidth: from the first end to the second and back, in Gb/s, with the tool that measured it"


def test_what_the_cables_carry() -> None:
    """Each figure is the sender's; what it hears says the same of the other's."""
    cables, hosts = [{"ends": ["a:p1", "b:p0"]}], ["a", "b"]
    measured = {
        "a": [row(1, "p1 A out", 98.034), row(1, "p1 A in", 13.2), row(1, "p1 B out", 97.5), row(1, "p1 B in", None)],
        "b": [row(1, "p0 A out", 13.2), row(1, "p0 A in", 98.034), row(1, "p0 B out", None), row(1, "p0 B in", 97.5)],
    }
    found = report(plan_of(cables, hosts), {}, measured)
    assert ENDS in found["text"].splitlines()
    assert speeds(found["text"]) == [
        "    1  a:p1 - b:p0                       A 98.03 13.20 ib_write_bw    B 97.50 unknown ib_write_bw"
    ]
    assert found["data"]["bandwidth"] == [
        {"cable": 1, "root": root, "from": a, "to": b, "gbps": gbps, "tool": "ib_write_bw", "verdict": verdict}
        for root, a, b, gbps, verdict in (
            ("A", "a:p1", "b:p0", 98.034, "ok"),
            ("A", "b:p0", "a:p1", 13.2, "ok"),
            ("B", "a:p1", "b:p0", 97.5, "ok"),
            ("B", "b:p0", "a:p1", None, "unknown"),
        )
    ]


def test_what_comes_from_a_switch_is_what_was_received() -> None:
    """Its measurements lead from rank to rank and carry the number of the sender's cable."""
    hosts = ["a", "b"]
    plan = plan_of([{"ends": [f"{host}:p0", "switch"]} for host in hosts], hosts)
    measured = {
        "a": [row(1, "p0 A out", 97.0), row(2, "p0 A in", 96.0)],
        "b": [row(2, "p0 A out", 96.0), row(1, "p0 A in", 97.0)],
    }
    found = report(plan, {}, measured)
    assert speeds(found["text"]) == [
        "    1  a:p0 - switch                     A 97.00 96.00 ib_write_bw    B not measured",
        "    2  b:p0 - switch                     A 96.00 97.00 ib_write_bw    B not measured",
    ]
    ends = [(one["from"], one["to"]) for one in found["data"]["bandwidth"][:2]]
    assert ends == [("a:p0", "switch"), ("switch", "a:p0")]


def test_what_was_not_measured_is_said_to_be_so() -> None:
    """The node at the far end took no part, or nothing was measured, or only one root by TCP."""
    hosts = ["a", "b", "c"]
    cables = [{"ends": [f"{one}:p1", f"{two}:p0"]} for one, two in ("ab", "bc", "ca")]
    half = [row(2, "p1 B out", 28.76, method="tcp", verdict="measured"), row(2, "p1 B in", 27.0, method="tcp")]
    found = report(plan_of(cables, hosts), {}, {"b": half, "c": None})
    nothing = "A not measured               B not measured"
    assert speeds(found["text"]) == [
        f"    1  a:p1 - b:p0                       {nothing}",
        "    2  b:p1 - c:p0                       A not measured               B 28.76 not measured iperf3",
        f"    3  c:p1 - a:p0                       {nothing}",
    ]
    silent = found["data"]["bandwidth"][0]
    assert (silent["gbps"], silent["tool"], silent["verdict"]) == (None, None, "not measured")
    assert len(found["data"]["bandwidth"]) == 12


def test_what_was_measured_before_a_reboot_is_left_out() -> None:
    """cx7 reboots after link_test has measured: the rows that made it do so are of cables that were slow then."""
    before, since = [row(1, "p1 A out", 13.2)], [row(1, "p1 A out")]
    hostvars = {
        "rebooted": {"link_test_bandwidth": before, "cx7_outdated_bandwidth": before},
        "measured again": {"link_test_bandwidth": since, "cx7_outdated_bandwidth": before},
        "not rebooted": {"link_test_bandwidth": since},
        "not measured": {"cx7_outdated_bandwidth": []},
    }
    variables: dict[str, Any] = {"ansible_play_hosts": list(hostvars), "hostvars": hostvars}
    tasks = load_tasks(CHECKOUT / "roles" / "report" / "tasks" / "fabric.yml")
    (given,) = (task["vars"] for task in tasks if "__report_measured" in task.get("vars", {}))
    found = render(given["__report_measured"], variables, "report")
    assert found == {"rebooted": [], "measured again": since, "not rebooted": since, "not measured": []}


def test_the_bandwidth_does_not_decide_whether_the_fabric_is_proved() -> None:
    plan, views = article()
    proofs = {host: proof(view) for host, view in views.items()}
    slow = {"329f": [row(1, "p1 A out", 13.2, verdict="throttled")]}
    assert report(plan, proofs, slow)["data"]["verdict"] == "proved"
