# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real NCCL, one GPU, every cabling: what must work works, and what must not is found. `make nccl`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._nccl.compare import differences, expected_from
from ansible_collections.switchless.spark.plugins.module_utils._nccl.diagnose import diagnose
from ansible_collections.switchless.spark.plugins.module_utils._nccl.log import parse
from ansible_collections.switchless.spark.plugins.module_utils._nccl.proof import judge
from ansible_collections.switchless.spark.plugins.module_utils._nccl.validate import node_findings
from ansible_collections.switchless.spark.plugins.module_utils._nccl.xml import parse as parse_graphs
from tests.nccl.emulation import SECONDS, Data, Fabric, Node, Told, fabric

ARTICLE = (["329f:p1", "355d:p1"], ["355d:p0", "c049:p0"], ["c049:p1", "3d38:p0"], ["3d38:p1", "329f:p0"])
ARTICLE_HOSTS = ("329f", "355d", "c049", "3d38")
Record = Callable[[str, Data], None]


def ring(size: int) -> list[list[str]]:
    return [[f"n{rank}:p0", f"n{(rank + 1) % size}:p1"] for rank in range(size)]


def proved(lab: Fabric, told: Told) -> Data:
    return judge(told.results, {host: each["devices"] for host, each in told.settings.items()}, lab.plan, rdma=False)


def other_than_told(lab: Fabric, told: Told) -> dict[str, set[str]]:
    """Host to the kinds of what NCCL did otherwise than the role told it, by its log and the graph that it wrote."""
    found = {}
    for rank, host in enumerate(lab.plan["order"]):
        settings = told.settings[host]
        expected = {key: settings[key] for key in ("graph", "devices", "environment")} | {"rank": rank}
        dumped = parse_graphs(told.graphs[host]) if told.graphs[host] else None
        found[host] = {
            difference.code
            for difference in differences(parse(told.logs[host]), dumped, expected_from(expected))
            if difference.code != "environment"  # the graph's path
        }
    return found


@pytest.mark.parametrize(
    ("arm", "cables", "hosts"),
    [
        ("the article's ring, mixed cages", ARTICLE, ARTICLE_HOSTS),
        ("ring of four, p0 to p1", ring(4), [f"n{rank}" for rank in range(4)]),
        ("triangle", ring(3), [f"n{rank}" for rank in range(3)]),
        ("pair, two cables", (["n0:p0", "n1:p0"], ["n0:p1", "n1:p1"]), ("n0", "n1")),
        ("pair, one cable", (["n0:p0", "n1:p1"],), ("n0", "n1")),
        ("ring of six", ring(6), [f"n{rank}" for rank in range(6)]),
    ],
)
def test_what_the_plan_says_works(
    arm: str, cables: Sequence[Sequence[str]], hosts: Sequence[str], tmp_path: Path, record: Record
) -> None:
    with fabric(cables, hosts, tmp_path) as lab:
        told = lab.run()
        verdict = proved(lab, told)
        record(arm, {"verdict": verdict, "seconds": told.seconds, "results": dict(told.results)})
        assert node_findings(dict(told.settings), lab.plan) == []
        assert verdict["findings"] == []
        assert other_than_told(lab, told) == {host: set() for host in hosts}
        assert all(parse(log).graph_channels == 2 for log in told.logs.values())
        assert diagnose(told.logs, lab.plan) == []


def test_a_graph_for_another_device_order_is_found(tmp_path: Path, record: Record) -> None:
    """Every element is right all the same; one PCIe root does nothing."""

    def swapped(node: Node) -> list[str]:
        faces = {(port["towards"], port["root"]): port for port in node.settings(2, node.order)["devices"]}
        one, other = faces["previous", "B"]["netdev"], faces["next", "A"]["netdev"]
        return [{one: other, other: one}.get(name, name) for name in node.order]

    with fabric(ARTICLE, ARTICLE_HOSTS, tmp_path) as lab:
        told = lab.run(order=swapped)
        verdict = proved(lab, told)
        record("wrong device order", {"verdict": verdict, "seconds": told.seconds, "results": dict(told.results)})
        assert [row["wrong"] for row in verdict["rows"]] == [0, 0, 0, 0]
        assert any("half on each" in finding for finding in verdict["findings"])
        assert all("device_order" in kinds for kinds in other_than_told(lab, told).values())


def test_ranks_that_do_not_follow_the_cables_are_found(tmp_path: Path, record: Record) -> None:
    """Every element is right all the same; nodes in between carry what must not pass them."""
    with fabric(ARTICLE, ARTICLE_HOSTS, tmp_path) as lab:
        told = lab.run(ranks=[ARTICLE_HOSTS[rank] for rank in (0, 2, 1, 3)])
        verdict = proved(lab, told)
        record("ranks 1 and 2 swapped", {"verdict": verdict, "seconds": told.seconds, "results": dict(told.results)})
        assert [row["wrong"] for row in verdict["rows"]] == [0, 0, 0, 0]
        assert any("passed on" in finding for finding in verdict["findings"])
        kinds = other_than_told(lab, told)
        assert [host for host in ARTICLE_HOSTS if "rank" in kinds[host]] == list(ARTICLE_HOSTS[1:3])


def test_a_cable_that_is_out_is_named(tmp_path: Path, record: Record) -> None:
    with fabric(ARTICLE, ARTICLE_HOSTS, tmp_path) as lab:
        lab.unplug(2)
        told = lab.run()
        verdict = proved(lab, told)
        causes = diagnose(told.logs, lab.plan)
        record("cable 2 out", {"verdict": verdict, "seconds": told.seconds, "causes": causes})
        assert told.seconds < SECONDS + 20
        assert {cause["cable"] for cause in causes} == {"355d:p0 - c049:p0"}


def test_a_cable_pulled_in_the_middle_is_named(tmp_path: Path, record: Record) -> None:
    """The ranks hang, and say which port lost its link."""
    with fabric(ARTICLE, ARTICLE_HOSTS, tmp_path) as lab:
        told = lab.run(sizes=[64] * 40, connected=lambda: lab.unplug(3))
        verdict = proved(lab, told)
        record("cable 3 pulled in the middle", {"verdict": verdict, "seconds": told.seconds})
        assert told.seconds < SECONDS + 20
        assert not verdict["ok"]
        named = [finding for finding in verdict["findings"] if "cable 3, c049:p1 - 3d38:p0" in finding]
        assert sorted(finding.partition(":")[0] for finding in named) == ["3d38", "c049"]
