# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Which node has the checkpoint, which need it, and what speaks against taking it there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .judge import ABSENT, CORRUPT, INCOMPLETE, OK, UNVERIFIED, WRONG
from .manifest import SAVED
from .share import reading_job

USABLE = (OK, UNVERIFIED)
TOLERATED = frozenset(("revision_unknown", "edited", "extra"))
"""Reasons that no run of the role can take away. They are shown, and no obstacle."""


def situation(
    nodes: Mapping[str, Mapping[str, Any]], order: Sequence[str], *, source: str = "", reserve: int = 0
) -> dict[str, Any]:
    """What to do. C(nodes): for each host that takes part what checkpoint_info found."""
    needy = [host for host in order if host in nodes and not settled(nodes[host])]
    digests = {nodes[host]["manifest_digest"] for host in order if host in nodes}
    chosen = source or _find(nodes, order)
    agreed = not needy and len(digests) == 1
    refusals = [] if agreed else list(_refusals(nodes, order, chosen, source, reserve))
    unknown = not agreed and not refusals and nodes[chosen]["manifest"] is None
    measure = reading_job(nodes[chosen]["files"], nodes[chosen]["path"]) if unknown else None
    return {"done": agreed, "source": chosen, "needy": needy, "measure": measure, "refusals": refusals}


def settled(node: Mapping[str, Any]) -> bool:
    """Every byte is what the reference says."""
    return node["manifest_digest"] is not None and all(
        reason["code"] in TOLERATED and reason["verdict"] == UNVERIFIED for reason in node["reasons"]
    )


def _find(nodes: Mapping[str, Mapping[str, Any]], order: Sequence[str]) -> str:
    """The first that has all of it, the verified before the others."""
    usable = [host for host in order if host in nodes and nodes[host]["verdict"] in USABLE]
    return min(usable, key=lambda host: (not settled(nodes[host]), order.index(host)), default="")


def _refusals(
    nodes: Mapping[str, Mapping[str, Any]], order: Sequence[str], chosen: str, asked: str, reserve: int
) -> Iterator[str]:
    absent = [host for host in order if host not in nodes]
    if absent:
        yield (
            f"{', '.join(absent)} took no part in this run: every node passes the files on to the next one,"
            " so run it on all of them, without --limit"
        )
    if asked and asked not in nodes:
        yield f"checkpoint_source is {asked}, expected one of {', '.join(nodes)}"
        return
    if not chosen:
        yield f"no node has the whole checkpoint: {_said(nodes)}. Download it to one of them, then run this again"
        return
    if nodes[chosen]["verdict"] not in USABLE:
        yield (
            f"{_said({chosen: nodes[chosen]})}. It was to give the checkpoint to the others: download it again there."
            f" If it was changed on purpose, remove {SAVED} there, which has what it was before"
        )
        return
    for host, node in nodes.items():
        if host == chosen:
            continue
        if node["verdict"] == WRONG:
            yield (
                f"{_said({host: node})}. Nothing of it is overwritten: move {node['path']} away on {host},"
                " or set another checkpoint_path"
            )
        elif node["verdict"] in (ABSENT, INCOMPLETE, CORRUPT, UNVERIFIED):
            yield from _space(host, node, nodes[chosen], reserve)


def _space(host: str, node: Mapping[str, Any], giver: Mapping[str, Any], reserve: int) -> Iterator[str]:
    """What is there in full length need not come again."""
    there = {file["name"]: file["size"] for file in node["files"]}
    needed = sum(file["size"] for file in giver["files"] if there.get(file["name"]) != file["size"])
    needed -= min(needed, node["half_bytes"])
    free = node["free_bytes"]
    if needed and (free is None or free < needed + reserve):
        has = "unknown" if free is None else f"{free / 1e9:.1f} GB"
        yield (
            f"{host}: {needed / 1e9:.1f} GB are to come to {node['path']} and {reserve / 1e9:.1f} GB are to stay free,"
            f" but free are {has}: make room, or set another checkpoint_path"
        )


def _said(nodes: Mapping[str, Mapping[str, Any]]) -> str:
    return "; ".join(
        f"{host}: {node['verdict']}{''.join(f', {reason["text"]}' for reason in node['reasons'][:1])}"
        for host, node in nodes.items()
    )
