# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters as Ansible loads and feeds them."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible.template import trust_as_template

from ansible_collections.switchless.spark.plugins.filter import fabric_bind, fabric_drawing, fabric_host, fabric_plan
from tests.unit.fabric.fabric_world import Data, ring

CABLES, HOSTS = ring(4)


def the_filter(module: Any) -> Any:
    """The one filter of a file, named as the file."""
    ((name, function),) = module.FilterModule().filters().items()
    assert module.__name__.endswith(f".{name}")
    return function


PLAN, HOST, BIND, DRAWING = map(the_filter, (fabric_plan, fabric_host, fabric_bind, fabric_drawing))


def tagged(value: Any) -> Any:
    """The value with Ansible's tags on all its strings."""
    if isinstance(value, str):
        return trust_as_template(value)
    if isinstance(value, list):
        return [tagged(item) for item in value]
    return {tagged(key): tagged(item) for key, item in value.items()} if isinstance(value, dict) else value


def is_plain(value: object) -> bool:
    """Whether nothing in it is of a subclass."""
    if isinstance(value, dict):
        inside: Iterable[object] = (*value.keys(), *value.values())
    else:
        inside = value if isinstance(value, list) else ()
    return type(value) in (dict, list, str, int, float, bool, type(None)) and all(map(is_plain, inside))


def test_tags_do_not_come_through() -> None:
    cables = tagged(CABLES)
    assert not is_plain(cables), "the test would prove nothing"
    plan = PLAN(cables, hosts=tagged(HOSTS), head=tagged("n1"), subnet_pool=tagged("198.18.0.0/15"))
    host = HOST(tagged(plan), tagged("n0"))
    functions = [
        {"cage": cage, "root": root, "netdev": cage + root, "mac": "02:00:00:00:00:01", "rdma": None}
        for cage in ("p0", "p1")
        for root in ("A", "B")
    ]
    bound = BIND(tagged(host), tagged(functions))
    assert all(map(is_plain, (plan, host, bound)))
    assert is_plain(DRAWING(tagged(plan)))
    assert plan == PLAN(CABLES, hosts=HOSTS, head="n1")


def test_one_error_holds_all_problems() -> None:
    with pytest.raises(AnsibleFilterError, match=r"cannot be planned:\nfabric_head 'x'.*\nfabric_mtu is the number 1"):
        PLAN(CABLES, hosts=HOSTS, head="x", mtu=1)


def test_an_unknown_host() -> None:
    with pytest.raises(AnsibleFilterError, match=r"host 'n9' is not in the fabric \(n0, n1, n2, n3\)"):
        HOST(PLAN(CABLES, hosts=HOSTS), "n9")


def test_a_node_without_its_ports() -> None:
    with pytest.raises(AnsibleFilterError, match="does not show the ports of its plan:\nn0: cage p0 on PCIe root A"):
        BIND(HOST(PLAN(CABLES, hosts=HOSTS), "n0"), [])


def broken(**changes: Any) -> Data:
    plan: Data = copy.deepcopy(PLAN(CABLES, hosts=HOSTS))
    plan.update(changes)
    return plan


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (None, "the plan is nothing"),
        ([], "expected what the filter fabric_plan gives"),
        ({}, r"schema nothing \(null\): expected 1"),
        (broken(schema=2), "schema the number 2: expected 1"),
        (broken(cables=[{}]), "the plan is damaged"),
        (broken(cables=None), "the plan is damaged"),
        (broken(order=["n0", "n2", "n1", "n3"]), "its order is n0, n2, n1, n3, its cables lead n0, n1, n2, n3"),
        (broken(order=[]), "not in the fabric"),
        (broken(order=["n0", "x"]), "the plan is damaged"),
    ],
)
def test_a_plan_that_is_none(plan: object, words: str) -> None:
    with pytest.raises(AnsibleFilterError, match=words):
        HOST(plan, "n0")
