# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verdicts: a table, and that less evidence never gives a better one."""

from __future__ import annotations

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


SAMPLES = st.lists(
    st.builds(
        Sample,
        st.sampled_from([208, 611, 1900, 2185, 2200, 2250, 2251, 2405, None]),
        st.sampled_from([0, 89, 90, 96, None]),
        st.sampled_from([3.7, 39.9, 44.0, None]),
    ),
    max_size=6,
)
WORLDS = st.builds(
    Seen,
    configured=st.sampled_from([Configured(2200, ("/u",)), Configured(2100, ("/u",)), Configured(2400, ("/u",))]),
    state=st.sampled_from([state(), state(active="failed"), state(enabled="disabled"), state(need_reload=True)]),
    lock=st.sampled_from([Lock(2200, 0, 2200), Lock(2200, 0, 2300), Lock(2400, 0, 2400)]),
    others=st.sampled_from([(), (OTHER,), (replace(OTHER, live=True),)]),
    load=st.one_of(
        st.builds(lambda found: load(*busy(2200, 2185, 2190), *found), SAMPLES), SAMPLES.map(lambda found: load(*found))
    ),
)


def blinded(data: st.DataObject, sample: Sample) -> Sample:
    lost = data.draw(st.sets(st.sampled_from([field.name for field in fields(Sample)])))
    return replace(sample, **dict.fromkeys(lost))


def poorer(data: st.DataObject, seen: Seen) -> Seen:
    """The same node with some of the evidence gone."""
    kept = tuple(sample for sample in seen.load.samples if data.draw(st.integers(0, 9)))
    lost = data.draw(
        st.sets(st.sampled_from(["configured", "state", "lock", "figures", "samples", "live", "property"]))
    )
    if "configured" in lost:
        seen = replace(seen, configured=replace(seen.configured, max_mhz=None))
    if "state" in lost:
        seen = replace(seen, state=State())
    if "property" in lost:
        name = data.draw(st.sampled_from(["active", "result", "enabled", "exit_status", "need_reload"]))
        gone = None if name in ("exit_status", "need_reload") else ""
        seen = replace(seen, state=replace(seen.state, **{name: gone}))
    if "lock" in lost:
        name = data.draw(st.sampled_from(["asked_mhz", "min_mhz", "max_mhz"]))
        seen = replace(seen, lock=replace(seen.lock, **{name: None}))
    if "samples" in lost:
        seen = replace(seen, load=replace(seen.load, samples=kept))
    if "figures" in lost:
        dim = tuple(blinded(data, sample) for sample in seen.load.samples)
        seen = replace(seen, load=replace(seen.load, samples=dim))
    if "live" in lost:
        seen = replace(seen, others=tuple(replace(other, live=None) for other in seen.others))
    return seen


@settings(max_examples=250, deadline=None)
@given(st.data(), WORLDS)
def test_less_evidence_never_verifies(data: st.DataObject, seen: Seen) -> None:
    if verdict(poorer(data, seen)) == judge.VERIFIED:
        assert verdict(seen) == judge.VERIFIED


@settings(max_examples=100)
@given(WORLDS)
def test_verified_is_what_a_load_has_shown(seen: Seen) -> None:
    if verdict(seen) == judge.VERIFIED:
        assert seen.configured.max_mhz == seen.lock.asked_mhz == 2200
        assert not seen.others
        assert judge.highest(seen.load) in range(2100, 2251)
