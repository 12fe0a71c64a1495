# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Whether a checked all-reduce over all ranks proves the transport.

That every element is right is not enough: over sockets a wrong rank order is carried by the nodes in between, and a
wrong device order leaves one PCIe root idle, both without an error. So the bytes of every port and the datagrams that
nodes passed on for others are judged too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._fabric.model import ROOTS

from . import version
from .settings import SWITCH

MIB = 2**20
END = "end"
"""The last phase of the program, which a rank reaches only when it did all that was asked."""
UNKNOWN = "of an unknown version"
SHARE_TOLERANCE = 0.05
"""How far a PCIe root's part may be from half, as a part of half."""
VOLUME_TOLERANCE = 0.15
"""How far a rank's bytes may be from what the ring algorithm sends: headers, acknowledgements, the rendezvous."""
OTHER_DATAGRAMS = 100
"""What may be passed on while the test runs: control traffic over the fabric, containers behind Docker's bridge."""
DATAGRAM = 2**16
"""Bytes of the largest IP datagram: what one rank sends is at least so many."""
RELAYED_PART = 0.1
"""From this part of what one rank sends on, datagrams passed on are other ranks' data, whatever else the node does."""
BUSBW_PART = 0.8
"""Below this part of the expected bus bandwidth it is said so."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that the test shows to be wrong. ``host`` is empty when it concerns all."""

    host: str
    seen: str
    expected: str
    remedy: str

    def __str__(self) -> str:
        where = f"{self.host}: " if self.host else ""
        return f"{where}{self.seen}; expected {self.expected}. {self.remedy}"


def judge(
    told: Mapping[str, Mapping[str, Any] | None],
    devices: Mapping[str, Sequence[Mapping[str, Any]]],
    plan: Mapping[str, Any],
    *,
    rdma: bool = True,
    busbw_gbps: float | None = None,
) -> dict[str, Any]:
    """Judge what the ranks told.

    ``told``: host to the line of JSON of its rank (roles/transport/files/nccl_allreduce.py), null if it gave none.
    ``devices``: host to the devices of the filter nccl_settings. ``busbw_gbps``: what the largest size should reach.
    Gives ``ok``, ``findings`` (text), ``warnings`` (text) and ``rows``, one a size.
    """
    order: list[str] = list(plan["order"])
    silent = [host for host in order if (said := told.get(host)) is None or said["error"] or said["phase"] != END]
    findings = [_silent(host, told.get(host), devices[host], plan) for host in silent]
    speaking = {host: said for host in order if host not in silent and (said := told.get(host)) is not None}
    for host, said in speaking.items():
        findings += [*_wrong(host, said), *_version(host, said, rdma), *_forwarded(host, said, len(order))]
        findings += _bytes(host, said, devices[host], plan)
    findings += [*_sizes(speaking), *_versions(speaking)]
    rows = _rows(speaking)
    return {
        "ok": not findings,
        "findings": [str(finding) for finding in findings],
        "details": [asdict(finding) for finding in findings],
        "warnings": _slow(rows, busbw_gbps),
        "rows": rows,
        "nccl": sorted({said["nccl"] or "unknown" for said in speaking.values()}),
    }


def _silent(
    host: str, said: Mapping[str, Any] | None, devices: Sequence[Mapping[str, Any]], plan: Mapping[str, Any]
) -> Finding:
    remedy = "The cause of the first rank that failed is the cause of all."
    if said is None:
        return Finding(host, "its rank gave no result", "a result", remedy)
    seen = f"phase {said['phase']!r}: {said['error'] or 'it ended there'}"
    dead = {device["cable"]: device for device in devices if port_name(device) in said["without_link"]}
    if not dead:
        return Finding(host, seen, "a result", remedy)
    cables = "; ".join(f"cable {number}, {plan['cables'][number - 1]['name']}" for number in sorted(dead))
    ports = ", ".join(said["without_link"])
    return Finding(host, f"{seen}; no link on {ports} ({cables})", "a result", "Seat that cable, or see --tags cx7.")


def _wrong(host: str, said: Mapping[str, Any]) -> list[Finding]:
    return [
        Finding(
            host,
            f"{size['wrong']} of {size['elements']} elements wrong at {size['mib']} MiB",
            "none",
            "Do not serve: answers would be wrong without an error. Measure the cables (--tags link_test) and read the "
            "NIC (--tags cx7).",
        )
        for size in said["sizes"]
        if size["wrong"]
    ]


def _version(host: str, said: Mapping[str, Any], rdma: bool) -> list[Finding]:
    text = said.get("nccl")
    if not rdma or (version.parse(text) is not None and not version.too_old(text)):
        return []
    return [
        Finding(
            host,
            f"NCCL {text or UNKNOWN} is loaded from {said.get('library') or 'an unknown place'}",
            f"{version.words()} or newer",
            "Older ones cannot choose the device by the cable's subnet: install it where the interpreter looks first.",
        )
    ]


