# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The judges of figures, calls and expected answers, beyond the listed cases."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from battery.judge.acceptance import Acceptance, between, collapse, parsed
from battery.judge.calls import call_faults
from battery.judge.counting import counted
from battery.judge.recall import recall
from battery.judge.sameness import distinct
from battery.judge.scores import frozen, margin
from battery.model import Answer, Call, Counters
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.battery.judge_figures import drafts, scores

TEN = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "no 1 in it: seen no number, expected 1 to 10"),
        ("2, 3, 4", "no 1 in it: seen 2, 3, 4, expected 1 to 10"),
        ("1, 2, 3, 4, 5, 7, 8, 9, 10", "after 5 comes 7, expected 6"),
        ("1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10", "after 5 comes 5, expected 6"),
        ("1, 2, 3, 4, 6, 5, 7, 8, 9, 10", "after 4 comes 6, expected 5"),
        ("1, 2, 3, 4, 5, 6, 7", "it ends after 7, expected 10"),
        ("1, 2, 3, ..., 10", "after 3 comes 10, expected 4"),
        ("1 2 3 4 5 6 78 9 10", "after 6 comes 78, expected 7"),
        ("12345678910", "no 1 in it: seen 12345678910, expected 1 to 10"),
        (f"1, {TEN}", "after 1 comes 1, expected 2"),
        (f"{TEN}, 11", "after 10 comes 11, expected the end"),
        (f"{TEN}, 10", "after 10 comes 10, expected the end"),
        (f"{TEN}\n1, 2, 3", "after 10 comes 1, expected the end"),
        (f"{TEN}. Again: {TEN}", "after 10 it counts again, expected the end"),
        ("1, 2, 3, " + "4" * 5000, f"after 3 comes {'4' * 20}, expected 4"),
    ],
)
def test_a_wrong_count(text: str, wrong: str) -> None:
    assert counted(text, 10) == wrong


@given(
    to=st.integers(2, 120),
    separator=st.sampled_from([" ", ", ", "\n", " - ", ".\n", "; ", " … ", " and "]),
    before=st.sampled_from(["", "From 1 to 300:\n", "Sure, 100 times. ", "I count:\n"]),
    after=st.sampled_from(["", ".", "\n", "\nThat were all the numbers.", " Done, in 7000 ms."]),
    data=st.data(),
)
def test_a_count_is_right_until_a_number_is_changed(
    to: int, separator: str, before: str, after: str, data: st.DataObject
) -> None:
    numbers = [str(number) for number in range(1, to + 1)]
    assert counted(before + separator.join(numbers) + after, to) == ""
    place = data.draw(st.integers(1, to - 1))
    numbers[place] = data.draw(st.integers(1, 2 * to).filter(lambda other: other != place + 1).map(str))
    assert counted(before + separator.join(numbers) + after, to) != ""


ARGUMENTS: dict[str, object] = {"path": "/a", "deep": {"lines": [1, 2]}, "force": True}
GOOD = Call("write", '{"force":true,\n "deep": {"lines": [1,2]}, "path": "/a"}')


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer("", calls=(GOOD,), finish_reason="tool_calls"), []),
        (Answer("I write it now.", calls=(GOOD,), finish_reason="tool_calls"), []),
        (Answer("", calls=(GOOD, GOOD), finish_reason="tool_calls"), ["seen 2 calls, expected one of write"]),
        (
            Answer("", calls=(replace(GOOD, name="read"),), finish_reason="tool_calls"),
            ["seen 'read', expected 'write'"],
        ),
        (
            Answer(
                "", calls=(replace(GOOD, arguments=GOOD.arguments.replace("true", "1")),), finish_reason="tool_calls"
            ),
            ['seen {"deep": {"lines": [1, 2]}, "force": 1'],
        ),
        (Answer("", calls=(replace(GOOD, arguments="[]"),), finish_reason="tool_calls"), ["seen [], expected {"]),
        (Answer("", calls=(replace(GOOD, arguments=""),), finish_reason="tool_calls"), ["not JSON"]),
        (Answer("", calls=(replace(GOOD, arguments="[" * 100_000),), finish_reason="tool_calls"), ["not JSON"]),
        (Answer("", calls=(GOOD,), finish_reason="stop"), ["seen stop, expected tool_calls"]),
        (
            Answer('{"name": "write"}', finish_reason="stop"),
            ['seen 0 calls, expected one of write; content: \'{"name"', "seen stop"],
        ),
        (Answer("", calls=(GOOD,), finish_reason="length", completion_tokens=64), ["cut off after 64 tokens"]),
        (Answer("<\uff5cDSML\uff5cinvoke", calls=(GOOD,), finish_reason="tool_calls"), ["1 of <\uff5cD"]),
    ],
)
def test_calls(answer: Answer, said: list[str]) -> None:
    found = call_faults(answer, "write", ARGUMENTS, "call 1")
    assert len(found) == len(said)
    assert all(words in finding.evidence for words, finding in zip(said, found, strict=True)), found


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("The code is **PROVOCATIVE-8417**.", "right"),
        ("provocative\u20118417", "right"),
        ("Block 0017 says PROVOCATIVE-8417", "right"),
        (r"PROVOCATIVE\-8417", "right"),
        ("PROVOCATIVE-84170", "wrong"),
        ("PROVOCATIVE-8417-2", "wrong"),
        ("X-PROVOCATIVE-8417", "wrong"),
        ("PROVOCATIVE-841", "wrong"),
        ("PROVOCATIVE 8417", "wrong"),
        ("It is EVOCATIVE-1111.", "wrong"),
        ("I am not sure, it may be EVOCATIVE-1111.", "wrong"),
        ("It is PROVOCATIVE-8417 or DECISIVE-2046", "wrong"),
        ("The lamp is lit.", "wrong"),
        ("The document does not say it.", "missing"),
        ("There's none.", "missing"),
        (" \n", "missing"),
        ("...", "missing"),
    ],
)
def test_recall(answer: str, verdict: str) -> None:
    assert recall(answer, "PROVOCATIVE-8417", ["DECISIVE-2046", "PROVOCATIVE-8417"]) == verdict


