# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Why a test over all ranks cannot or must not be run now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._fabric.plain import plain

from . import version


def obstacle(plan: object, nodes: object, *, python: str | None, wanted: bool, check_mode: bool, forks: int) -> str:
    """The first reason, or nothing when it can be run.

    ``nodes``: host to ``transport`` of transport_info. ``python``: null for a test that brings its own NCCL.
    """
    planned: Mapping[str, Any] = plain(plan)  # type: ignore[assignment]
    seen: Mapping[str, Mapping[str, Any]] = plain(nodes)  # type: ignore[assignment]
    return next(_obstacles(planned, seen, python, wanted, check_mode, forks), "")


def _obstacles(
    plan: Mapping[str, Any],
    nodes: Mapping[str, Mapping[str, Any]],
    python: str | None,
    wanted: bool,
    check_mode: bool,
    forks: int,
) -> Iterator[str]:
    if check_mode:
        yield "nothing is run in check mode"
    if not wanted:
        yield "transport_test is false"
    if python is not None and not python:
        yield "transport_python names no interpreter that serves"
    if missing := [host for host in plan["order"] if host not in nodes]:
        yield f"all ranks are needed, and this run leaves out {', '.join(missing)}"
    if forks < plan["size"]:
        yield f"all {plan['size']} ranks have to run at once, and Ansible's forks is {forks}: raise it"
    if busy := [
        f"{host} ({', '.join(node['gpu_processes'])})" for host, node in nodes.items() if node["gpu_processes"]
    ]:
        yield f"the GPU is in use on {'; '.join(busy)}"
    if refused := [node["refusal"]["text"] for node in nodes.values() if node["refusal"]]:
        yield "; ".join(refused)
    bare = [host for host, node in nodes.items() if not node["nccl"] or not node["nccl"]["version"]]
    if python is not None and bare:
        yield f"{python} loads no NCCL on {', '.join(bare)}"
    if python is not None and (old := [host for host, node in nodes.items() if node["nccl"]["too_old"]]):
        # On a ring it would not fail but hang, for as long as it is let.
        yield f"{python} loads an NCCL older than {version.words()} on {', '.join(old)}"
