# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cases of the judges of figures, calls and expected answers, by the ids of the list of quality cases."""

from __future__ import annotations

from dataclasses import dataclass

from battery.judge.acceptance import Acceptance
from battery.model import Answer, Call, Score

from tests.unit.battery.judge_case import Fault


@dataclass(frozen=True)
class Recalled:
    id: str
    fault: Fault
    answer: str
    expected: str
    verdict: str


@dataclass(frozen=True)
class Called:
    """`said` is in what is found, empty when nothing is."""

    id: str
    fault: Fault
    answer: Answer
    arguments: dict[str, object]
    said: str


@dataclass(frozen=True)
class Counted:
    id: str
    fault: Fault
    texts: tuple[str, ...]
    to: int


@dataclass(frozen=True)
class Scored:
    id: str
    fault: Fault
    scores: tuple[Score, ...]
    margin: float | None
    frozen: bool


@dataclass(frozen=True)
class Same:
    id: str
    fault: Fault
    answers: tuple[str, ...]
    distinct: int


@dataclass(frozen=True)
class Accepted:
    """A line of the log, or what a table or a description says; `collapsed` when it is a hard sign."""

    id: str
    fault: Fault
    seen: str | Acceptance
    collapsed: bool


def call(arguments: str, finish_reason: str = "tool_calls") -> Answer:
    return Answer("", calls=(Call("write", arguments),), finish_reason=finish_reason)


def scores(*values: float, alternatives: bool = True) -> tuple[Score, ...]:
    return tuple(Score(f"t{place}", value, (("other", -9.0),) * alternatives) for place, value in enumerate(values))


def drafts(count: int, *positions: float) -> Acceptance:
    return Acceptance(count, count * len(positions), count * sum(positions), positions)


