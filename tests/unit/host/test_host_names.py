# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who gets a line in /etc/hosts, and with which address."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.switchless.spark.plugins.filter.host_names import FilterModule
from ansible_collections.switchless.spark.plugins.module_utils._fabric.plan import build_plan, plan_to_dict

RING = [{"ends": ["329f:p1", "355d:p1"]}, {"ends": ["355d:p0", "10.1:p0"]}, {"ends": ["10.1:p1", "329f:p0"]}]
named = FilterModule().filters()["host_names"]


def plan(control_plane: str = "management") -> dict[str, Any]:
    return plan_to_dict(build_plan(RING, hosts=["329f", "355d", "10.1"], control_plane=control_plane))


@pytest.mark.parametrize(
    ("address", "line"),
    [
        ("192.0.2.12", ["192.0.2.12 355d"]),
        ("2001:db8::7", ["2001:db8::7 355d"]),
        ("spark.lan", []),
        ("127.0.0.1", []),
        ("::1", []),
        ("::", []),
        ("", []),
        (None, []),
    ],
)
def test_only_addresses_become_lines(address: str | None, line: list[str]) -> None:
    assert named(plan(), {"329f": "192.0.2.11", "355d": address}) == ["192.0.2.11 329f", *line]


def test_a_name_that_is_an_address_needs_no_line() -> None:
    assert named(plan(), {"10.1": "192.0.2.13"}) == []


def test_on_the_fabric_it_is_the_first_port() -> None:
    """The first port is p0 on root A. The third cable ends at that of 329f, the second begins at that of 355d."""
    assert named(plan("fabric"), {"329f": "192.0.2.11"}) == ["198.18.4.2 329f", "198.18.2.1 355d"]


def test_a_plan_that_is_none() -> None:
    with pytest.raises(AnsibleFilterError, match="host_names: "):
        named({}, {})
