# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ib_write_bw of perftest 25.01 (it calls itself 6.24) really said between the guests of make rdma."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._link import perftest
from ansible_collections.switchless.spark.plugins.module_utils._link.reading import Reading

RECORDED = Path(__file__).parent / "recorded"


def read(name: str, rc: int) -> Reading:
    return perftest.parse(rc, (RECORDED / f"{name}.txt").read_text(), "")


@pytest.mark.parametrize("name", ["good-client", "good-server"])
def test_a_figure_below_a_tenth_has_six_decimals(name: str) -> None:
    assert read(name, 0) == Reading(0.047531)


@pytest.mark.parametrize(("name", "messages"), [("zero-client", 9), ("link-down-client", 0)])
def test_an_average_of_0_is_no_figure(name: str, messages: int) -> None:
    """It could not find out the frequency of the CPU; it lost its link. It ended with 0 both times."""
    said = read(name, 0)
    assert said.gbps is None
    row = f"1048576 {messages} 0.000000 0.000000 0.000000"
    assert said.words == f"an average of 0 Gb/s, so nothing was measured: {row}"


@pytest.mark.parametrize(
    ("name", "words", "met"),
    [
        ("gid-type-client", "Found Incompatibility issue with GID types.", True),
        ("gid-type-server", "Found Incompatibility issue with GID types.", True),
        ("no-server-client", "Couldn't connect to 198.18.0.2:18515", False),
        ("late-client", "Completion with error at client; Failed status 9", True),
        ("late-server", "ethernet_read_keys: Couldn't read remote address", True),
    ],
)
def test_a_failure_is_no_figure_and_quoted(name: str, words: str, met: bool) -> None:
    said = read(name, 1)
    assert said.gbps is None
    assert said.words.startswith(words), "nothing of ours comes before the tool's own words"
    assert said.met is met
