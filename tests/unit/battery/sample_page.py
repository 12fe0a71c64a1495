# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A report with every verdict, to be looked at in a browser: python -m tests.unit.battery.sample_page FILE

The figures are the first article's, the findings are of the kinds that the second describes.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.unit.battery.conftest import FILES

# isort: split
from battery.model import Finding, Proof, Result
from battery.outcome import Measure, Run
from battery.record.keeping import reported
from battery.render import html
from battery.render.report import Baseline, Past, Report

assert FILES in sys.path  # that import is what makes the battery importable
BEGAN = 1_796_117_400.0
DAY = 86_400.0
EXPECTED: dict[str, float | None] = {
    "count_tokens_per_second": 179.0,
    "code_tokens_per_second": 132.7,
    "prose_en_tokens_per_second": 69.5,
    "prefill_tokens_per_second": 4499.0,
    "turn1_ttft_seconds": 4.13,
    "turn2_ttft_seconds": 0.80,
    "needle_seconds": 316.4,
    "prefill_tokens": 21_900,
}
MEASURES = (
    Measure("count_tokens_per_second", "tokens/s", (177.9, 180.2, 178.4, 179.9)),
    Measure("code_tokens_per_second", "tokens/s", (88.1, 92.4, 90.3, 91.0)),
    Measure("prose_en_tokens_per_second", "tokens/s", (68.6, 70.3)),
    Measure("prefill_tokens_per_second", "tokens/s", (4499.0,), "21,904 tokens, none of them cached"),
    Measure("turn1_ttft_seconds", "s", (4.13, 4.20, 4.08)),
    Measure("turn2_ttft_seconds", "s", (1.02, 1.10, 0.99)),
    Measure("needle_seconds", "s", (), "no time was left; give the level more than 7200 seconds"),
    Measure("kv_tokens", "tokens", (4_241_096,)),
)
BLOCK = "asked: document 5, block 17\nexpected: ORCHID-4471\nseen:     the letter after that is <|DSML|tool_calls> 한"
RESULTS = (
    Result("count", "passed", "3 of 3 exact, to 100", (), (Proof("answers", 3, 3),), {"acceptance": 0.91}, 7.4),
    Result(
        "corruption",
        "passed",
        "no foreign script, burst, loop or markup in 24 answers",
        (),
        (Proof("tokens read", 9_812, 4_000),),
        {"answers": 24},
        96.2,
    ),
    Result("tools", "unknown", "/v1/chat/completions: nothing came for 900 s; look at journalctl", seconds=900.4),
    Result(
        "concurrent_prefill",
        "failed",
        "22 of 448 blocks read back wrong, 21 of them again when asked later",
        tuple(
            Finding("the fact of another document" if number % 3 else "nothing", f"document 5, block {number}", BLOCK)
            for number in range(4, 26)
        ),
        (Proof("requests running at once", 8, 3), Proof("overlapping first tokens", 7, 3)),
        {"reads": 448, "wrong": 22, "sticky": 21},
        412.8,
    ),
    Result(
        "margin",
        "not exercised",
        "alone -0.000, with a neighbour never seen together",
        (),
        (Proof("seconds of overlap", 0, 1), Proof("probes alone", 3, 3)),
        {"margin_alone": -0.0002},
        31.0,
    ),
    Result("needles", "passed", "6 of 6 found, at 44,000, 300,000 and 620,000 tokens", (), (), {"needles": 6}, 1180.0),
    Result("pictures", "not asked", "the model has neither images nor video"),
    Result("smoke", "passed", "8 of 8", (), (Proof("cases", 8, 8),), {}, 40.3),
)
FINGERPRINT = {"vllm": "0.27.1+fixes.3", "cuda": "13.3", "driver": "590.48.01", "nccl": "2.30.7", "recipe": "b41f9c2e"}
BASELINE = Baseline(
    "20261124T081500Z-full",
    "full",
    BEGAN - 6 * DAY,
    FINGERPRINT | {"vllm": "0.27.1+fixes.2"},
    {"count_tokens_per_second": 179.1, "code_tokens_per_second": 126.6, "prose_en_tokens_per_second": 69.0}
    | {"turn1_ttft_seconds": 4.2, "turn2_ttft_seconds": 0.8, "kv_tokens": 4_238_000},
)


def run(**changes: object) -> Run:
    values: dict[str, object] = {
        "id": "20261201T085000Z-full",
        "level": "full",
        "recipe": "glm-5.3-flash-nvfp4",
        "salt": "a91c40de",
        "began_wall": BEGAN,
        "ended_wall": BEGAN + 2_731.5,
        "state": "failed",
        "results": RESULTS,
        "measures": MEASURES,
        "fingerprint": FINGERPRINT,
        "tolerance": 0.1,
        "expected": EXPECTED,
        "counters_before": None,
        "counters_after": None,
        "server": {
            "url": "http://10.77.0.11:8000",
            "model": "glm-5.3-flash",
            "unit": "vllm@glm-5.3-flash-nvfp4.service",
        },
    }
    return Run(**values | changes)  # type: ignore[arg-type]


def report(of: Run | None = None, baseline: Baseline | None = BASELINE, gate: bool = False) -> Report:
    others = [
        Past(
            f"run{number}",
            "full" if number % 3 == 0 else "quick",
            "passed",
            BEGAN - (9 - number) * DAY,
            {name: value * (1 + 0.02 * ((number * 7) % 5 - 2)) for name, value in BASELINE.medians.items()},
        )
        for number in range(9)
    ]
    return reported(of or run(), baseline, gate, others)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(html.render(report()), encoding="utf-8")
