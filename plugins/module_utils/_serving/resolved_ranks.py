# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""What vLLM chose on each rank, which no metric tells: attention backend and NCCL, out of the journals."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ansible_collections.switchless.spark.plugins.module_utils._fabric.plain import as_list

from .journal import Journal, journal
from .present import order, rank_of
from .runs import runs

_BACKEND = re.compile(
    r"Using ([A-Z][A-Z0-9_]*) attention backend\b|Using AttentionBackendEnum\.([A-Z0-9_]+) backend\b"
    r"|KV cache layout for ([A-Z][A-Z0-9_]*) backend"
)
_NCCL = re.compile(r"vLLM is using nccl==([0-9][0-9.]*)|NCCL version ([0-9]+\.[0-9]+(?:\.[0-9]+)?)")

Chosen = Mapping["int | str", tuple[str, ...]]
"""By rank what was seen. A rank with nothing was asked for and said nothing."""


def chosen(given: object, journals: object, pattern: str) -> Chosen:
    """What somebody gives by rank, or what the journals say. C(pattern) is C(backend) or C(nccl)."""
    found = by_rank(given)
    if found:
        return {rank: _names(value) for rank, value in found.items()}
    wanted = {"backend": _BACKEND, "nccl": _NCCL}[pattern]
    return {rank: tuple(dict.fromkeys(_said(journal(one), wanted))) for rank, one in by_rank(journals).items()}


def by_rank(given: object) -> dict[int | str, object]:
    """A mapping, or a list in the order of the ranks; one text is that of all, under no rank."""
    if isinstance(given, Mapping):
        found = {rank_of(key): value for key, value in given.items()}
        return dict(sorted(found.items(), key=lambda pair: order(pair[0])))
    if isinstance(given, str) and given:
        return {"all": given}
    return dict(enumerate(as_list(given) or []))


def _names(value: object) -> tuple[str, ...]:
    return tuple(str(one) for one in (as_list(value) or [value]) if one not in (None, ""))


def _said(seen: Journal, pattern: re.Pattern[str]) -> Iterator[str]:
    """Of several starts of the unit the last one counts."""
    found = runs("", seen)
    for line in found[-1].lines if found else ():
        match = pattern.search(line.text)
        if match is not None:
            yield from [group for group in match.groups() if group][:1]
