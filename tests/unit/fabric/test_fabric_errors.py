# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every mistake that the plan refuses: the words that name the cable, what was seen, what was expected, what to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError
from tests.unit.fabric.fabric_world import Data, plan_of, ring

RING4, HOSTS4 = ring(4)
PAIR = [{"ends": ["a:p0", "b:p0"]}]


def cable(*ends: object, **more: object) -> dict[str, Any]:
    return {"ends": list(ends), **more}


def with_subnets(*subnets: object) -> list[dict[str, Any]]:
    """A pair whose first cable names these."""
    return [cable("a:p0", "b:p0", subnets=list(subnets))]


def replaced(index: int, item: object) -> list[object]:
    """A ring of four with one cable another."""
    return [item if place == index else cable for place, cable in enumerate(RING4)]


@dataclass(frozen=True)
class Mistake:
    """`words` must all stand in one of the problems, and there must be `count` problems."""

    name: str
    cables: object
    words: tuple[str, ...]
    hosts: object = ("a", "b")
    count: int = 1
    settings: Data = field(default_factory=dict)


MISTAKES = [
    # What YAML makes of a slip
    Mistake("cables not a list", {"a": "b"}, ("fabric_cables is the mapping", "expected a list", "write it as")),
    Mistake("cables as text", "a:p0 b:p0", ("fabric_cables is 'a:p0 b:p0'", "expected a list")),
    Mistake("cables null", None, ("fabric_cables is nothing (null)", "expected a list")),
    Mistake("no cables", [], ("fabric_cables is empty", "one item for each cable")),
    Mistake("cable as text", ["a:p0 - b:p0"], ("cable 1 is 'a:p0 - b:p0'", "expected a mapping", "write it as")),
    Mistake("no ends", [{"subnets": []}], ("cable 1: has no 'ends'",), count=2),
    Mistake("ends as text", [{"ends": "a:p0"}], ("cable 1: ends is 'a:p0'", "expected a list of two")),
    Mistake("three ends", [cable("a:p0", "b:p0", "a:p1")], ("cable 1: has 3 ends ('a:p0', 'b:p0', 'a:p1')", "has two")),
    Mistake("no end at all", [cable()], ("cable 1: has 0 ends (none)", "a cable has two")),
    Mistake(
        "space behind the colon", [cable({"a": "p0"}, "b:p0")], ("cable 1: YAML read an end as the mapping", "quotes")
    ),
    Mistake("end read as a number", [cable(90, "b:p0")], ("cable 1: YAML read an end as the number 90", "in quotes")),
    Mistake("end read as a boolean", [cable(True, "b:p0")], ("YAML read an end as the boolean true", "in quotes")),
    Mistake("end null", [cable(None, "b:p0")], ("cable 1: YAML read an end as nothing (null)", "expected host:cage")),
    Mistake("end without cage", [cable("a", "b:p0")], ("cable 1: end 'a' is not host:cage", "write the host, a colon")),
    Mistake("end without host", [cable(":p0", "b:p0")], ("cable 1: end ':p0' is not host:cage",)),
    Mistake("space in the host", [cable("a :p0", "b:p0")], ("cable 1: end 'a :p0' has a space", "take it out")),
    Mistake(
        "wrong cage", [cable("a:p2", "b:p0")], ("cable 1: end 'a:p2' names the cage 'p2'", "expected p0 or p1", "RJ45")
    ),
    Mistake("capital cage", [cable("a:P0", "b:p0")], ("names the cage 'P0'", "expected p0 or p1")),
    Mistake(
        "unknown key",
        [cable("a:p0", "b:p0", subnet=[])],
        ("cable 1 (a:p0 - b:p0): has the unknown key 'subnet'", "only ends and subnets", "mean 'subnets'?"),
    ),
    Mistake("hosts as text", PAIR, ("hosts is 'sparks'", "groups['sparks']"), hosts="sparks"),
    Mistake("hosts null", PAIR, ("hosts is nothing (null)", "groups['sparks']"), hosts=None),
    Mistake(
        "host read as a number", PAIR, ("hosts has the number 3738", "put the name in quotes"), hosts=["a", "b", 3738]
    ),
    # Ends
    Mistake(
        "port used twice",
        replaced(1, cable("n1:p1", "n2:p1")),
        ("cable 2 (n1:p1 - n2:p1): port n1:p1 is already used by cable 1 (n0:p0 - n1:p1)", "correct one"),
        hosts=HOSTS4,
    ),
    Mistake(
        "same cable twice", [*PAIR, *PAIR], ("cable 2 (a:p0 - b:p0): port b:p0 is already used by cable 1",), count=2
    ),
    Mistake(
        "third cable of a pair",
        [*PAIR, cable("a:p1", "b:p1"), cable("a:p0", "b:p1")],
        ("cable 3 (a:p0 - b:p1): port b:p1 is already used by cable 2 (a:p1 - b:p1)",),
        count=2,
    ),
    Mistake(
        "third cable of a host",
        [*RING4, cable("n0:p0", "n2:p0")],
        ("cable 5 (n0:p0 - n2:p0): port n0:p0 is already used by cable 1",),
        hosts=HOSTS4,
        count=2,
    ),
    Mistake(
        "cabled to itself",
        replaced(1, cable("n1:p0", "n1:p1")),
        ("cable 2 (n1:p0 - n1:p1): both ends are on host n1", "joins two Sparks", "correct one end"),
        hosts=HOSTS4,
    ),
    Mistake("both ends in one cage", [cable("a:p0", "a:p0")], ("cable 1 (a:p0 - a:p0): both ends are on host a",)),
    Mistake(
        "unknown host",
        [cable("spark1:p0", "sparc2:p0")],
        (
            "cable 1 (spark1:p0 - sparc2:p0): host 'sparc2' is not in the group (spark1, spark2)",
            "add the host",
            "did you mean 'spark2'?",
        ),
        hosts=["spark1", "spark2"],
    ),
    # The graph
    Mistake("one host", PAIR, ("the group has 1 host (a)", "at least 2"), hosts=["a"], count=2),
    Mistake("no hosts", PAIR, ("the group has no hosts", "at least 2"), hosts=[]),
    Mistake(
        "host without a cable",
        PAIR,
        ("host c is in the group but has no cable", "take the host out"),
        hosts=["a", "b", "c"],
    ),
    Mistake(
        "two rings",
        ring(3, "a")[0] + ring(3, "b")[0],
        ("2 separate parts", "ring a0, a1, a2 (cables 1, 2, 3)", "ring b0, b1, b2 (cables 4, 5, 6)", "move one cable"),
        hosts=ring(3, "a")[1] + ring(3, "b")[1],
    ),
    Mistake(
        "a pair beside a chain",
        [*PAIR, cable("c:p0", "d:p0"), cable("d:p1", "e:p0")],
        ("2 separate parts", "pair a, b (cable 1)", "chain c, d, e (cables 2, 3)"),
        hosts=["a", "b", "c", "d", "e"],
    ),
    Mistake(
        "open chain",
        RING4[:3],
        (
            "an open chain from n0 to n3",
            "cable 1 (n0:p0 - n1:p1)",
            "cable 3 (n2:p0 - n3:p1)",
            "tensor parallelism needs a closed ring",
            "any three Sparks of a ring of four",
            "add the cable n0:p1 - n3:p0",
        ),
        hosts=HOSTS4,
    ),
    Mistake(
        "three of a ring of four",
        RING4[1:3],
        ("open chain from n1 to n3", "add the cable n1:p1 - n3:p0"),
        hosts=HOSTS4[1:],
    ),
    # Subnets
    Mistake(
        "subnets null",
        [cable("a:p0", "b:p0", subnets=None)],
        ("cable 1 (a:p0 - b:p0): subnets is nothing (null)", "leave the key out"),
    ),
    Mistake(
        "one subnet",
        with_subnets("10.0.0.0/24"),
        ("cable 1 (a:p0 - b:p0): has 1 subnets ('10.0.0.0/24')", "one for each PCIe root", "leave the key out"),
    ),
    Mistake("subnet as a number", with_subnets(10.0, "10.0.1.0/24"), ("root A: subnet is the number 10.0", "quotes")),
    Mistake(
        "twins on one subnet",
        with_subnets("10.0.0.0/24", "10.0.0.0/24"),
        ("cable 1 (a:p0 - b:p0): root A and root B have overlapping subnets", "10.0.0.0/24", "give each root its own"),
    ),
    Mistake(
        "equal subnets",
        [
            cable("a:p0", "b:p0", subnets=["10.0.0.0/24", "10.0.1.0/24"]),
            cable("a:p1", "b:p1", subnets=["10.0.2.0/24", "10.0.0.0/24"]),
        ],
        (
            "cable 2 (a:p1 - b:p1), root B: 10.0.0.0/24: overlaps 10.0.0.0/24 of cable 1 (a:p0 - b:p0), root A",
            "change one",
        ),
    ),
    Mistake(
        "one subnet inside another",
        [
            cable("a:p0", "b:p0", subnets=["10.0.0.0/16", "10.1.0.0/16"]),
            cable("a:p1", "b:p1", subnets=["10.0.9.0/24", "10.3.0.0/16"]),
        ],
        ("cable 2 (a:p1 - b:p1), root A: 10.0.9.0/24: overlaps 10.0.0.0/16 of cable 1",),
        count=2,
    ),
    Mistake(
        "host bits",
        with_subnets("10.0.0.1/24", "10.0.1.0/24"),
        ("cable 1 (a:p0 - b:p0), root A: subnet '10.0.0.1/24' has host bits set", "the network is 10.0.0.0/24"),
    ),
    Mistake(
        "prefix lengths differ",
        [
            cable("a:p0", "b:p0", subnets=["10.0.0.0/24", "10.0.1.0/24"]),
            cable("a:p1", "b:p1", subnets=["10.0.2.0/24", "10.0.3.0/25"]),
        ],
        (
            "cable 2 (a:p1 - b:p1), root B: 10.0.3.0/25: has prefix length 25",
            "cable 1 (a:p0 - b:p0) has 24",
            "NCCL_IB_SUBNET_PREFIX_LEN",
        ),
    ),
    Mistake(
        "prefix too long",
        with_subnets("10.0.0.0/31", "10.0.1.0/31"),
        ("root A", "prefix length 31", "8 to 30"),
        count=2,
    ),
    Mistake(
        "prefix too short", with_subnets("16.0.0.0/7", "20.0.0.0/7"), ("root B", "prefix length 7", "8 to 30"), count=2
    ),
    Mistake(
        "prefix missing", with_subnets("10.0.0.0", "10.0.1.0/24"), ("'10.0.0.0' has no prefix length", "10.0.0.0/24")
    ),
    Mistake(
        "prefix no number", with_subnets("10.0.0.0/x", "10.0.1.0/24"), ("no prefix length but 'x'", "from 0 to 32")
    ),
    Mistake(
        "netmask", with_subnets("10.0.0.0/255.255.255.0", "10.0.1.0/24"), ("no prefix length but '255.255.255.0'",)
    ),
    Mistake(
        "IPv6", with_subnets("fd00::/64", "10.0.1.0/24"), ("root A: subnet 'fd00::/64' is not IPv4", "give an IPv4")
    ),
    Mistake("not an address", with_subnets("ten/24", "10.0.1.0/24"), ("subnet 'ten/24' is not an IPv4 address",)),
    Mistake("not a network", with_subnets("ten", "10.0.1.0/24"), ("subnet 'ten' is not an IPv4 network", "a.b.c.d/24")),
    Mistake("above 255", with_subnets("10.0.256.0/24", "10.0.1.0/24"), ("'10.0.256.0/24' has a number above 255",)),
    Mistake("leading zero", with_subnets("10.0.010.0/24", "10.0.1.0/24"), ("leading zero", "leave the zero out")),
    *(
        Mistake(
            f"reserved {subnet}",
            with_subnets("10.0.0.0/24", subnet),
            (f"cable 1 (a:p0 - b:p0), root B: subnet '{subnet}' lies in", "reserved for", purpose, "take private"),
        )
        for subnet, purpose in (
            ("127.0.1.0/24", "loopback"),
            ("224.0.1.0/24", "multicast"),
            ("169.254.1.0/24", "link-local"),
            ("0.1.0.0/24", "this network"),
            ("255.255.255.0/24", "broadcast"),
        )
    ),
    # The pool
    Mistake(
        "pool too small",
        RING4,
        ("fabric_subnet_pool 10.0.0.0/22", "too small", "4 cables", "need 8 /24", "holds 4", "/21 or larger"),
        hosts=HOSTS4,
        settings={"subnet_pool": "10.0.0.0/22"},
    ),
    Mistake(
        "pool too small beside named subnets",
        replaced(0, cable("n0:p0", "n1:p1", subnets=["10.0.0.0/24", "10.0.1.0/24"])),
        ("need 6 /24", "holds 4, of which cables name 2", "/21 or larger"),
        hosts=HOSTS4,
        settings={"subnet_pool": "10.0.0.0/22"},
    ),
    Mistake("pool below one subnet", PAIR, ("holds 0", "/23 or larger"), settings={"subnet_pool": "10.0.0.0/25"}),
    Mistake(
        "pool with host bits",
        PAIR,
        ("fabric_subnet_pool '10.0.1.0/22' has host bits", "10.0.0.0/22"),
        settings={"subnet_pool": "10.0.1.0/22"},
    ),
    Mistake(
        "pool reserved",
        PAIR,
        ("fabric_subnet_pool '0.0.0.0/0' lies in", "reserved"),
        settings={"subnet_pool": "0.0.0.0/0"},
    ),
    Mistake(
        "pool null", PAIR, ("fabric_subnet_pool is nothing (null)", "198.18.0.0/15"), settings={"subnet_pool": None}
    ),
    # The management network
    Mistake(
        "a cable on the management network",
        with_subnets("192.0.2.0/24", "10.0.1.0/24"),
        (
            "cable 1 (a:p0 - b:p0), root A: 192.0.2.0/24: overlaps the management network 192.0.2.0/24 of a, b",
            "lose its management path",
            "give the cable another subnet",
        ),
        settings={"management": {"a": "192.0.2.11/24", "b": "192.0.2.12/24"}},
    ),
    Mistake(
        "a cable around a management address",
        with_subnets("10.0.0.0/24", "10.0.1.0/24"),
        ("root B: 10.0.1.0/24: overlaps the management address 10.0.1.77:",),
        settings={"management": ["10.0.1.77"]},
    ),
    Mistake(
        "a fabric address that is a management address",
        with_subnets("10.0.0.0/24", "10.0.1.0/24"),
        ("root B", "management address 10.0.1.2 of b and is the very address that its second end would get"),
        settings={"management": {"b": "10.0.1.2"}},
    ),
    Mistake(
        "two of them",
        with_subnets("10.0.0.0/24", "10.0.1.0/24"),
        ("root A", "10.0.0.1 of a", "first end"),
        settings={"management": {"a": "10.0.0.1", "b": ["10.0.0.2", "192.0.2.1"]}},
        count=2,
    ),
    Mistake(
        "pool over the management network",
        PAIR,
        (
            "fabric_subnet_pool 192.168.0.0/16: overlaps the management network 192.168.9.0/24",
            "choose a pool outside it, such as 198.18.0.0/15",
        ),
        settings={"subnet_pool": "192.168.0.0/16", "management": ["192.168.9.0/24"]},
    ),
    Mistake(
        "management no address",
        PAIR,
        ("management of a '192.0.2.1111' is not an IPv4 address",),
        settings={"management": {"a": "192.0.2.1111"}},
    ),
    Mistake(
        "management length",
        PAIR,
        ("management '192.0.2.1/40'", "from 1 to 32"),
        settings={"management": "192.0.2.1/40"},
    ),
    Mistake(
        "management number",
        PAIR,
        ("management of a is the number 5", "such as 192.0.2.11"),
        settings={"management": {"a": 5}},
    ),
    # The rest
    *(
        Mistake(
            f"MTU {mtu!r}", PAIR, ("fabric_mtu is", shown, "integer from 1280 to 9978", "9000"), settings={"mtu": mtu}
        )
        for mtu, shown in (
            (1279, "1279"),
            (9979, "9979"),
            (True, "boolean true"),
            (9000.0, "9000.0"),
            ("jumbo", "'jumbo'"),
            (None, "null"),
            ("", "an empty string"),
            ([9000], "the list"),
        )
    ),
    Mistake(
        "head not in the fabric",
        PAIR,
        ("fabric_head 'z' is not in the fabric (a, b)", "name one"),
        settings={"head": "z"},
    ),
    Mistake("head as a number", PAIR, ("fabric_head is the number 3738", "quotes"), settings={"head": 3738}),
    Mistake(
        "control plane",
        PAIR,
        ("fabric_control_plane is 'lan'", "management or fabric"),
        settings={"control_plane": "lan"},
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
    assert str(caught.value).splitlines() == list(problems)


def test_all_mistakes_are_named_at_once() -> None:
    with pytest.raises(FabricError) as caught:
        plan_of(
            [
                cable("a:p0", "b:p7"),
                cable("a:p0", "c:p0", subnets=["10.0.0.0/24", "10.0.0.0/24"]),
                cable("b:p0", "a:p0"),
            ],
            ["a", "b"],
            mtu=1,
            head="q",
            control_plane="x",
            subnet_pool="10.0.0.0/24",
        )
    assert [" ".join(problem.split()[:2]) for problem in caught.value.problems] == [
        "cable 1:",
        "cable 2",
        "cable 3",
        "fabric_head 'q'",
        "fabric_mtu is",
        "fabric_control_plane is",
        "cable 2",
        "fabric_subnet_pool 10.0.0.0/24:",
    ]


def test_what_is_no_mistake() -> None:
    cables, hosts = ring(3)
    assert plan_of(tuple(cables), set(hosts), mtu="9978", head="")["mtu"] == 9978
    assert plan_of(cables, dict.fromkeys(hosts).keys(), mtu=1280, control_plane="fabric")["control_plane"] == "fabric"
    # Names and IPv6 say nothing that a plan can compare.
    assert plan_of(cables, hosts, management={"n0": "spark-1.local", "n1": ["fe80::1", "fd00::2/64"], "n2": []})
    assert plan_of(cables, hosts, management=None) == plan_of(cables, iter(hosts), management="192.0.2.1")


def test_many_names_are_cut_short() -> None:
    cables, hosts = ring(64)
    with pytest.raises(FabricError) as caught:
        plan_of(cables, hosts, head="z")
    assert "n7 and 56 more" in str(caught.value)
