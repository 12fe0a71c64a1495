# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verdicts: a table, and that less evidence never gives a better one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._clocks import judge, smi
from ansible_collections.switchless.spark.plugins.module_utils._clocks.judge import Load, Seen
from ansible_collections.switchless.spark.plugins.module_utils._clocks.setters import Setter
from ansible_collections.switchless.spark.plugins.module_utils._clocks.smi import Lock, Sample
from ansible_collections.switchless.spark.plugins.module_utils._clocks.unit import Configured, State
from tests.unit.clocks.clock_world import DETAILS, busy, load, state, well

OTHER = Setter("/etc/systemd/system/gpu-clock-lock.service", 5, "ExecStart=nvidia-smi -lgc 0,2000", "unit", "x.service")
SLOW = {"power_w": 31.0}
BRAKED = smi.gpu(DETAILS)
"""It names a slowdown."""


def codes(seen: Seen) -> list[str]:
    return [reason.code for reason in judge.judge(seen)]


def verdict(seen: Seen) -> str:
    return judge.verdict(judge.judge(seen))


CASES: dict[str, tuple[dict[str, Any], str, list[str]]] = {
    "shown by a load": ({}, "verified", []),
    "a little above": ({"load": load(*busy(2250, 2200, 2200))}, "verified", []),
    "rounded down": (
        {"configured": Configured(2000, ("/u",)), "lock": Lock(2000, 0, 1976), "load": load(*busy(1976, 1970, 1976))},
        "verified",
        [],
    ),
    "another unit that is off": ({"others": (replace(OTHER, live=False),)}, "verified", []),
    "idle in between": ({"load": load(*busy(2177, 2185, 2210), Sample(208, 0, 3.7, 38))}, "verified", []),
    "no load": ({"load": Load()}, "unverified", ["no_load_test"]),
    "no program": ({"load": Load(20, (), "no program")}, "unverified", ["cut_short", "no_load"]),
    "a program that ended": ({"load": Load(20, busy(2177, 2185, 2210), "ended")}, "unverified", ["cut_short"]),
    "hardly busy": ({"load": load(*busy(2177, 2185, 2210, utilization_percent=60))}, "unverified", ["no_load"]),
    "no figures": ({"load": load(*busy(2177, 2185, 2210), Sample())}, "unverified", ["blind"]),
    "throttled": ({"load": load(*busy(1500, 1510, 1490))}, "unverified", ["not_reached"]),
    "above": ({"load": load(*busy(2177, 2251, 2210))}, "not_applied", ["above_cap"]),
    "above, hardly busy": (
        {"load": load(*busy(2405, 2405, 2405, utilization_percent=5))},
        "not_applied",
        ["above_cap", "no_load"],
    ),
    "uncapped passes for a high cap": (
        {"configured": Configured(2400, ("/u",)), "lock": Lock(2400, 0, 2400), "load": load(*busy(2398, 2405, 2400))},
        "unverified",
        ["too_high"],
    ),
    "safety state": ({"load": load(*busy(513, 611, 721, **SLOW))}, "unverified", ["slow_state", "not_reached"]),
    "safety state, power unknown": (
        {"load": load(*busy(513, 611, 721, power_w=None))},
        "unverified",
        ["slow_state", "not_reached"],
    ),
    "safety state comes and goes": ({"load": load(*busy(2200, 2200, 2200, 650, **SLOW))}, "unverified", ["slow_state"]),
    "slow with a reason": ({"load": load(*busy(800, 810, 820, **SLOW)), "gpu": BRAKED}, "unverified", ["not_reached"]),
    "slow with much power": ({"load": load(*busy(800, 810, 820))}, "unverified", ["not_reached"]),
    "capped at the safety state": (
        {
            "configured": Configured(1000, ("/u",)),
            "lock": Lock(1000, 0, 1000),
            "load": load(*busy(850, 1000, 1000, **SLOW)),
        },
        "unverified",
        ["slow_state"],
    ),
    "not configured": (
        {
            "configured": Configured(detail="there is no x"),
            "state": State(load="not-found"),
            "lock": Lock(),
            "load": Load(),
        },
        "not_applied",
        ["not_configured", "no_load_test"],
    ),
    "a unit without a number": ({"configured": Configured(None, ("/u",), "which")}, "not_applied", ["unclear"]),
    "failed": ({"state": state(active="failed", result="exit-code", exit_status=1)}, "not_applied", ["not_set"]),
    "stopped": ({"state": state(active="inactive", sub="dead")}, "not_applied", ["not_set"]),
    "being tried again": ({"state": state(active="activating", sub="auto-restart")}, "not_applied", ["not_set"]),
    "unknown to systemd": ({"state": State()}, "not_applied", ["not_set", "not_enabled", "not_loaded"]),
    "another number": ({"configured": Configured(2100, ("/u",))}, "not_applied", ["another_cap", "above_cap"]),
    "rounded up": ({"lock": Lock(2200, 0, 2300)}, "not_applied", ["rounded_up"]),
    "the log is gone": ({"lock": Lock()}, "unverified", ["no_text"]),
    "not at boot": ({"state": state(enabled="disabled")}, "unverified", ["not_enabled"]),
    "changed on disk": ({"state": state(need_reload=True)}, "unverified", ["not_loaded"]),
    "unread": ({"unread": ("/var/spool/cron/crontabs",)}, "unverified", ["unread"]),
    "another unit": ({"others": (OTHER,)}, "conflict", ["others"]),
    "denied": (
        {"lock": Lock(2200, denied=True), "state": state(active="failed", result="exit-code", exit_status=3)},
        "not_applied",
        ["denied", "not_set"],
    ),
    "unsupported beside another unit": (
        {
            "lock": Lock(2200, unsupported=True),
            "state": state(active="failed", result="exit-code", exit_status=3),
            "others": (OTHER,),
            "load": Load(),
        },
        "unsupported",
        ["unsupported", "others", "not_set", "no_load_test"],
    ),
}


