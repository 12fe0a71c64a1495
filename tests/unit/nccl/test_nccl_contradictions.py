# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings elsewhere that contradict the plan's, and only those."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._nccl.contradictions import contradictions, same
from ansible_collections.switchless.spark.plugins.module_utils._nccl.sources import Source

WANTED = {"NCCL_ALGO": "Ring", "NCCL_CROSS_NIC": "1", "NCCL_NET": "IB", "NCCL_IB_HCA": "=rocep1s0f0"}
ABSENT = ("NCCL_IB_GID_INDEX", "NCCL_TOPO_FILE")


def source(name: str, value: str, *, kind: str = "environment", ours: bool = False) -> Source:
    return Source("/etc/environment", 7, name, value, kind, ours)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("NCCL_ALGO", "Tree", "'Ring'"),
        ("NCCL_ALGO", "Ring", None),
        ("NCCL_ALGO", "Ring ", "'Ring'"),
        ("NCCL_ALGO", "", "'Ring'"),
        ("NCCL_IB_DEVICE_PCI_ORDER", "0", "not set"),
        ("NCCL_IB_DEVICE_PCI_ORDER", "1", None),
        ("NCCL_CROSS_NIC", "0", "'1'"),
        ("NCCL_CROSS_NIC", "1", None),
        ("NCCL_CROSS_NIC", "0x1", None),
        ("NCCL_CROSS_NIC", "", "'1'"),
        ("NCCL_IB_HCA", "rocep1s0f0", "'=rocep1s0f0'"),
        ("NCCL_IB_HCA", "$(ls /sys)", "'=rocep1s0f0'"),
        ("NCCL_NET", "Socket", "'IB'"),
        ("NCCL_NET", "IB", None),
        ("NCCL_IB_GID_INDEX", "3", "not set"),
        ("NCCL_IB_GID_INDEX", "", "not set"),
        ("NCCL_IB_GID_INDEX", "-1", "not set"),
        ("NCCL_TOPO_FILE", "/x", "not set"),
        ("NCCL_IB_USE_INLINE", "1", "not set"),
        ("NCCL_IB_USE_INLINE", "0", None),
        ("NCCL_IB_USE_INLINE", "", None),
        ("NCCL_IB_PREPOST_RECEIVE_WORK_REQUESTS", "1", "not set"),
        ("NCCL_IB_DISABLE", "1", "not set"),
        ("NCCL_IB_DISABLE", "0", None),
        ("VLLM_BATCH_INVARIANT", "1", "not set"),
        ("VLLM_BATCH_INVARIANT", "0", None),
        ("NCCL_DEBUG", "INFO", None),
        ("NCCL_ALGO ", "Tree", None),
    ],
)
def test_what_contradicts(name: str, value: str, expected: str | None) -> None:
    found = contradictions([source(name, value)], WANTED, ABSENT)
    assert [one.expected for one in found] == ([] if expected is None else [expected])
    for one in found:
        text = one.as_dict()["text"]
        assert (one.file, one.line, one.name) == ("/etc/environment", 7, name)
        assert text.startswith(f"/etc/environment:7 sets {name} to ")
        assert text.endswith("Remove line 7 of /etc/environment")
        assert one.reason


def test_another_network_is_wrong_only_where_the_plan_does_not_ask_for_it() -> None:
    sockets = source("NCCL_NET", "Socket"), source("NCCL_IB_DISABLE", "1")
    assert len(contradictions(sockets, {})) == 2
    assert contradictions(sockets, {"NCCL_NET": "Socket", "NCCL_IB_DISABLE": "1"}) == []


@pytest.mark.parametrize("name", ["NCCL_DEBUG", "NCCL_DEBUG_SUBSYS"])
def test_another_log_level_does_no_harm(name: str) -> None:
    assert contradictions([source(name, "WARN")], {name: "INFO"}) == []


def test_an_index_is_wrong_even_if_nobody_lists_it() -> None:
    (found,) = contradictions([source("NCCL_IB_GID_INDEX", "")], {})
    assert found.seen == "nothing (an empty value is a value)"
    assert "link-local" in found.reason


def test_our_own_file_is_written_anew() -> None:
    assert (
        contradictions([source("NCCL_ALGO", "Tree", ours=True), source("NCCL_IB_GID_INDEX", "3", ours=True)], WANTED)
        == []
    )


def test_who_wins_is_said() -> None:
    conf, env = (contradictions([source("NCCL_ALGO", "Tree", kind=kind)], WANTED)[0] for kind in ("nccl_conf", "shell"))
    assert "wherever the environment does not have the name" in conf.reason
    assert "how it is started" in env.reason


@given(st.text(max_size=8), st.text(max_size=8))
def test_same(one: str, other: str) -> None:
    assert same(one, one)
    assert same(one, other) == same(*reversed((one, other)))


VALUES = st.sampled_from(["0", "1", "Ring", "Tree", "", "x"])


@given(
    st.lists(st.tuples(st.sampled_from([*WANTED, *ABSENT, "NCCL_DEBUG"]), VALUES), max_size=6),
    st.dictionaries(st.sampled_from(list(WANTED)), VALUES),
)
def test_a_source_has_one_finding_at_most_and_equal_values_none(
    settings: list[tuple[str, str]], wanted: dict[str, str]
) -> None:
    found = contradictions([source(name, value) for name, value in settings], wanted, ABSENT)
    assert len(found) <= len(settings)
    assert not [one for one in found if one.name in wanted and one.seen == repr(wanted[one.name])]
    assert contradictions([source(name, value) for name, value in wanted.items()], wanted, ABSENT) == []
