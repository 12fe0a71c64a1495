# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is taken for a pass of arx's own test: its line and its exit status, not one of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._nccl.arx import Result, read

PASSED = "rank 0: 480 checks\nRESULT ring: PASS (480 checks)\n"
FAILED = "rank 0: 3 of 480 checks wrong\nRESULT ring: FAIL 3 of 480\n"


@pytest.mark.parametrize(
    ("rc", "stdout", "expected"),
    [
        (0, PASSED, Result(True, "RESULT ring: PASS (480 checks)")),
        (0, "RESULT mesh: PASS", Result(True, "RESULT mesh: PASS")),
        (0, PASSED + "destroying the group\n", Result(True, "RESULT ring: PASS (480 checks)")),
        (1, FAILED, Result(False, "RESULT ring: FAIL 3 of 480 (exit status 1)")),
        (0, FAILED, Result(False, "RESULT ring: FAIL 3 of 480")),
        (1, PASSED, Result(False, "RESULT ring: PASS (480 checks) (exit status 1)")),
        (0, PASSED + FAILED, Result(False, "RESULT ring: FAIL 3 of 480")),
        (3, "", Result(False, "its watchdog ended it after 120 s: a neighbour did not answer")),
        (3, PASSED, Result(False, "its watchdog ended it after 120 s: a neighbour did not answer")),
        (0, "RESULT ring: PASSED", Result(False, "RESULT ring: PASSED")),
        (
            0,
            "starting\nsaid RESULT ring: PASS\n",
            Result(False, "it ended with 0 and without a line RESULT; the last it said: said RESULT ring: PASS"),
        ),
        (-1, " \n", Result(False, "it ended with -1 and without a line RESULT; the last it said: nothing")),
        (
            1,
            "a\nModuleNotFoundError: arx\n",
            Result(False, "it ended with 1 and without a line RESULT; the last it said: ModuleNotFoundError: arx"),
        ),
    ],
)
def test_what_it_says(rc: int, stdout: str, expected: Result) -> None:
    assert read(rc, stdout) == expected


@given(st.integers(-1, 5), st.lists(st.sampled_from(["RESULT ring: PASS", "RESULT ring: FAIL 1", "noise", ""])))
def test_a_pass_needs_both(rc: int, lines: list[str]) -> None:
    results = [line for line in lines if line.startswith("RESULT")]
    assert read(rc, "\n".join(lines)).passed is (rc == 0 and results[-1:] == ["RESULT ring: PASS"])
