# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who takes what from whom: over cables only, every file once to every node, and in how much time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from ansible.errors import AnsibleFilterError
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.filter.checkpoint_jobs import checkpoint_jobs
from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.manifest import Entry, Manifest, make
from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.share import (
    Hop,
    deal,
    hops,
    jobs,
    reading_job,
    seconds,
)
from ansible_collections.switchless.spark.plugins.module_utils._fabric.model import Plan
from ansible_collections.switchless.spark.plugins.module_utils._fabric.plan import plan_to_dict
from tests.unit.checkpoint.checkpoint_world import ring, switch

GB = 10**9
FLASH = make([Entry(f"model-{n:05}-of-00048.safetensors", 3_477_083_333, f"{n:064x}") for n in range(1, 49)], None)
RINGS = {size: ring(size) for size in range(2, 17)}


def sized(sizes: Sequence[int]) -> Manifest:
    return make([Entry(f"f{at:03}", size, f"{at:064x}") for at, size in enumerate(sizes)], None)


def check(plan: Plan, manifest: Manifest, source: str, found: Sequence[Hop]) -> None:
    names = {entry.name for entry in manifest.files}
    got = Counter((hop.taker, entry.name) for hop in found for entry in hop.files)
    assert got == {(host, name): 1 for host in plan.order if host != source for name in names}
    cables = {cable.number: cable for cable in plan.cables}
    has = {(source, name) for name in names}
    order: dict[object, tuple[Entry, ...]] = {}
    for hop in found:
        cable = cables[hop.cable]
        if plan.layout != "switch":
            assert {end.host for end in cable.ends} == {hop.giver, hop.taker}
        # A giver has taken the files itself, in the same order, before it gives them.
        assert {(hop.giver, entry.name) for entry in hop.files} <= has
        assert order.setdefault(hop.lane, hop.files) == hop.files
        has |= {(hop.taker, entry.name) for entry in hop.files}
    if plan.layout != "switch":
        # No (cable, root) carries two lanes in one direction.
        carried = Counter((hop.cable, hop.lane.root, hop.taker) for hop in found)
        assert set(carried.values()) <= {1}


@given(st.sampled_from(sorted(RINGS)), st.lists(st.integers(0, 10**12), min_size=1, max_size=30), st.data())
def test_rings(size: int, sizes: list[int], data: st.DataObject) -> None:
    plan = RINGS[size]
    source = data.draw(st.sampled_from(plan.order))
    check(plan, sized(sizes), source, hops(plan, sized(sizes), source))


@pytest.mark.parametrize(
    ("plan", "lanes"),
    [
        (ring(2, cables=1), 2),
        (ring(2), 4),
        (switch(2, ["p0"]), 4),
        (switch(5, ["p0"]), 4),
        (switch(4, ["p0", "p1"]), 4),
    ],
)
def test_pairs_and_switches(plan: Plan, lanes: int) -> None:
    found = hops(plan, FLASH, plan.order[-1])
    check(plan, FLASH, plan.order[-1], found)
    assert len({hop.lane for hop in found}) == lanes


def test_both_cages_of_a_switch_are_used() -> None:
    found = hops(switch(4, ["p0", "p1"]), FLASH, "spark1")
    takes = {hop.taker_address for hop in found if hop.taker == "spark2"}
    assert len(takes) == 4


@given(st.lists(st.integers(0, 10**12), max_size=40), st.integers(1, 4))
def test_parts_are_about_equal(sizes: list[int], lanes: int) -> None:
    files = sized(sizes).files
    parts = deal(files, lanes)
    assert sorted(entry.name for part in parts for entry in part) == [entry.name for entry in files]
    sums = [sum(entry.size for entry in part) for part in parts]
    assert max(sums) - min(sums) <= max(sizes, default=0)


def took(plan: Plan, manifest: Manifest) -> float:
    """In units of one copy over one cable, whose two roots share its rate."""
    rates = {(cable.number, root, end.host): 0.5 * GB for cable in plan.cables for root in "AB" for end in cable.ends}
    return seconds(hops(plan, manifest, "spark1"), rates) / (manifest.total_bytes / GB)


@pytest.mark.parametrize(("size", "most"), [(2, 0.51), (3, 0.55), (4, 0.59), (8, 1.0), (11, 1.4)])
def test_the_checkpoint_of_the_article_in_rings(size: int, most: float) -> None:
    """The aim is 1.4 for four nodes; one after the other would be 3."""
    assert 0.5 <= took(RINGS[size], FLASH) <= most


def test_one_cable_of_a_pair_takes_one_copy() -> None:
    assert took(ring(2, cables=1), FLASH) == pytest.approx(1.0)


def test_a_slow_cable_is_what_it_takes() -> None:
    """13 Gb/s on one root of one cable in one direction, 100 elsewhere: only that lane waits."""
    plan = RINGS[4]
    rates = {(cable.number, root, end.host): 12.5 * GB for cable in plan.cables for root in "AB" for end in cable.ends}
    slow = rates | {(1, "A", "spark2"): 1.625 * GB}
    quarter = FLASH.total_bytes / 4
    assert seconds(hops(plan, FLASH, "spark1"), slow) == pytest.approx(quarter / (1.625 * GB), rel=0.05)


def test_jobs_agree_with_each_other() -> None:
    plan = RINGS[4]
    found = jobs(plan, FLASH, "spark2", path="/m", port=1, reserve=5)
    assert set(found) == set(plan.order)
    for host, job in found.items():
        assert {"host": host, "path": "/m", "port": 1, "reserve_bytes": 5}.items() <= job.items()
        assert sorted(name for lane in job["lanes"] for name in lane["files"]) == [e.name for e in FLASH.files]
        assert all((lane["peer"] is None) == (host == "spark2") for lane in job["lanes"])
        for lane in job["lanes"]:
            if lane["peer"]:
                assert lane["address"] in found[lane["peer"]]["serve"]
                assert lane["bind"] in found[lane["peer"]]["allow"]
    # Its neighbours get the last files of one way round each: nobody asks them for those.
    assert [lane["last"] for lane in found["spark1"]["lanes"]] == [True, True, False, False]
    assert [lane["last"] for lane in found["spark3"]["lanes"]] == [False, False, True, True]
    assert not any(lane["last"] for lane in found["spark4"]["lanes"])


def test_a_source_without_manifest_is_read_whole() -> None:
    job = reading_job([{"name": "b", "size": 2, "sha256": None}, {"name": "a", "size": 9, "sha256": "x"}], "/m")
    assert sorted(name for lane in job["lanes"] for name in lane["files"]) == ["a", "b"]
    assert {file["sha256"] for file in job["manifest"]["files"]} == {None}
    assert "serve" not in job


def test_the_filter() -> None:
    plan = plan_to_dict(RINGS[3])
    found = checkpoint_jobs(FLASH.as_dict(), plan, "spark1", "/m", port="18601", reserve_gb="0.5")  # type: ignore[arg-type]
    assert found == jobs(RINGS[3], FLASH, "spark1", path="/m", port=18601, reserve=500_000_000)
    for manifest, source in (({}, "spark1"), (FLASH.as_dict(), "spark9")):
        with pytest.raises(AnsibleFilterError, match=r"checkpoint_jobs: (a manifest needs|the source spark9)"):
            checkpoint_jobs(manifest, plan, source, "/m")
