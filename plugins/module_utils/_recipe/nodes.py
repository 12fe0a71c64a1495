# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""What is known of the nodes: memory, compute capability, the installed vLLM, and the transport's environment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import did_you_mean, listing, shown
from ansible_collections.switchless.spark.plugins.module_utils._fabric.plain import plain

KEYS = ("memory_bytes", "sm", "vllm", "address", "environment")
_SM = re.compile(r"(?:sm_?)?(\d{1,2}?)\.?(\d)[af]?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Node:
    """One rank's host. What is not known is null; C(sm) is a compute capability such as 12.1, or C(cpu)."""

    host: str
    rank: int
    memory_bytes: int | None = None
    sm: str | None = None
    vllm: Mapping[str, Any] | None = None
    address: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


def capability(raw: str) -> str | None:
    """12.1 out of 12.1, 121, sm_121 and sm_121a."""
    word = raw.strip()
    if word.lower() == "cpu":
        return "cpu"
    match = _SM.fullmatch(word)
    return f"{match.group(1)}.{match.group(2)}" if match else None


def parse(raw: object, order: Sequence[str], problems: list[str]) -> tuple[Node, ...]:
    """One node a rank, in the order of the plan."""
    facts: Any = plain(raw)
    if not isinstance(facts, dict):
        problems.append(f"nodes is {shown(facts)}: expected a mapping of hosts to {listing(KEYS)}")
        return ()
    problems += [
        f"nodes has {shown(host)}, which is not in the plan ({listing(order)}): remove it"
        for host in facts
        if host not in order
    ]
    return tuple(_node(host, rank, facts.get(host), problems) for rank, host in enumerate(order))


def _node(host: str, rank: int, raw: Any, problems: list[str]) -> Node:
    if raw is None:
        return Node(host, rank)
    if not isinstance(raw, dict):
        problems.append(f"nodes.{host} is {shown(raw)}: expected a mapping with {listing(KEYS)}")
        return Node(host, rank)
    problems += [
        f"nodes.{host}.{key} is not known: expected {listing(KEYS)}" + did_you_mean(key, KEYS)
        for key in raw
        if key not in KEYS
    ]
    memory, sm, vllm = raw.get("memory_bytes"), raw.get("sm"), raw.get("vllm")
    if memory is not None and (isinstance(memory, bool) or not isinstance(memory, int) or memory < 1):
        problems.append(f"nodes.{host}.memory_bytes is {shown(memory)}: expected the bytes of MemTotal")
        memory = None
    if sm is not None:
        known = capability(str(sm))
        if known is None:
            problems.append(f"nodes.{host}.sm is {shown(sm)}: expected a compute capability such as 12.1, or cpu")
        sm = known
    if vllm is not None and not isinstance(vllm, dict):
        problems.append(f"nodes.{host}.vllm is {shown(vllm)}: expected what vllm_build_info gives")
        vllm = None
    return Node(host, rank, memory, sm, vllm, raw.get("address"), _environment(host, raw.get("environment"), problems))


def _environment(host: str, raw: Any, problems: list[str]) -> dict[str, str]:
    if raw is None:
        return {}
    if isinstance(raw, dict) and all(isinstance(value, str) for value in raw.values()):
        return dict(raw)
    problems.append(
        f"nodes.{host}.environment is {shown(raw)}: expected names and texts, as the filter nccl_settings gives"
    )
    return {}
