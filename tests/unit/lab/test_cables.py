# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from lab import cables, site
from lab.common import LabError
from lab.hardware import FUNCTIONS, Identity, board
from lab.watch import wanted_jacks
from lab.wiring import DEFAULT, End, load_wiring

RING = load_wiring(DEFAULT)


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> site.Site:
    monkeypatch.setattr(site, "STORE", tmp_path)
    lab = site.Site("spark")
    lab.__dict__["wiring"] = RING
    return lab


def test_a_cable_is_two_pairs_of_jacks(ring: site.Site) -> None:
    patches = cables.load(ring)
    first, last = patches[0], patches[-1]
    assert cables.jack_pairs(ring, first) == [("n0p1A", "n1p1A"), ("n0p1B", "n1p1B")]
    assert cables.jack_pairs(ring, last) == [("n3p1A", "n0p0A"), ("n3p1B", "n0p0B")]


def test_every_jack_name_fits_the_kernel(ring: site.Site) -> None:
    assert all(
        len(name) < 16 for patch in cables.load(ring) for pair in cables.jack_pairs(ring, patch) for name in pair
    )


def test_a_jack_is_up_while_its_cable_is_in_and_the_far_port_is_up(ring: site.Site) -> None:
    ports = {("spark1", "enp1s0f1np1")}
    wanted = wanted_jacks(ring, ports)
    assert [name for name, up in wanted.items() if up] == ["n1p1A"], "only the far end of the port that is up"
    with cables.changing(ring) as patches:
        patches[0].plugged = False
    assert not any(wanted_jacks(ring, ports).values())


def test_state_of_cables_is_kept(ring: site.Site) -> None:
    with cables.changing(ring) as patches:
        patches[0].far, patches[1].far = patches[1].far, patches[0].far
        patches[2].limits = ["13gbit", None]
    again = cables.load(ring)
    assert again[0].far == End("spark3", "p0")
    assert again[1].far == End("spark2", "p1")
    assert again[2].limits == ["13gbit", None]


@pytest.mark.parametrize("text", ["0", "5", "x", "", "-1", "1.0"])
def test_a_cable_that_is_not_there(ring: site.Site, text: str) -> None:
    with pytest.raises(LabError, match=r"there is no cable .* 1: spark1:p1 - spark2:p1; 2: "):
        cables.pick(cables.load(ring), text)


@pytest.mark.parametrize(("text", "rate"), [("13gbit", 13e9), ("1.5mbit", 1.5e6), ("64kbit", 64e3), ("9bit", 9.0)])
def test_rates(text: str, rate: float) -> None:
    assert cables.parse_rate(text) == rate


@pytest.mark.parametrize("text", ["", "13", "13Gbit", "fast", "-1gbit", "0gbit", "1gbit; reboot"])
def test_bad_rates(text: str) -> None:
    with pytest.raises(LabError, match="is not a rate"):
        cables.parse_rate(text)


def test_bursts() -> None:
    assert [cables.burst(rate) for rate in (1e6, 13e9, 200e9)] == [131072, 3250000, 8 << 20]


def test_identities_differ_and_stay() -> None:
    macs = {Identity(lab, node).mac(n) for lab in ("a", "b") for node in RING.nodes for n in range(4)}
    assert len(macs) == 32
    assert all(int(mac[:2], 16) & 3 == 2 for mac in macs), "locally administered, unicast"
    assert Identity("a", "n").mac(1) == Identity("a", "n").mac(1)
    assert len({Identity("a", node).switch_id for node in RING.nodes}) == 4


def test_board() -> None:
    data = board("spark", "spark1", {"p0": True})
    assert [info["netdev"] for info in data["functions"]] == [function.netdev for function in FUNCTIONS]
    assert [info["cabled"] for info in data["functions"]] == [True, True, False, False]
    assert data["sys_image_guid"].replace(":", "") == data["switch_id"]
