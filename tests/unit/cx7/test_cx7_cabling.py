# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What role cabling makes of a NIC that is not there, by the expressions of its own tasks: cx7 has to get its turn."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleError
from ansible.template import trust_as_template

from ansible_collections.switchless.spark.plugins.filter.fabric_devices import fabric_devices
from ansible_collections.switchless.spark.plugins.module_utils._fabric.cabling import cabling
from tests.unit.fabric.fabric_world import Data, views_of
from tests.unit.rendering import CHECKOUT, load, render

HOSTS = ["spark1", "spark2", "spark3"]
TRIANGLE = [
    {"ends": ["spark1:p1", "spark2:p0"]},
    {"ends": ["spark2:p1", "spark3:p0"]},
    {"ends": ["spark3:p1", "spark1:p0"]},
]
NETDEVS = {"p0 A": "enp1s0f0np0", "p0 B": "enP2p1s0f0np0", "p1 A": "enp1s0f1np1", "p1 B": "enP2p1s0f1np1"}


def tasks() -> dict[str, Data]:
    """The tasks of the role by their names."""
    files = (CHECKOUT / "roles" / "cabling" / "tasks" / name for name in ("main.yml", "announce.yml"))
    return {task["name"]: task for file in files for task in load(file)}


def verdicts(expression: str, facts: Data, functions: list[Data]) -> Any:
    """Compare as the role does. Tests import the collection as Python does, so Ansible does not know its filter."""
    compare = "fabric_node | switchless.spark.fabric_cabling(__cabling_functions)"
    assert compare in expression
    known = {} if facts["__cabling_absent"] else {"__compared": cabling(facts["fabric_node"], functions)}
    return render(trust_as_template(expression.replace(compare, "__compared")), facts | known)


def nic(host: str, *absent: str, dark: tuple[str, ...] = (), leads: dict[str, str] | None = None) -> list[Data]:
    """What cx7_info shows of a node, cabled as planned but for `leads`."""
    peers = {f"{end}": ends[1 - at] for ends in (cable["ends"] for cable in TRIANGLE) for at, end in enumerate(ends)}
    peers |= leads or {}
    found = []
    for place, netdev in NETDEVS.items():
        cage, root = place.split()
        far = peers[f"{host}:{cage}"].replace(":", " ")
        said = {"port_description": f"switchless.spark {far} {root}"}
        shown = {"cage": cage, "root": root, "netdev": netdev, "mac": "4c:bb:47:00:00:01", "rdma": None, "pci": "…"}
        up = place not in dark
        if place not in absent:
            found.append(shown | {"carrier": up, "lldp": said if up else None})
    return found


def judge(shown: dict[str, list[Data]]) -> tuple[dict[str, list[str]], list[str]]:
    """What is absent on each node, and what stops the run."""
    views, role = views_of(TRIANGLE, HOSTS), tasks()
    find = role["Find the planned ports that the NIC does not show, and whether anything keeps a port from being heard"]
    compare = role["Compare the cables with the plan"]["ansible.builtin.set_fact"]["cabling_verdicts"]
    ask = role["Require that every cable leads where the plan says"]["vars"]
    hostvars = {}
    for host, functions in shown.items():
        facts = {"fabric_node": views[host], "__cabling_nic": {"cx7": {"functions": functions}}}
        facts["__cabling_absent"] = render(find["ansible.builtin.set_fact"]["__cabling_absent"], facts | find["vars"])
        facts["cabling_verdicts"] = verdicts(compare, facts, functions)
        hostvars[host] = facts
    variables = {"ansible_play_hosts": list(shown), "hostvars": hostvars} | ask
    return (
        {host: facts["__cabling_absent"] for host, facts in hostvars.items()},
        render(ask["__cabling_bad"], variables),
    )


def test_all_is_there() -> None:
    assert judge({host: nic(host) for host in HOSTS}) == ({host: [] for host in HOSTS}, [])


def test_a_nic_that_left_the_bus_leaves_the_run_to_cx7() -> None:
    """The far ends of its two cables have no link, which is its doing."""
    shown = {
        "spark1": nic("spark1", dark=("p1 A", "p1 B")),
        "spark2": nic("spark2", *NETDEVS),
        "spark3": nic("spark3", dark=("p0 A", "p0 B")),
    }
    assert judge(shown) == ({"spark1": [], "spark2": list(NETDEVS), "spark3": []}, [])


def test_one_function_that_is_not_there() -> None:
    absent, bad = judge({"spark1": nic("spark1", "p0 B"), "spark2": nic("spark2"), "spark3": nic("spark3")})
    assert (absent["spark1"], bad) == (["p0 B"], [])


def test_a_function_without_a_netdev_is_not_there() -> None:
    shown = {host: nic(host) for host in HOSTS}
    shown["spark1"][2]["netdev"] = None
    assert judge(shown)[0]["spark1"] == ["p1 A"]


def test_a_dark_cable_between_others_still_stops_the_run() -> None:
    shown = {
        "spark1": nic("spark1", "p0 A", "p0 B", "p1 A", "p1 B"),
        "spark2": nic("spark2", dark=tuple(NETDEVS)),
        "spark3": nic("spark3", dark=tuple(NETDEVS)),
    }
    _absent, bad = judge(shown)
    assert {text.split(" (")[0] for text in bad} == {"cable 2"}


def test_a_cable_that_leads_elsewhere_still_stops_the_run() -> None:
    shown = {
        "spark1": nic("spark1", *NETDEVS),
        "spark2": nic("spark2", dark=("p0 A", "p0 B"), leads={"spark2:p1": "spark3:p1"}),
        "spark3": nic("spark3", dark=("p1 A", "p1 B")),
    }
    _absent, bad = judge(shown)
    assert [text.split(":")[0] for text in bad] == ["cable 2 (spark2"]
    assert "really leads from spark2:p1 to spark3:p1" in bad[0]


def test_what_ports_announce_is_left_as_it_was() -> None:
    """A file without the ports would last until the next run of this role, after the reboot that brings them back."""
    write = tasks()["Let every port announce its node, cage and PCIe root"]
    assert "__cabling_absent | length == 0" in write["when"]


def test_the_fabric_refuses_such_a_node_and_says_where_to_turn() -> None:
    with pytest.raises(AnsibleError, match=r"no ConnectX-7 function at all.*--tags cx7"):
        fabric_devices(views_of(TRIANGLE, HOSTS)["spark1"], [], 9000)
