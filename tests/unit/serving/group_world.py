# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes of a group as vllm_group_info returns them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._serving.group_look import Kept, Look, as_dict

NOW = 1_796_000_000.0
BOOT = "b" * 32
LIFE, OLD_LIFE = "c" * 32, "d" * 32
HOSTS = ("spark1", "spark2", "spark3")
INVOCATIONS = ("1" * 32, "2" * 32, "3" * 32)


def listed(*states: str) -> list[dict[str, Any]]:
    """The ranks as the head has them."""
    return [
        {"rank": place, "host": HOSTS[place], "state": state, "invocation": INVOCATIONS[place]}
        for place, state in enumerate(states)
    ]


def keeper(place: int, state: str, age: float = 100.0, life: str | None = LIFE, **more: Any) -> dict[str, Any]:
    """A state.json."""
    return {
        "schema": 1,
        "recipe": "lab",
        "rank": place,
        "host": HOSTS[place],
        "state": state,
        "since": NOW - age,
        "life": life,
        "invocation": INVOCATIONS[place],
        "boot_id": BOOT,
        "child": None,
        "detail": "",
        "ranks": [],
        "ended": None,
    } | more


def node(
    state: Mapping[str, Any] | None = None,
    active: str = "active",
    sub: str = "running",
    *,
    age: float = 200.0,
    place: int = 0,
    end: Mapping[str, Any] | None = None,
    found: bool | None = True,
    detail: str = "",
    config: bool | None = True,
    **unit: Any,
) -> dict[str, Any]:
    """What the module returned. C(age) is for how many seconds the unit is as it is."""
    shown = {
        "load": "loaded",
        "load_error": "",
        "active": active,
        "sub": sub,
        "result": "success",
        "exit_status": 0,
        "restarts": 0,
        "changed": NOW - age,
        "invocation": INVOCATIONS[place],
        "starts_allowed": 5,
        "starts_within": "1h",
    } | unit
    seen = Look(
        unit=shown,
        boot=BOOT,
        config=Kept("/c", config),
        state=Kept("/s", found if state is None else True, detail or "/s is not there" * (state is None), state),
        end=Kept("/e", end is not None, "", end),
    )
    return {"rank": {"schema": 1, "recipe": "lab", "read_at": NOW} | as_dict(seen), "changed": False}


def end(reason: str = "rank_ended", place: int = 2, **more: Any) -> dict[str, Any]:
    """A last_end.json."""
    return {
        "schema": 1,
        "recipe": "lab",
        "life": OLD_LIFE,
        "began": NOW - 900,
        "served": None,
        "ended": NOW - 300,
        "reason": reason,
        "rank": place,
        "host": HOSTS[place],
        "detail": "its vLLM ended with exit status 0",
        "ranks": [{"rank": one, "host": HOSTS[one], "invocation": str(one + 7) * 32} for one in range(3)],
    } | more
