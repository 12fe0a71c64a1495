# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions: dpkg's own order, and the driver's inside a package's."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._driver.version import branch, damaged, driver, key

WORDS = st.text("019.~+a-Z", max_size=6)
VERSIONS = st.builds("{}{}".format, st.sampled_from("0159"), WORDS).filter(lambda text: not text.endswith("-"))
SEEN = (
    "580.173.02-0ubuntu0.24.04.1",
    "580.159.03-0ubuntu0.24.04.1",
    "580.126.09-0ubuntu0.24.04.2",
    "580.142-0ubuntu0.24.04.1",
    "6.17.0-1032.32",
    "6.17.0-1032.32+1",
    "6.11.0-1016.16+1000",
    "7.0.0-1019.19~24.04.2",
    "7.0.0-1019.19",
    "1:580.95.05-1",
    "610.43.02-1ubuntu1",
    "1.0~rc1-1",
    "1.0-1",
    "1.0",
    "1.0-0",
)


def sign(one: str, other: str) -> int:
    return (key(one) > key(other)) - (key(one) < key(other))


def asked(one: str, other: str) -> int:
    """What dpkg says."""
    for relation, number in (("lt", -1), ("eq", 0), ("gt", 1)):
        if subprocess.run(["dpkg", "--compare-versions", one, relation, other], check=False).returncode == 0:
            return number
    raise AssertionError(f"dpkg has no order for {one} and {other}")


@pytest.mark.skipif(shutil.which("dpkg") is None, reason="dpkg is what it is compared with")
def test_order_is_dpkgs() -> None:
    pairs = [*zip(SEEN, SEEN[1:] + SEEN[:1], strict=True), ("1.0", "1.0-0"), ("0", "0~"), ("1.0a", "1.0+")]
    assert [sign(*pair) for pair in pairs] == [asked(*pair) for pair in pairs]


@pytest.mark.skipif(shutil.which("dpkg") is None, reason="dpkg is what it is compared with")
@settings(max_examples=60, deadline=None)
@given(VERSIONS, VERSIONS)
def test_order_is_dpkgs_for_any_version(one: str, other: str) -> None:
    assert sign(one, other) == asked(one, other)


@given(VERSIONS, VERSIONS, VERSIONS)
def test_total_order(one: str, two: str, three: str) -> None:
    assert sign(one, two) == -sign(two, one)
    assert sign(one, one) == 0
    first, second, third = sorted((one, two, three), key=key)
    assert sign(first, second) <= 0
    assert sign(first, third) <= max(sign(first, second), sign(second, third)) <= 0


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("580.173.02-0ubuntu0.24.04.1", "580.173.02"),
        ("580.142-0ubuntu0.24.04.1", "580.142"),
        ("590.48.01", "590.48.01"),
        ("1:580.95.05-1", "580.95.05"),
        ("580.159.03-0ubuntu192.0.2.10", None),  # P22: a redaction took the revision for an address
        ("6.17.0-1032.32", None),
        ("1.18.0-1", None),
        ("", None),
    ],
)
def test_driver(version: str, expected: str | None) -> None:
    assert driver(version) == expected


def test_revisions_are_no_addresses() -> None:
    assert not any(map(damaged, SEEN))
    assert damaged("580.159.03-0ubuntu10.0.0.1")


def test_branch() -> None:
    assert [branch(text) for text in ("610.43.02-1ubuntu1", "1:580.95.05-1", "6.17.0-1", None)] == [
        610,
        580,
        None,
        None,
    ]
