# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""From what both ends of each measurement say to a verdict.

The figure is the client's: it sends, and learns from the server what arrived. The server's words complete the reason
where there is no figure. Verdicts:

- ``ok``: at least what is wanted;
- ``degraded``, ``throttled``, ``slow``: less, by RDMA; ``slow`` also by TCP, which cannot show a cap;
- ``measured``: a figure by TCP with nothing to hold it against;
- ``unknown``: no figure; ``fault``: no link, or no port;
- ``skipped``: not part of this run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._cx7.thresholds import (
    BANDWIDTH_DEGRADED_GBPS,
    BANDWIDTH_OK_GBPS,
    THROTTLED_GBPS,
)
from ansible_collections.switchless.spark.plugins.module_utils._fabric.plain import plain

from .meet import CLIENT, RDMA, SERVER, TCP
from .reading import SILENT
from .schedule import SKIPPED

GOOD = ("ok", "measured", SKIPPED)
NAMES = {RDMA: "RDMA", TCP: "TCP"}
EXPLAINED = {
    "degraded": "slower than a healthy port, faster than a capped one",
    "throttled": "the cap after a hot-plug: this node sends no faster until it is rebooted with the cable in",
    "slow": "less than is wanted",
    "unknown": "no figure",
    SKIPPED: "not measured",
}


def verdict(gbps: float | None, method: str | None, minimum: float | None) -> str:
    """Classify one figure. ``minimum`` in Gb/s; without it RDMA has to reach what healthy ports do, TCP nothing."""
    if gbps is None:
        return "unknown"
    wanted = wanted_gbps(method, minimum)
    if gbps >= (BANDWIDTH_OK_GBPS if wanted is None else wanted):
        return "ok"
    if method != RDMA:
        return "measured" if wanted is None else "slow"
    if THROTTLED_GBPS[0] <= gbps <= THROTTLED_GBPS[1]:
        return "throttled"
    return "degraded" if gbps >= BANDWIDTH_DEGRADED_GBPS else "slow"


def wanted_gbps(method: str | None, minimum: float | None) -> float | None:
    """What has to be reached, in Gb/s; null if nothing."""
    if minimum is not None:
        return minimum
    return BANDWIDTH_OK_GBPS if method == RDMA else None


def results(schedule: object, measured: object, minimum: float | None = None, unmade: str = "") -> dict[str, Any]:
    """Join the schedule with what the nodes measured; ``measured`` maps a host to what link_bandwidth gave.

    ``unmade`` says why nothing was measured, if that is so: then all that could have been is ``skipped``.
    Gives ``hosts`` (for each host its rows, both directions), ``failures`` (one line for each leg that is not good)
    and ``lines`` (one for each leg, for people).
    """
    planned: Mapping[str, Any] = plain(schedule)  # type: ignore[assignment]
    runs: Mapping[str, Sequence[Mapping[str, Any]]] = plain(measured)  # type: ignore[assignment]
    said = {
        (run["cable"], run["root"], host, run["side"]): run for host, outcomes in runs.items() for run in outcomes or ()
    }
    hosts: dict[str, list[dict[str, Any]]] = {host: [] for host in runs}
    failures: list[str] = []
    lines: list[str] = []
    for leg in planned["legs"]:
        ends = [said.get((leg["cable"], leg["root"], leg[way]["host"], side), {}) for way, side in WAYS]
        judged = _judge(leg, ends[0], ends[1], minimum, unmade)
        if judged["verdict"] not in GOOD:
            failures.append(_failure(leg, judged, minimum))
        lines.append(_line(leg, judged))
        for (way, _side), (other, direction), run in zip(WAYS, OTHERS, ends, strict=True):
            row = {
                "cable": leg["cable"],
                "cage": leg[way]["cage"],
                "root": leg["root"],
                "direction": direction,
                "peer": f"{leg[other]['host']}:{leg[other]['cage']}",
            }
            if leg[way]["host"] in hosts:
                hosts[leg[way]["host"]].append(row | judged | {"raw": run.get("raw", "")})
    for rows in hosts.values():
        rows.sort(key=lambda row: (row["cage"], row["root"], row["direction"]))
    return {"hosts": hosts, "failures": failures, "lines": lines}


WAYS = (("from", CLIENT), ("to", SERVER))
OTHERS = (("to", "out"), ("from", "in"))


def _judge(
    leg: Mapping[str, Any], client: Mapping[str, Any], server: Mapping[str, Any], minimum: float | None, unmade: str
) -> dict[str, Any]:
    """The part of a row that is the same at both ends."""
    method = leg["method"]
    if leg["verdict"] is not None:
        return {"gbps": None, "method": method, "verdict": leg["verdict"], "detail": leg["detail"]}
    if unmade:
        return {"gbps": None, "method": method, "verdict": SKIPPED, "detail": unmade}
    gbps, spoilt = client.get("gbps"), server.get("lost", False)
    if gbps is not None and not spoilt:
        judged = verdict(gbps, method, minimum)
        return {"gbps": gbps, "method": method, "verdict": judged, "detail": EXPLAINED.get(judged, "")}
    detail = "; ".join(_reasons(leg, client, server))
    return {"gbps": None, "method": method, "verdict": "unknown", "detail": detail}


def _reasons(leg: Mapping[str, Any], client: Mapping[str, Any], server: Mapping[str, Any]) -> Iterator[str]:
    """What each end says, the sender first. That nobody came to the server is said by the client better."""
    for way, run in (("from", client), ("to", server)):
        host, words = leg[way]["host"], run.get("detail", "gave no result")
        if words and not (run is server and client.get("detail") and SILENT in words):
            yield f"{host}: {words}"


def _place(leg: Mapping[str, Any]) -> str:
    source, target = leg["from"], leg["to"]
    return f"{source['host']}, cage {source['cage']}, root {leg['root']}, out, to {target['host']}:{target['cage']}"


def _failure(leg: Mapping[str, Any], judged: Mapping[str, Any], minimum: float | None) -> str:
    """One line that says where, what was measured, and what was expected."""
    method = NAMES.get(judged["method"] or "", "")
    wanted = wanted_gbps(judged["method"], minimum)
    expected = "a figure" if wanted is None else f"at least {wanted:g} Gb/s"
    seen = judged["verdict"] if judged["gbps"] is None else f"{judged['verdict']}, {judged['gbps']:.2f} Gb/s"
    by = f" by {method}" if method else ""
    return f"{_place(leg)} (cable {leg['cable']}): {seen}{by}, expected {expected}: {judged['detail']}"


def _line(leg: Mapping[str, Any], judged: Mapping[str, Any]) -> str:
    """One leg as people read it."""
    source, target = (f"{leg[way]['host']}:{leg[way]['cage']}" for way in ("from", "to"))
    gbps, method = judged["gbps"], NAMES.get(judged["method"] or "", "")
    figure = "-" if gbps is None else f"{gbps:.2f} Gb/s"
    said = " ".join(part for part in (figure, method, judged["verdict"]) if part)
    tail = "" if gbps is not None else f": {judged['detail']}"
    return f"cable {leg['cable']} root {leg['root']}  {source} to {target}  {said}{tail}"