@pytest.mark.parametrize(("more", "expected", "why"), CASES.values(), ids=CASES)
def test_verdicts(more: dict[str, Any], expected: str, why: list[str]) -> None:
    seen = well(**more)
    assert codes(seen) == why
    assert verdict(seen) == expected


def test_reasons_name_what_was_seen() -> None:
    failed = state(active="failed", result="exit-code", exit_status=1)
    seen = well(state=failed, said="No devices were found", others=(OTHER,), load=load(*busy(2405, 2405, 2405)))
    texts = {reason.code: reason for reason in judge.judge(seen)}
    assert "failed" in texts["not_set"].text
    assert texts["not_set"].text.endswith("No devices were found")
    assert texts["others"].text.startswith("/etc/systemd/system/gpu-clock-lock.service:5 sets clocks")
    assert texts["others"].remedy == "systemctl disable --now x.service"
    assert "2405 MHz, expected at most 2250" in texts["above_cap"].text
    assert judge.highest(seen.load) == 2405


SPOILT = {name: well(**more) for name, (more, expected, _why) in CASES.items() if expected != judge.VERIFIED}
SPOILT |= {
    "above once": well(load=load(*busy(2177, 2185, 2210, 2200), *busy(2405))),
    "above once while idle": well(load=load(*busy(2177, 2185, 2210), *busy(2405, utilization_percent=3))),
    "another unit, known to be on": well(others=(replace(OTHER, live=True),)),
    "asked for less": well(lock=Lock(2100, 0, 2100)),
}
Loss = Callable[[Seen], Seen]


def losses(seen: Seen) -> Iterator[Loss]:
    """Every way to know one thing less of a node."""
    yield lambda seen: replace(seen, gpu=None, said="", gpu_detail="")
    yield lambda seen: replace(seen, configured=replace(seen.configured, max_mhz=None))
    yield lambda seen: replace(seen, others=tuple(replace(other, live=None) for other in seen.others))
    yield lambda seen: replace(seen, load=replace(seen.load, samples=()))
    for field in fields(State):
        yield lambda seen, name=field.name: replace(seen, state=replace(seen.state, **{name: getattr(State(), name)}))
    for name in ("asked_mhz", "min_mhz", "max_mhz"):
        yield lambda seen, name=name: replace(seen, lock=replace(seen.lock, **{name: None}))
    yield lambda seen: replace(seen, lock=Lock())
    for index in range(len(seen.load.samples)):
        yield lambda seen, index=index: of_samples(seen, index, [])
        for field in fields(Sample):
            yield lambda seen, index=index, name=field.name: of_samples(
                seen, index, [replace(sample, **{name: None}) for sample in seen.load.samples[index : index + 1]]
            )


def of_samples(seen: Seen, index: int, instead: list[Sample]) -> Seen:
    samples = seen.load.samples
    return replace(seen, load=replace(seen.load, samples=(*samples[:index], *instead, *samples[index + 1 :])))


@pytest.mark.parametrize("seen", SPOILT.values(), ids=SPOILT)
def test_less_evidence_never_verifies(seen: Seen) -> None:
    assert verdict(seen) != judge.VERIFIED
    for lose in losses(seen):
        assert verdict(lose(seen)) != judge.VERIFIED


@settings(max_examples=150)
@given(st.data(), st.sampled_from(list(SPOILT.values())))
def test_much_less_evidence_never_verifies(data: st.DataObject, seen: Seen) -> None:
    for lose in data.draw(st.lists(st.sampled_from(list(losses(seen))), max_size=6)):
        seen = lose(seen)
    assert verdict(seen) != judge.VERIFIED


SAMPLES = st.builds(
    Sample,
    st.sampled_from([208, 611, 1900, 2150, 2185, 2200, 2250, 2251, 2405, None]),
    st.sampled_from([0, 89, 90, 96, None]),
    st.sampled_from([3.7, 39.9, 44.0, None]),
)


@settings(max_examples=150)
@given(st.lists(SAMPLES, max_size=3), st.integers(0, 2))
def test_verified_is_what_a_load_has_shown(more: list[Sample], missing: int) -> None:
    samples = (*busy(2185, 2200, 2190), *more)
    seen = well(load=Load(len(samples) + missing, samples))
    known = all(sample.sm_mhz is not None and sample.utilization_percent is not None for sample in more)
    low = all((sample.sm_mhz or 0) <= 2250 for sample in more)
    starved = any(
        sample.sm_mhz == 611 and (sample.utilization_percent or 0) >= 90 and (sample.power_w or 0.0) < 40
        for sample in more
    )
    assert (verdict(seen) == judge.VERIFIED) is (known and low and not starved and not missing)
