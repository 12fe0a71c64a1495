# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""What a run proved of the fabric, as a page for people and as data for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .drawing import draw
from .model import ROOTS, SWITCH
from .plain import plain
from .plan import plan_from_dict

Probe = Mapping[str, Any]
TOOLS = {"rdma": "ib_write_bw", "tcp": "iperf3"}
NOT_MEASURED = "not measured"


def report(plan: object, proofs: object, measured: object = None) -> dict[str, Any]:
    """Join the plan with the proofs; ``proofs`` maps a host to what fabric_probe_info gave (missing, null or without a
    probe: not run), ``measured`` a host to the rows that role link_test keeps as link_test_bandwidth.

    Gives ``text`` and ``data``. ``data.verdict`` is ``proved`` only when every path of the plan was probed and
    answered; ``failed`` when a path did not answer; else ``incomplete``.
    """
    planned: Mapping[str, Any] = plain(plan)  # type: ignore[assignment]
    given: Mapping[str, Any] = plain(proofs)  # type: ignore[assignment]
    bandwidth = list(_bandwidth(planned, plain(measured or {})))  # type: ignore[arg-type]
    by_host = {host: proof for host, proof in given.items() if proof and proof.get("probes")}
    probes = {host: list(proof["probes"]) for host, proof in by_host.items()}
    missing = [host for host in planned["order"] if host not in probes]
    failures = [f"{host}: {line}" for host, proof in by_host.items() for line in proof["failures"]]
    answered = {kind: _answered(probes, kind) for kind in ("ping", "tcp")}
    switched = planned["layout"] == SWITCH
    # Each cable both ways on both roots, on a switch each port to that of every other node; each node to both roots of
    # both cages of every node that is no neighbour.
    paths = {
        "ping": 2 * len(planned["cables"]) * (planned["size"] - 1 if switched else 2),
        "tcp": 0 if switched else 4 * planned["size"] * max(planned["size"] - 3, 0),
    }
    verdict = "failed" if failures else "proved" if answered == paths and not missing else "incomplete"
    lines = [draw(plan_from_dict(planned)), "", *_cables(planned, probes), "", *_speeds(planned, bandwidth), ""]
    lines += [*_relay(probes, paths["tcp"]), ""]
    if missing:
        lines.append(f"Not probed in this run: {', '.join(missing)}")
    lines += [f"FAILED  {failure}" for failure in failures]
    lines.append(
        f"Fabric {verdict}: {answered['ping']} of {paths['ping']} paths to neighbours, "
        f"{answered['tcp']} of {paths['tcp']} through a relay"
    )
    data = {
        "schema": 1,
        "verdict": verdict,
        "plan": planned,
        "probes": probes,
        "bandwidth": bandwidth,
        "failures": failures,
        "not_probed": missing,
    }
    return {"text": "\n".join(lines) + "\n", "data": data}


def _answered(probes: Mapping[str, Sequence[Probe]], kind: str) -> int:
    return sum(probe["ok"] for host in probes.values() for probe in host if probe["kind"] == kind)


def _cables(plan: Mapping[str, Any], probes: Mapping[str, Sequence[Probe]]) -> Iterator[str]:
    payload = plan["mtu"] - 28
    yield f"Neighbours: ping of {payload} bytes, unfragmented, both ways, in ms"
    for cable in plan["cables"]:
        prefix = f"cable {cable['cable']} root "
        cells = []
        for root in ROOTS:
            found = [
                p
                for host in probes.values()
                for p in host
                if p["kind"] == "ping" and p["name"].startswith(prefix + root)
            ]
            times = ["failed" if not p["ok"] else f"{p['rtt_ms']:.2f}" for p in found]
            cells.append(f"{root} {' '.join(times) or 'not run'}")
        yield f"  {cable['cable']:>3}  {cable['name']:<33} " + " ".join(f"{cell:<15}" for cell in cells).rstrip()


def _bandwidth(
    plan: Mapping[str, Any], measured: Mapping[str, Sequence[Mapping[str, Any]] | None]
) -> Iterator[dict[str, Any]]:
    """For each cable and root both directions, as the node says that sends; without a row: not measured.

    A switch says nothing: what comes from it is what its other end received.
    """
    said = {
        (host, row["cage"], row["root"], row["direction"]): row for host, rows in measured.items() for row in rows or ()
    }
    for cable in plan["cables"]:
        first, second = cable["ends"]
        for root in ROOTS:
            for source, target in ((first, second), (second, first)):
                end, direction = (source, "out") if source["cage"] else (target, "in")
                row = said.get((end["host"], end["cage"], root, direction), {})
                yield {
                    "cable": cable["cable"],
                    "root": root,
                    "from": _end(source),
                    "to": _end(target),
                    "gbps": row.get("gbps"),
                    "tool": TOOLS.get(row.get("method", "")),
                    "verdict": row.get("verdict", NOT_MEASURED),
                }


def _end(end: Mapping[str, Any]) -> str:
    return f"{end['host']}:{end['cage']}" if end["cage"] else str(end["host"])


def _speeds(plan: Mapping[str, Any], bandwidth: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "Bandwidth: from the first end to the second and back, in Gb/s, with the tool that measured it"
    for cable in plan["cables"]:
        cells = []
        for root in ROOTS:
            both = [row for row in bandwidth if (row["cable"], row["root"]) == (cable["cable"], root)]
            figures = [row["verdict"] if row["gbps"] is None else f"{row['gbps']:.2f}" for row in both]
            tools = dict.fromkeys(row["tool"] for row in both if row["tool"])
            words = [NOT_MEASURED] if figures == [NOT_MEASURED] * len(both) else [*figures, *tools]
            cells.append(f"{root} {' '.join(words)}")
        yield f"  {cable['cable']:>3}  {cable['name']:<33} " + " ".join(f"{cell:<28}" for cell in cells).rstrip()


def _relay(probes: Mapping[str, Sequence[Probe]], paths: int) -> Iterator[str]:
    found: dict[str, list[Probe]] = {}
    for host in probes.values():
        for probe in host:
            if probe["kind"] == "tcp":
                found.setdefault(probe["name"], []).append(probe)
    if not paths:
        yield "Relay: none needed, every node reaches every other by itself"
        return
    yield "Relay: TCP to the nodes that share no cable, through the node in between" + ("" if found else ": not run")
    for name, tried in found.items():
        good = [probe["rtt_ms"] for probe in tried if probe["ok"]]
        slowest = f", slowest {max(good):.2f} ms" if good else ""
        yield f"  {name}: {len(good)} of {len(tried)} addresses{slowest}"