RECALLS = (
    Recalled("Q17", "corrupt", "새 캐페인을 시작합니다", "캠페인", "wrong"),  # only because the word is known
    Recalled("Q28", "corrupt", "PROVOCATIVE-8411", "PROVOCATIVE-8417", "wrong"),
    Recalled("Q29", "corrupt", "27", "TICKET-4821", "wrong"),
    Recalled("Q30", "unknown", "lockhandlehandle...", "R20-COLLISION-PASS-7345", "wrong"),
    Recalled("Q33", "corrupt", "1 of the quays", "2", "wrong"),
    Recalled("Q34", "corrupt", "(-1,0)/(0,-1) (-1,0)/(0,-1) (-1,0)/(0,-1)", "B", "wrong"),
)
CALLS = (
    Called(
        "Q48",
        "harness",
        call('{"path": "README.md", "content": "# Title\\n\\nbody text that stops mid-sen', "length"),
        {"path": "README.md", "content": "# Title"},
        "raise max_tokens",
    ),
    Called(
        "Q49",
        "harness",
        call('{"path": "a.md", "content": "# table\\n| --- | --- | --- |'),
        {"path": "a.md", "content": "# table\n| --- |"},
        "not JSON",
    ),
    Called("Q50", "parser", call('{"path": "README.md"'), {"path": "README.md"}, "not JSON"),
    Called("N22", "clean", call("{}"), {}, ""),
)
LINE = ", ".join(map(str, range(1, 21)))
COUNTS = (
    Counted(
        "Q68",
        "clean",
        (
            ", in a single breath. You can do it!\nI'm not sure if I can do it, but I'll try. I'll start counting from "
            "1 and go up to 300\n" + ", ".join(map(str, range(1, 301))),
        ),
        300,
    ),
    Counted(
        "N10",
        "clean",
        (
            LINE,
            f"{LINE}.",
            LINE.replace(", ", "\n"),
            "\n".join(f"{number}." for number in range(1, 21)),
            "\n".join(f"{number}. {number}" for number in range(1, 21)),
            f"I count to 20 now:\n{LINE}",
        ),
        20,
    ),
)
SCORES = (
    Scored("Q52", "corrupt", scores(*[-0.6931471824645996] * 64), -0.6931471824645996, True),
    Scored(
        "Q54", "corrupt", scores(-0.74, -1.49, -0.9, -1.1, *[-0.01 * place for place in range(1, 20)]), -1.49, False
    ),
    Scored("Q56", "unknown", scores(0.0, -9999.0, 0.0, 0.0, *[0.0, -9999.0] * 10, alternatives=False), None, False),
    Scored("N25", "clean", scores(*[0.0, -0.0] * 32), 0.0, False),
)
SAME = (
    Same(
        "Q32",
        "corrupt",
        (
            "```python def quick_sort(arr): …",
            "The image provided is a **line drawing**",
            "To determine the number of ways to distri…",
            "```python def quick_sort(arr): …",
        ),
        3,
    ),
    Same(
        "Q53",
        "corrupt",
        # The second one reads as well as the first, which is composed.
        (
            "RDMA lets one machine read another's memory.",
            "The first step is to identify the key elements of the system.",
        ),
        2,
    ),
)
ACCEPTED = (
    Accepted(
        "L01",
        "clean",
        "(APIServer pid=1) INFO 05-21 21:14:46 [metrics.py:101] SpecDecoding metrics: Mean acceptance length: 3.36, "
        "Accepted throughput: 0.92 tokens/s, Drafted throughput: 1.16 tokens/s, Accepted: 156 tokens, Drafted: 198 "
        "tokens, Per-position acceptance rate: 0.924, 0.788, 0.652, Avg Draft acceptance rate: 78.8%",
        False,
    ),
    Accepted(
        "L02",
        "clean",
        "(APIServer pid=1) INFO 07-02 22:12:09 [metrics.py:120] SpecDecoding metrics: Mean acceptance length: 2.71, "
        "Accepted throughput: 15.90 tokens/s, Drafted throughput: 18.60 tokens/s, Accepted: 159 tokens, Drafted: 186 "
        "tokens, Per-position acceptance rate: 0.914, 0.796, Avg Draft acceptance rate: 85.5%",
        False,
    ),
    Accepted(
        "L04",
        "clean",
        "(APIServer pid=1) INFO 09-04 11:01:16 [metrics.py:125] SpecDecoding metrics: Mean acceptance length: 6.82, "
        "Current speculative depth: 7, Accepted throughput: 6.46 tokens/s, Drafted throughput: 7.77 tokens/s, "
        "Accepted: 256 tokens, Drafted: 308 tokens, Per-position acceptance rate: 1.000, 1.000, 1.000, 1.000, 0.795, "
        "0.614, 0.409, Avg Draft acceptance rate: 83.1%",
        False,
    ),
    Accepted(
        "L05",
        "clean",
        "INFO 08-17 03:06:10 [metrics.py:120] SpecDecoding metrics: Mean acceptance length: 1.93, Accepted throughput: "
        "0.35 tokens/s, Drafted throughput: 0.38 tokens/s, Accepted: 13 tokens, Drafted: 14 tokens, Per-position "
        "acceptance rate: 0.929, Avg Draft acceptance rate: 92.9%",
        False,
    ),
    Accepted(
        "L06",
        "clean",
        "(APIServer pid=95669) INFO 07-20 18:11:49 [metrics.py:101] SpecDecoding metrics: Mean acceptance length: "
        "2.87, Accepted throughput: 9.40 tokens/s, Drafted throughput: 15.10 tokens/s, Accepted: 282 tokens, Drafted: "
        "453 tokens, Per-position acceptance rate: 0.821, 0.609, 0.437, Avg Draft acceptance rate: 62.3%",
        False,
    ),
    Accepted(
        "L08",
        "clean",
        "(APIServer pid=79) INFO 08-05 12:25:13 [metrics.py:120] SpecDecoding metrics: Mean acceptance length: 2.93, "
        "Accepted throughput: 10.60 tokens/s, Drafted throughput: 38.50 tokens/s, Accepted: 106 tokens, Drafted: 385 "
        "tokens, Per-position acceptance rate: 0.691, 0.418, 0.382, 0.182, 0.127, 0.073, 0.055, Avg Draft acceptance "
        "rate: 27.5%",
        False,
    ),
    # The third window of its table, which is the worst one.
    Accepted("L09", "clean", drafts(2000, 0.680, 0.344, 0.141, 0.078, 0.047), False),
    Accepted("L10", "harness", drafts(2000, 0.36, 0.08, 0.02), False),  # composed: mean 1.46
    Accepted(
        "L12",
        "corrupt",
        "(APIServer pid=271) INFO 08-06 11:39:25 [metrics.py:101] SpecDecoding metrics: Mean acceptance length: 1.00, "
        "Accepted throughput: 0.00 tokens/s, Drafted throughput: 40.20 tokens/s, Accepted: 0 tokens, Drafted: 402 "
        "tokens, Per-position acceptance rate: 0.000, 0.000, 0.000, Avg Draft acceptance rate: 0.0%",
        True,
    ),
    Accepted(
        "L13",
        "corrupt",
        "(APIServer pid=1874323) INFO 06-16 19:28:25 [metrics.py:101] SpecDecoding metrics: Mean acceptance length: "
        "1.09, Accepted throughput: 5.70 tokens/s, Drafted throughput: 534.38 tokens/s, Accepted: 57 tokens, Drafted: "
        "5344 tokens, Per-position acceptance rate: 0.085, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000, Avg Draft "
        "acceptance rate: 1.1%",
        True,
    ),
    Accepted(
        "L14",
        "corrupt",
        "(APIServer pid=1393219) INFO 01-15 23:04:33 [metrics.py:100] SpecDecoding metrics: Mean acceptance length: "
        "1.00, Accepted throughput: 0.00 tokens/s, Drafted throughput: 146.39 tokens/s, Accepted: 0 tokens, Drafted: "
        "1464 tokens, Per-position acceptance rate: 0.000, 0.000, 0.000, Avg Draft acceptance rate: 0.0%",
        True,
    ),
    Accepted("L16", "harness", drafts(306, 0.0, 0.0), True),  # composed: a minute of it
    Accepted("L17", "unknown", drafts(1000, 0.024), True),  # composed: its repetitive text
    Accepted(
        "L18",
        "unknown",
        "SpecDecoding metrics: Mean acceptance length: 1.03, Accepted throughput: 0.57 tokens/s, Drafted throughput: "
        "18.50 tokens/s, Accepted: 23 tokens, Drafted: 740 tokens, Per-position acceptance rate: 0.031, Avg D[…]",
        True,
    ),
)

# Entries that no judge here can decide, and why.
UNDECIDED: dict[str, tuple[Fault, str]] = {
    "Q57": ("harness", "content is null: the stop string was met in the reasoning, there is no text to judge"),
    "Q62": ("harness", "words were lost by a client that cut the stream; judges get what was joined from parsed JSON"),
    "Q64": ("harness", "no sample is given; its cause, unlike builds on the nodes, is not in an answer"),
}
