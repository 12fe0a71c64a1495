# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report in short, to be put into an issue as it is. GitHub's Markdown."""

from __future__ import annotations

import re

from battery.model import Result

from .report import Report, Row
from .words import (
    clipped,
    counted,
    duration,
    figure,
    guard,
    heading,
    less_is_better,
    measure,
    one_line,
    part,
    proof,
    spread,
    when,
)

MARKS = {"passed": "✅", "failed": "❌", "unknown": "❓", "not exercised": "⚠️", "not asked": "⚪", "incomplete": "❓"}
MOST_FINDINGS = 5  # an issue is read by people; the rest is in the other papers
SPECIAL = re.compile(r"([\\`*_\[\]<>|#~&@$])")


def render(report: Report) -> str:
    parts = [*_head(report), *_guards(report), *_findings(report), *_speed(report), *_fingerprint(report)]
    return "\n".join(parts) + "\n"


def plain(text: str) -> str:
    """One line without meaning to Markdown: no markup, no mention of anybody, no cell of a table."""
    return SPECIAL.sub(lambda seen: "&#64;" if seen[0] == "@" else f"\\{seen[0]}", one_line(text))


def fenced(text: str) -> list[str]:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", text, fence]


def _head(report: Report) -> list[str]:
    run = report.run
    facts = [f"level {run.level}", when(run.began_wall), duration(run.ended_wall - run.began_wall), f"run `{run.id}`"]
    lines = [
        f"# {MARKS[report.verdict]} {plain(run.recipe)}: {report.verdict}",
        "",
        plain(report.sentence),
        "",
        ", ".join(facts),
        "",
    ]
    base = report.baseline
    if base is None:
        return [*lines, "No run was accepted before this one.", ""]
    against = f"Compared with the accepted run `{base.id}` ({base.level})"
    same = "the fingerprint is the same" if not report.differs else "the fingerprint differs:"
    return [*lines, f"{against}; {same}", *(f"- {plain(each)}" for each in report.differs), ""]


def _guards(report: Report) -> list[str]:
    if not report.run.results:
        return ["No guard was asked.", ""]
    return [
        "## Guards",
        "",
        "| guard | verdict | what it says | time |",
        "|---|---|---|---|",
        *(_guard(result) for result in report.run.results),
        "",
    ]


def _guard(result: Result) -> str:
    proofs = "; ".join(proof(each) for each in result.proofs if not each.met)
    words = result.summary + (f" ({proofs})" if proofs else "")
    verdict = f"{MARKS[result.verdict]} {result.verdict}"
    time = duration(result.seconds) if result.seconds else ""
    return f"| {plain(guard(result.guard))} | {verdict} | {plain(words)} | {time} |"


def _findings(report: Report) -> list[str]:
    lines = []
    for result in report.run.results:
        if not result.findings:
            continue
        lines += [f"### {plain(guard(result.guard))}: {counted(len(result.findings), 'finding')}", ""]
        for finding in result.findings[:MOST_FINDINGS]:
            lines += [plain(heading(finding)), "", *fenced(clipped(finding.evidence)), ""]
        rest = len(result.findings) - MOST_FINDINGS
        lines += [f"… and {rest} more in result.json", ""] if rest > 0 else []
    return lines


def _speed(report: Report) -> list[str]:
    if not report.rows:
        return []
    return [
        "## Speed",
        "",
        "| measure | unit | median | spread | n | accepted | of it | expected | of it |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|",
        *(_row(row) for row in report.rows),
        "",
        *(f"- {'❌' if report.gate else '⚠️'} {plain(words)}" for words in report.warnings),
        *([""] if report.warnings else []),
    ]


def _row(row: Row) -> str:
    name = measure(row.measure.name) + (" (less is better)" if less_is_better(row.measure.name) else "")
    values = row.measure.values
    cells = [plain(name), plain(row.measure.unit)]
    cells += [figure(row.median), spread(values), str(len(values))]
    cells += [figure(row.accepted), part(row.accepted_ratio), figure(row.expected), part(row.expected_ratio)]
    if not values:
        cells[2] = plain(f"not measured: {row.measure.note}")
    return f"| {' | '.join(cells)} |"


def _fingerprint(report: Report) -> list[str]:
    lines = [f"| {plain(name)} | {plain(value)} |" for name, value in sorted(report.run.fingerprint.items())]
    return ["## Fingerprint", "", "| what | this run |", "|---|---|", *lines] if lines else []