def _versions(speaking: Mapping[str, Mapping[str, Any]]) -> list[Finding]:
    found = {host: said["nccl"] or UNKNOWN for host, said in speaking.items()}
    if len(set(found.values())) < 2:
        return []
    seen = "; ".join(f"{version} on {host}" for host, version in found.items())
    return [Finding("", f"NCCL {seen}", "the same on every rank", "Install one version on all nodes.")]


def _sizes(speaking: Mapping[str, Mapping[str, Any]]) -> list[Finding]:
    """A rank that was asked for less has checked less."""
    found = {host: [(row["mib"], row["elements"]) for row in said["sizes"]] for host, said in speaking.items()}
    if all(found.values()) and len(set(map(tuple, found.values()))) < 2:
        return []
    seen = "; ".join(
        f"{', '.join(str(mib) for mib, _elements in rows) or 'none'} on {host}" for host, rows in found.items()
    )
    return [Finding("", f"sizes in MiB: {seen}", "the same on every rank", "Run the test anew.")]


def _volume(said: Mapping[str, Any], size: int) -> float:
    """Each element of a reduced buffer is sent (n - 1) / n times on the way to its sum and as often on the way back."""
    elements: int = sum(row["elements"] for row in said["sizes"])
    return 4 * elements * 2 * (size - 1) / size


def _forwarded(host: str, said: Mapping[str, Any], size: int) -> list[Finding]:
    allowed = max(OTHER_DATAGRAMS, int(RELAYED_PART * _volume(said, size) / DATAGRAM))
    if said["forwarded"] <= allowed:
        return []
    return [
        Finding(
            host,
            f"it passed on {said['forwarded']} IP datagrams for other ranks",
            f"at most {allowed}",
            "Two ranks that follow each other share no cable: start the ranks in the order of the plan.",
        )
    ]


def _bytes(
    host: str, said: Mapping[str, Any], devices: Sequence[Mapping[str, Any]], plan: Mapping[str, Any]
) -> list[Finding]:
    found: list[Finding] = []
    volume = _volume(said, len(plan["order"]))
    for way in ("sent", "received"):
        part = {root: _sum(said["ports"], devices, root, way) for root in ROOTS}
        if part["A"] is None or part["B"] is None:
            lost = ", ".join(root for root in ROOTS if part[root] is None)
            found.append(
                Finding(host, f"no count of bytes {way} on root {lost}", "a count", "Read the NIC: --tags cx7.")
            )
            continue
        total = part["A"] + part["B"]
        # On a switch NCCL may choose another algorithm, in which the ranks have different parts.
        if plan["layout"] != SWITCH and abs(total - volume) > VOLUME_TOLERANCE * volume:
            found.append(
                Finding(
                    host,
                    f"{total // MIB} MiB {way}",
                    f"{round(volume / MIB)} MiB",
                    "More: it carries other ranks' traffic. Less: another path is used, see NCCL's log.",
                )
            )
        if total and abs(part["A"] - total / 2) > SHARE_TOLERANCE * total / 2:
            found.append(
                Finding(
                    host,
                    f"root A {way} {part['A'] // MIB} MiB, root B {part['B'] // MIB} MiB",
                    "half on each, within 5 %",
                    "NCCL numbers the devices otherwise than the channel graph: compare its line `Using [0]` with "
                    "/etc/switchless/nccl-graph.xml.",
                )
            )
    return found


def _sum(ports: Mapping[str, Any], devices: Sequence[Mapping[str, Any]], root: str, way: str) -> int | None:
    counts = [ports.get(port_name(device), {}).get(way) for device in devices if device["root"] == root]
    return None if not counts or None in counts else sum(counts)


def port_name(device: Mapping[str, Any]) -> str:
    """How the test calls a port: `p0/A`."""
    return f"{device['cage']}/{device['root']}"


def ports(devices: Sequence[Mapping[str, Any]]) -> list[dict[str, str | None]]:
    """Where the test counts bytes. Without RDMA a device of NCCL is a netdev."""
    return [
        {
            "name": port_name(device),
            "netdev": device["netdev"],
            "rdma": None if device["device"] == device["netdev"] else device["device"],
        }
        for device in devices
    ]


def _rows(speaking: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The slowest rank's figure of each size, since it is what all wait for."""
    by_size: dict[int, list[Mapping[str, Any]]] = {}
    for said in speaking.values():
        for row in said["sizes"]:
            by_size.setdefault(row["mib"], []).append(row)
    return [
        {
            "mib": mib,
            "wrong": sum(row["wrong"] for row in rows),
            "elements": sum(row["elements"] for row in rows),
            "milliseconds": round(max(row["seconds"] for row in rows) * 1e3, 3),
            "busbw_gbps": round(min(row["busbw_gbps"] for row in rows), 2),
        }
        for mib, rows in sorted(by_size.items())
    ]


def _slow(rows: Sequence[Mapping[str, Any]], expected: float | None) -> list[str]:
    if not rows or expected is None or rows[-1]["busbw_gbps"] >= BUSBW_PART * expected:
        return []
    last = rows[-1]
    seen = f"bus bandwidth {last['busbw_gbps']} Gb/s at {last['mib']} MiB"
    return [f"{seen}, expected about {expected:g}: --tags link_test measures the cables one by one."]
