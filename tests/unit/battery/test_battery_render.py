# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The papers: whole, escaped whatever a broken answer holds, self-contained, and the same verdict in all of them."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from battery.model import Finding, Proof, Result
from battery.outcome import Measure
from battery.render import chart, html, junit, markdown, words
from battery.render.report import Report
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.battery import sample_page as sample

VOID = {"meta", "link", "br", "hr", "img", "input"}
HOSTILE = "<script>alert(1)</script>\"'&<img src=x onerror=y>]]>\x00\x1b[31m\ud83d\u202e\uff5c`|\n# @everyone"


class Page(HTMLParser):
    """What is in a page; raises where tags do not close each other."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text += data

    def values(self, name: str) -> list[str]:
        return [value for _tag, attributes in self.tags if (value := attributes.get(name))]


def hostile() -> Report:
    result = Result(
        HOSTILE, "failed", HOSTILE, (Finding(HOSTILE, HOSTILE, HOSTILE),), (Proof(HOSTILE, 1, 2),), {HOSTILE: 1}
    )
    return sample.report(
        sample.run(
            recipe=HOSTILE,
            salt=HOSTILE,
            results=(result, replace(result, verdict="not exercised"), replace(result, verdict="unknown")),
            measures=(Measure(HOSTILE, HOSTILE, (1.0,), HOSTILE), Measure(HOSTILE, HOSTILE, (), HOSTILE)),
            fingerprint={HOSTILE: HOSTILE},
            server={HOSTILE: HOSTILE},
        )
    )


def all_reports() -> list[Report]:
    empty = sample.run(results=(), measures=(), fingerprint={}, server={}, state="aborted")
    return [sample.report(), hostile(), sample.report(empty, None), sample.report(gate=True)]


@pytest.mark.parametrize("number", range(4))
def test_the_page_is_whole_and_needs_nothing_else(number: int) -> None:
    text = html.render(all_reports()[number])
    page = Page(text)
    tags = {tag for tag, _attributes in page.tags}
    assert not tags & {"script", "img", "link", "iframe", "object", "base", "form"}
    assert [name for _tag, attributes in page.tags for name in attributes if name.startswith("on")] == []
    assert [href for href in page.values("href") if not href.startswith("#")] == []
    assert page.values("src") == []
    assert re.findall(r"url\(|@import|https?:", text[: text.index("</style>")]) == []
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    meant = [name for value in page.values("aria-labelledby") for name in value.split()]
    assert {*meant, *(href[1:] for href in page.values("href"))} <= set(ids)


def test_the_page_says_who_it_is_and_reads_on_a_telephone() -> None:
    page = Page(html.render(sample.report()))
    assert ("html", {"lang": "en"}) in page.tags
    assert any(attributes.get("name") == "viewport" for tag, attributes in page.tags if tag == "meta")
    assert [tag for tag, _attributes in page.tags].count("h1") == 1
    levels = [int(tag[1]) for tag, _attributes in page.tags if re.fullmatch(r"h\d", tag)]
    assert all(after - before <= 1 for before, after in pairwise(levels))
    tables = [number for number, (tag, _attributes) in enumerate(page.tags) if tag == "table"]
    around = [page.tags[number - 1][1] for number in tables]
    assert [(each["role"], each["tabindex"], (each["class"] or "").split()[0]) for each in around] == [
        ("region", "0", "scroll")
    ] * 2


def test_the_page_says_all_that_a_reader_asks() -> None:
    text = Page(html.render(sample.report())).text
    for said in (
        "Failed",
        "1 guard of 8 failed: Concurrent prefill, KV read back.",
        "1 December 2026, 09:30 UTC",
        "45 min 32 s",
        "1 entry differs from that of the accepted run 20261124T081500Z-full",
        "0.27.1+fixes.2",
        "requests running at once: 8, needed 3",
        "seconds of overlap: 0, needed 1, not met",
        "ORCHID-4471",
        "… and 2 findings more in result.json",
        "177.9 to 180.2",
        "not measured: no time was left",
        "90.65 tokens/s is 68 % of the 132.7 that the recipe expects",
        "Turn 2, TTFT",
    ):
        assert said in text, said


def test_what_needs_a_look_comes_first() -> None:
    text = html.render(sample.report())
    order = re.findall(r'<article class="card ([a-z-]+)', text)
    assert order == ["failed", "unknown", "not-exercised", "passed", "passed", "passed", "passed", "not-asked"]


def test_a_verdict_is_a_word_and_not_only_a_colour() -> None:
    for kind, inner in re.findall(
        r'<article class="card ([a-z-]+).*?<span class="pill">(.*?)</span></header>',
        html.render(sample.report()),
        re.DOTALL,
    ):
        assert inner.endswith(kind.replace("-", " "))


def test_each_chart_says_in_words_what_it_shows() -> None:
    page = html.render(sample.report())
    charts = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(charts) == 7 + 6
    for each in charts:
        root = ET.fromstring(each)  # noqa: S314 (it was made here)
        assert [child.tag for child in root][:2] == ["title", "desc"]
        assert root.get("aria-labelledby") == f"{root[0].get('id')} {root[1].get('id')}"
        assert root[0].text
        assert re.search(r"\d", root[1].text or "")


VALUE = st.floats(0, 1e9)


@given(st.lists(VALUE, min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_charts_stay_in_their_box(values: list[float]) -> None:
    drawn = chart.bars("a", "t", "w", [chart.Bar("x", "run", value, value / 2, value) for value in values])
    drawn += chart.trend("b", "t", "w", [chart.Point("1 Dec", value, True, False) for value in values])
    for name, most in (("width", 268 - 66), ("cx", 340), ("cy", 114)):
        assert all(0 <= float(seen) <= most for seen in re.findall(rf' {name}="([^"]+)"', drawn))
    longest = max(values)
    widths = [float(seen) for seen in re.findall(r' width="([^"]+)"', drawn)]
    if longest > 0:
        assert max(widths) == pytest.approx(268 - 66, abs=0.1)


@pytest.mark.parametrize("count", [1, 2, 9])
def test_history_is_of_more_than_one_run(count: int) -> None:
    report = sample.report()
    shown = Page(html.render(replace(report, history=report.history[-count:])))
    assert ("history" in shown.values("id")) == (count > 1)


@given(st.text(st.characters(codec=None)))
@settings(max_examples=100, deadline=None)
def test_whatever_comes_is_made_visible(text: str) -> None:
    seen = words.visible(text)
    seen.encode()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ufffe\uffff]", seen)
    ET.fromstring(junit.render(sample.report(sample.run(recipe=text, salt=text))))  # noqa: S314 (made here)


def test_hostile_text_acts_in_no_paper() -> None:
    page = html.render(hostile())
    assert "<script" not in page
    assert "<img" not in page
    assert "\\ud83d\\u202e" in page
    root = ET.fromstring(junit.render(hostile()))  # noqa: S314 (made here)
    failure = root.find(".//failure")
    assert failure is not None
    assert "<script>alert(1)</script>" in str(failure.get("message"))
    outside = re.sub(r"(?ms)^(`{3,})text\n.*?^\1$", "", markdown.render(hostile()))
    for bad in ("<script", "<img", "@everyone", "\n# @"):
        assert not re.search(rf"(?<!\\){re.escape(bad)}", outside), bad


def test_a_fence_is_longer_than_what_it_holds() -> None:
    lines = markdown.fenced("```\n````python")
    assert (lines[0], lines[-1]) == ("`````text", "`````")


def junit_of(*results: Result, **changes: Any) -> ET.Element:
    report = sample.report(sample.run(results=results, measures=(), state="passed"), None)
    return ET.fromstring(junit.render(replace(report, **changes)))[0]  # noqa: S314 (made here)


@pytest.mark.parametrize(
    ("verdict", "element", "words_of_it"),
    [
        ("passed", None, ""),
        ("failed", "failure", "3 wrong"),
        ("unknown", "error", "3 wrong"),
        ("not exercised", "skipped", "not exercised: 3 wrong (seconds of overlap: 0, needed 1)"),
        ("not asked", "skipped", "not asked: 3 wrong"),
    ],
)
def test_a_guard_is_a_test_case(verdict: Any, element: str | None, words_of_it: str) -> None:
    proofs = (Proof("seconds of overlap", 0, 1), Proof("runs", 3, 3)) if verdict == "not exercised" else ()
    findings = (Finding("soft", "alone", "-0.74"),) * 21 if verdict == "failed" else ()
    suite = junit_of(Result("margin", verdict, "3 wrong", findings, proofs, seconds=1.5))
    case = suite.find("testcase[@name='margin']")
    assert case is not None
    assert (case.get("classname"), case.get("time")) == ("battery.glm-5.3-flash-nvfp4", "1.500")
    assert [child.tag for child in case] == ([element] if element else [])
    if element:
        assert case[0].get("message") == words_of_it
    if findings:
        assert str(case[0].text).startswith("alone: soft\n-0.74")
        assert str(case[0].text).endswith("and 1 more in result.json")


def test_junit_counts_are_right_and_measures_are_properties() -> None:
    suite = ET.fromstring(junit.render(sample.report(gate=True)))[0]  # noqa: S314 (made here)
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "9", "failures": "2", "errors": "1", "skipped": "2"}
    values = {each.get("name"): each.get("value") for each in suite.iter("property")}
    assert values["measure.kv_tokens.median"] == "4241096"
    assert (values["measure.turn1_ttft_seconds.median"], values["verdict"]) == ("4.13", "failed")
    assert suite.find("testcase[@name='speed']/failure") is not None


def test_a_run_without_an_end_is_an_error_in_junit() -> None:
    suite = junit_of(Result("count", "passed", ""), verdict="incomplete", sentence="It was told to stop.")
    error = suite.find("testcase[@name='end of the run']/error")
    assert error is not None
    assert error.get("message") == "It was told to stop."
    assert junit_of(Result("count", "passed", "")).find("testcase[@name='end of the run']") is None


def test_markdown_has_the_verdict_the_guards_and_the_figures() -> None:
    text = markdown.render(sample.report())
    for said in (
        "# ❌ glm-5.3-flash-nvfp4: failed",
        "- vllm: 0.27.1+fixes.2 → 0.27.1+fixes.3",
        "| Tool calls | ❓ unknown | ",
        "(seconds of overlap: 0, needed 1)",
        "… and 17 more in result.json",
        "| Code, decode | tokens/s | 90.65 | 88.1 to 92.4 | 4 | 126.6 | 72 % | 132.7 | 68 % |",
        "| Turn 2, TTFT (less is better) | s | 1.02 |",
    ):
        assert said in text, said
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) in (3, 5, 10) for row in rows)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "—"),
        (float("nan"), "—"),
        (float("inf"), "∞"),
        (0.0, "0"),
        (-0.74, "\N{MINUS SIGN}0.74"),
        (90.6512, "90.65"),
        (4_241_096, "4,241,096"),
        (0.00001, "1e-05"),
    ],
)
def test_figures(value: float | None, text: str) -> None:
    assert words.figure(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(-1, "0.0 s"), (7.44, "7.4 s"), (59.4, "59 s"), (60, "1 min 0 s"), (7265, "2 h 1 min")]
)
def test_durations(seconds: float, text: str) -> None:
    assert words.duration(seconds) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("code_tokens_per_second", "Code, decode"),
        ("outside_vllm_bench_output_tokens_per_second", "Outside vllm bench output"),
        ("x_seconds", "X"),
        ("", ""),
    ],
)
def test_measures_by_name(name: str, text: str) -> None:
    assert words.measure(name) == text


def test_every_guard_has_a_name_in_words() -> None:
    from battery.guard import GUARDS  # noqa: PLC0415 (the guards are another's part)

    assert {name for name, _judge in GUARDS} <= words.GUARDS.keys()


def test_long_evidence_is_cut_and_says_so() -> None:
    assert words.clipped("x" * 2100).endswith("x\n… 100 more characters are in result.json")


def test_the_sample_is_written_on_request(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[3]
    path = tmp_path / "page.html"
    subprocess.run([sys.executable, "-m", "tests.unit.battery.sample_page", str(path)], check=True, cwd=root)
    assert Page(path.read_text()).text
