# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""All stages of the transport's proof, as a table for people and as data for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._fabric.plain import plain

from . import stages
from .stages import FAILED, NOT_RUN, PASSED, Stage

SCHEMA = 1


def report(
    plan: object, nodes: object, *, unrun: str = "", arx_unrun: str = "", busbw_gbps: float | None = stages.BUSBW_GBPS
) -> dict[str, Any]:
    """Judge every stage. ``nodes`` maps each host of this run to what was read there.

    Of a host: ``ports`` (of fabric_host), ``functions`` (of cx7_info), ``settings`` (of nccl_settings), ``transport``
    (of transport_info), ``unlaid`` (whether its fabric is still to be laid, which check mode does not do), ``link``
    (link_test_results, or null), ``rank`` (what nccl_test returned, or null) and ``arx`` (``rc`` and ``stdout`` of its
    ring test, or null). ``unrun`` and ``arx_unrun`` say why a test was not made.
    Gives ``verdict`` (`proved`, `failed`, or `incomplete` when a stage was not run), ``failures``, ``text`` and
    ``data``.
    """
    planned: Mapping[str, Any] = plain(plan)  # type: ignore[assignment]
    given: Mapping[str, Any] = plain(nodes)  # type: ignore[assignment]
    tested, judged = stages.all_reduce(given, planned, unrun, busbw_gbps)
    done = [
        stages.settings(given),
        stages.memory(given),
        stages.ports(given),
        stages.graph(given, planned),
        stages.neighbours(given),
        stages.loaded(given),
        tested,
        stages.arx_ring(given, arx_unrun),
    ]
    results = {stage.result for stage in done}
    verdict = "failed" if FAILED in results else "incomplete" if NOT_RUN in results else "proved"
    return {
        "verdict": verdict,
        "failures": [f"{stage.name}: {line}" for stage in done if stage.result == FAILED for line in stage.reasons],
        "text": _text(verdict, done, judged),
        "data": {
            "schema": SCHEMA,
            "verdict": verdict,
            "hosts": sorted(given),
            "stages": [asdict(stage) | {"reasons": list(stage.reasons)} for stage in done],
            "all_reduce": judged,
            "expected_busbw_gbps": busbw_gbps,
        },
    }


def _text(verdict: str, done: Sequence[Stage], judged: Mapping[str, Any] | None) -> str:
    width = max(len(stage.name) for stage in done)
    lines = []
    for stage in done:
        lines.append(f"{stage.name:<{width}}  {stage.result:<7}  {stage.seen or '-'}  (expected: {stage.expected})")
        lines += [f"{'':<{width}}  {'':<7}  {line}" for line in stage.reasons]
    if judged and judged["rows"]:
        lines += ["", "all-reduce     time        bus bandwidth   wrong elements"]
        lines += [
            f"{row['mib']:>6} MiB  {row['milliseconds']:>9.3f} ms  {row['busbw_gbps']:>8.2f} Gb/s   {row['wrong']}"
            for row in judged["rows"]
        ]
        lines += [f"slow: {line}" for line in judged["warnings"]]
    passed = sum(stage.result == PASSED for stage in done)
    lines += ["", f"Transport {verdict}: {passed} of {len(done)} stages passed"]
    return "\n".join(lines) + "\n"
