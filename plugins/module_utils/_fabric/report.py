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
from .model import ROOTS
from .plain import plain
from .plan import plan_from_dict

Probe = Mapping[str, Any]


def report(plan: object, proofs: object) -> dict[str, Any]:
    """Join the plan with the proofs; ``proofs`` maps a host to what fabric_probe_info gave (missing, null or without a
    probe: not run).

    Gives ``text`` and ``data``. ``data.verdict`` is ``proved`` only when every path of the plan was probed and
    answered; ``failed`` when a path did not answer; else ``incomplete``.
    """
    planned: Mapping[str, Any] = plain(plan)  # type: ignore[assignment]
    given: Mapping[str, Any] = plain(proofs)  # type: ignore[assignment]
    by_host = {host: proof for host, proof in given.items() if proof and proof.get("probes")}
    probes = {host: list(proof["probes"]) for host, proof in by_host.items()}
    missing = [host for host in planned["order"] if host not in probes]
    failures = [f"{host}: {line}" for host, proof in by_host.items() for line in proof["failures"]]
    answered = {kind: _answered(probes, kind) for kind in ("ping", "tcp")}
    # Each cable both ways on both roots; each node to both roots of both cages of every node that is no neighbour.
    paths = {"ping": 4 * len(planned["cables"]), "tcp": 4 * planned["size"] * max(planned["size"] - 3, 0)}
    verdict = "failed" if failures else "proved" if answered == paths and not missing else "incomplete"
    lines = [draw(plan_from_dict(planned)), "", *_cables(planned, probes), "", *_relay(probes, paths["tcp"]), ""]
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


def _relay(probes: Mapping[str, Sequence[Probe]], paths: int) -> Iterator[str]:
    found: dict[str, list[Probe]] = {}
    for host in probes.values():
        for probe in host:
            if probe["kind"] == "tcp":
                found.setdefault(probe["name"], []).append(probe)
    if not paths:
        yield "Relay: none needed, every node has a cable to every other"
        return
    yield "Relay: TCP to the nodes that share no cable, through the node in between" + ("" if found else ": not run")
    for name, tried in found.items():
        good = [probe["rtt_ms"] for probe in tried if probe["ok"]]
        slowest = f", slowest {max(good):.2f} ms" if good else ""
        yield f"  {name}: {len(good)} of {len(tried)} addresses{slowest}"
