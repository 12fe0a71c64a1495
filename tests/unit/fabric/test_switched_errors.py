# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every mistake with a switch that the plan refuses, in the words that a user reads."""

from __future__ import annotations

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError
from tests.unit.fabric.fabric_world import plan_of
from tests.unit.fabric.test_fabric_errors import Mistake, cable

A0, B0, C0 = (cable(f"{host}:p0", "switch") for host in "abc")
A1, B1 = (cable(f"{host}:p1", "switch") for host in "ab")
ABC = ("a", "b", "c")


def named(end: str, *subnets: str) -> dict[str, object]:
    return cable(end, "switch", subnets=list(subnets))


MISTAKES = [
    # Ends
    Mistake(
        "both ends the switch",
        [A0, B0, cable("switch", "switch")],
        ("cable 3: both ends are the switch", "one is at a Spark", "write it as"),
    ),
    Mistake(
        "a cage of the switch",
        [A0, cable("b:p0", "switch:p0")],
        ("cable 2: end 'switch:p0' names a cage of the switch", "write 'switch' alone"),
    ),
    Mistake(
        "the switch with a capital",
        [A0, cable("b:p0", "Switch")],
        ("cable 2: end 'Switch' is not host:cage", "did you mean 'switch'?"),
    ),
    Mistake(
        "a host of that name",
        [A0, B0],
        ("hosts has 'switch'", "the far end of a cable", "another name"),
        hosts=("a", "b", "switch"),
    ),
    Mistake(
        "a host of that name on cables",
        [cable("a:p0", "switch:p0")],
        ("hosts has 'switch'", "another name"),
        hosts=("a", "switch"),
        count=2,
    ),
    Mistake(
        "port used twice",
        [A0, B0, A0],
        ("cable 3 (a:p0 - switch): port a:p0 is already used by cable 1 (a:p0 - switch)", "correct one"),
    ),
    Mistake(
        "port used by a cable and the switch",
        [A0, B0, cable("a:p0", "b:p1")],
        ("cable 3 (a:p0 - b:p1): port a:p0 is already used by cable 1 (a:p0 - switch)",),
    ),
    Mistake(
        "unknown host",
        [A0, B0, C0],
        ("cable 3 (c:p0 - switch): host 'c' is not in the group (a, b)", "add the host"),
    ),
    # Which nodes and cages
    Mistake(
        "a cable beside the switch",
        [A0, cable("a:p1", "b:p1"), B0],
        (
            "cable 1 (a:p0 - switch), cable 3 (b:p0 - switch) lead to the switch, but not cable 2 (a:p1 - b:p1)",
            "a second path",
            "all cables to the switch, or none",
        ),
    ),
    Mistake(
        "one cable of a pair to the switch",
        [cable("a:p0", "b:p0"), A1],
        ("cable 2 (a:p1 - switch) leads to the switch, but not cable 1 (a:p0 - b:p0)",),
    ),
    Mistake(
        "a host without a cable",
        [A0, B0],
        ("host c is in the group but has no cable", "take the host out"),
        hosts=ABC,
    ),
    Mistake(
        "a second cage that one host lacks",
        [A0, A1, B0, B1, C0],
        (
            "host c has no cable from p1 to the switch, as cable 2 (a:p1 - switch) is one",
            "the same cages",
            "add the cable c:p1 - switch",
            "or take the others' p1 off",
        ),
        hosts=ABC,
    ),
    Mistake(
        "another cage on each host",
        [A0, B1],
        ("host a has no cable from p1 to the switch, as cable 2 (b:p1 - switch) is one", "add the cable a:p1 - switch"),
        count=2,
    ),
    Mistake("one host", [A0], ("the group has 1 host (a)", "at least 2"), hosts=["a"]),
    # Subnets
    Mistake(
        "subnets of one cage differ",
        [named("a:p0", "10.0.0.0/24", "10.0.1.0/24"), named("b:p0", "10.0.2.0/24", "10.0.3.0/24")],
        (
            "cable 2 (b:p0 - switch): names 10.0.2.0/24 and 10.0.3.0/24",
            "where cable 1 (a:p0 - switch) names 10.0.0.0/24 and 10.0.1.0/24",
            "all p0 on a switch share one subnet on each PCIe root",
            "on one cable only, or the same on all",
        ),
    ),
    Mistake(
        "two cages on one subnet",
        [named("a:p0", "10.0.0.0/24", "10.0.1.0/24"), B0, A1, named("b:p1", "10.0.0.0/24", "10.0.2.0/24")],
        (
            "cable 4 (b:p1 - switch), root A: 10.0.0.0/24: overlaps 10.0.0.0/24 of cable 1 (a:p0 - switch), root A",
            "change one",
        ),
    ),
    Mistake(
        "twins on one subnet",
        [named("a:p0", "10.0.0.0/24", "10.0.0.0/24"), B0],
        ("cable 1 (a:p0 - switch): root A and root B have overlapping subnets", "give each root its own"),
    ),
    Mistake(
        "a subnet too small for the nodes",
        [A0, B0, named("c:p0", "10.0.0.0/30", "10.0.0.4/30")],
        (
            "cable 3 (c:p0 - switch), root B: 10.0.0.4/30: holds 2 addresses, and 3 nodes get one each",
            "/29 or larger",
        ),
        hosts=ABC,
        count=2,
    ),
    Mistake(
        "prefix lengths differ",
        [named("a:p0", "10.0.0.0/24", "10.0.1.0/24"), B0, A1, named("b:p1", "10.0.2.0/25", "10.0.3.0/24")],
        ("cable 4 (b:p1 - switch), root A: 10.0.2.0/25: has prefix length 25", "NCCL_IB_SUBNET_PREFIX_LEN"),
    ),
    Mistake(
        "pool too small",
        [A0, B0, A1, B1],
        ("fabric_subnet_pool 10.0.0.0/23", "2 cages on the switch", "need 4 /24", "holds 2", "/22 or larger"),
        settings={"subnet_pool": "10.0.0.0/23"},
    ),
    Mistake(
        "on the management network",
        [named("a:p0", "192.0.2.0/24", "10.0.1.0/24"), B0],
        (
            "cable 1 (a:p0 - switch), root A: 192.0.2.0/24: overlaps the management address 192.0.2.2 of nas",
            "and is the very address that b would get",
            "lose its management path",
        ),
        settings={"management": {"nas": "192.0.2.2"}},
    ),
    Mistake(
        "head not in the fabric",
        [A0, B0],
        ("fabric_head 'switch' is not in the fabric (a, b)",),
        settings={"head": "switch"},
    ),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_named(mistake: Mistake) -> None:
    with pytest.raises(FabricError) as caught:
        plan_of(mistake.cables, mistake.hosts, **mistake.settings)
    problems = caught.value.problems
    assert any(all(word in problem for word in mistake.words) for problem in problems), problems
    assert len(problems) == mistake.count, problems
    assert not any("\n" in problem for problem in problems)
