# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from pathlib import Path

import pytest

from lab.wiring import DEFAULT, Cable, End, WiringError, load_wiring, parse_wiring

GOOD = """
name = "spark"
nodes = ["a", "b", "c"]
management = "10.77.0.0/24"
cables = [["a:p0", "b:p1"], ["b:p0", "c:p1"]]
"""


def test_default_is_the_ring_of_the_article() -> None:
    wiring = load_wiring(DEFAULT)
    assert wiring.name == "spark"
    assert wiring.nodes == ("spark1", "spark2", "spark3", "spark4")
    assert [str(cable) for cable in wiring.cables] == [
        "spark1:p1 - spark2:p1",
        "spark2:p0 - spark3:p0",
        "spark3:p1 - spark4:p0",
        "spark4:p1 - spark1:p0",
    ]
    assert wiring.controller == "10.77.0.1"
    assert [wiring.address(node) for node in wiring.nodes] == [f"10.77.0.1{n}" for n in (1, 2, 3, 4)]


@pytest.mark.parametrize("path", sorted(DEFAULT.parent.glob("*.toml")), ids=lambda path: path.stem)
def test_every_file_of_the_lab_is_good_and_comes_back_from_dump(path: Path) -> None:
    wiring = load_wiring(path)
    assert parse_wiring(wiring.dump(), "dump") == wiring


def test_cables_are_optional() -> None:
    assert parse_wiring('name = "x"\nnodes = ["a"]\nmanagement = "10.0.0.0/24"', "f").cables == ()


def test_ends() -> None:
    assert parse_wiring(GOOD, "f").cables[1] == Cable(End("b", "p0"), End("c", "p1"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"c:p1"', '"b:p1"', "cable 2 joins b to itself"),
        ('["b:p0", "c:p1"]', '["c:p0", "a:p0"]', "a:p0 is used twice, by cable 1 and cable 2"),
        ('"c:p1"', '"d:p1"', "'d:p1' names an unknown node; nodes are a, b, c"),
        ('"c:p1"', '"c:p2"', "does not name a cage; write c:p0 or c:p1"),
        ('"c:p1"', '"c"', "does not name a cage"),
        ('["b:p0", "c:p1"]', '["b:p0"]', "cable 2 must be a pair"),
        ('"b", "c"]', '"b", "b"]', "node b is named twice"),
        ('"b", "c"]', '"b", "C c"]', "'C c' cannot be a node's name"),
        ('["a", "b", "c"]', "[]", "nodes must be a list"),
        ('"spark"', '"Spark one"', "cannot be a lab's name"),
        ("10.77.0.0/24", "10.77.0.0/29", "too small for 3 nodes"),
        ("10.77.0.0/24", "10.77.0.1/24", "management must be an IPv4 network"),
        ("management", "managment", "missing: management"),
        ("cables", "cable", "unknown key: cable"),
        ("nodes = [", "nodes = ", "not TOML"),
    ],
)
def test_a_mistake_gives_one_clear_error(old: str, new: str, message: str) -> None:
    with pytest.raises(WiringError) as caught:
        parse_wiring(GOOD.replace(old, new, 1), "ring.toml")
    assert message in str(caught.value)
    assert str(caught.value).startswith("ring.toml: ")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(WiringError, match=r"cannot read the wiring file .*no\.toml: No such file"):
        load_wiring(tmp_path / "no.toml")