@given(code=st.from_regex(r"[A-Z]{2,8}-[0-9]{4}", fullmatch=True), place=st.integers(0, 3), digit=st.integers(1, 9))
def test_one_digit_wrong_is_wrong(code: str, place: int, digit: int) -> None:
    at = len(code) - 4 + place
    other = f"{code[:at]}{(int(code[at]) + digit) % 10}{code[at + 1 :]}"
    assert recall(f"It is {code}.", code) == "right"
    assert recall(f"It is {other}.", code) == "wrong"


def test_a_number_is_not_a_part_of_another() -> None:
    assert recall("It is 8417.5", "8417") == "wrong"
    assert recall("It is 0.8417", "8417") == "wrong"
    assert recall("It is 8417.", "8417") == "right"


@pytest.mark.parametrize(
    ("values", "lowest"),
    [
        ((), None),
        ((-0.1,), -0.1),
        ((-0.1, -0.0, -0.3, -0.2, -5.0), -0.3),
        ((-0.1, math.nan), -math.inf),
        ((-0.1, -9999.0), None),
    ],
)
def test_margin(values: tuple[float, ...], lowest: float | None) -> None:
    assert margin(scores(*values)) == lowest


def test_margin_without_alternatives_is_not_measured() -> None:
    assert margin(scores(-0.1, alternatives=False)) is None
    assert margin(scores(-0.5, -0.1, -0.9), first=2) == -0.5


@pytest.mark.parametrize(
    ("values", "same"),
    [
        ([-0.5] * 15, False),
        ([-0.5] * 16, True),
        ([*[-0.5] * 16, -0.4], False),
        ([0.0] * 64, False),
        ([-0.0] * 64, False),
        ([math.nan] * 16, True),
        ([math.nan, *[-0.5] * 16], False),
        ([-9999.0] * 16, False),
    ],
)
def test_frozen(values: list[float], same: bool) -> None:
    assert frozen(scores(*values)) == same


ZERO = Counters(0, 0, 0, 0, 0, 0, 0, 0, drafts=0, draft_tokens=0, accepted_tokens=0, accepted_at=(0, 0))


def test_acceptance_between_two_looks() -> None:
    first = replace(ZERO, drafts=10, draft_tokens=20, accepted_tokens=9, accepted_at=(6, 3))
    last = replace(first, at=9, drafts=110, draft_tokens=220, accepted_tokens=159, accepted_at=(96, 63))
    seen = between(first, last)
    assert seen == Acceptance(100, 200, 150, (0.9, 0.6))
    assert (seen.rate, seen.mean_length) == (0.75, 2.5)
    assert between(last, first) is None, "the server restarted"
    assert between(first, replace(last, generated_tokens=-1)) is None
    assert between(replace(first, drafts=None), replace(last, drafts=None)) is None, "no speculative decoding"
    assert between(replace(first, accepted_at=()), last) == Acceptance(100, 200, 150, (0.96, 0.63))


def test_nothing_drafted_is_not_a_rate() -> None:
    seen = between(ZERO, ZERO)
    assert seen == Acceptance(0, 0, 0, ())
    assert math.isnan(seen.rate)
    assert math.isnan(seen.mean_length)
    assert collapse(seen, 0.1) == ""


@pytest.mark.parametrize(
    "line",
    [
        "",
        "INFO 09-04 11:01:16 [loggers.py:250] Engine 000: Avg prompt throughput: 0.0 tokens/s, Running: 1 reqs",
        "SpecDecoding metrics: Mean acceptance length: nan",
    ],
)
def test_other_lines_are_none(line: str) -> None:
    assert parsed(line) is None


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (drafts(100, 0.4, 0.0, 0.0, 0.0, 0.0), "by position 0.400, 0.000"),  # 8 %, as in the second article
        (drafts(99, 0.4, 0.0), ""),
        (drafts(100, 0.0), "0 of 100 drafted tokens accepted"),
        (drafts(14, 0.0, 0.0), ""),
        (drafts(1000, 0.4, 0.0, 0.001), ""),
        (drafts(199, 0.03), ""),
        (drafts(1000, 0.184), ""),
        (drafts(1000, 0.06), ""),
    ],
)
def test_only_a_dead_head_is_a_sign(seen: Acceptance, said: str) -> None:
    found = collapse(seen, 0.10)
    assert found.startswith(said)
    assert bool(found) == bool(said)


@given(st.lists(st.floats(0.001, 1), min_size=2, max_size=8), st.integers(0, 10**6))
def test_low_acceptance_alone_never_decides(rates: list[float], count: int) -> None:
    assert collapse(drafts(count, *rates), 1.0) == ""


def test_white_space_is_no_difference() -> None:
    assert distinct(["a  b\n", "a b", "\ta b"]) == 1
    assert distinct(["a b", "ab", "A b"]) == 3
    assert distinct([]) == 0
