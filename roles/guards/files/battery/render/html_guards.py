# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guards on the page: what needs a look comes first, and takes the whole width."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from battery.model import Finding, Proof, Result

from .words import MOST_FINDINGS, clipped, counted, duration, figure, guard, heading, one_line, proof

MARKS = {"passed": "✓", "failed": "✕", "unknown": "?", "not exercised": "!", "not asked": "○"}
OPEN_FINDINGS = 5  # the others are folded away: a telephone shows a handful at a time
ORDER = ("failed", "unknown", "not exercised", "passed", "not asked")
MEANING = {
    "unknown": "The server or its journals could not be asked.",
    "not exercised": "It ran, and what its fault needs was not there: this is not a pass.",
    "not asked": "The recipe leaves it out.",
}


def section(results: Sequence[Result]) -> str:
    if not results:
        return '<h2 id="guards">Guards</h2><p>No guard was asked.</p>'
    numbered = sorted(enumerate(results), key=lambda each: ORDER.index(each[1].verdict))
    strip = "".join(f"<li>{_link(number, result)}</li>" for number, result in enumerate(results))
    cards = "\n".join(_card(number, result) for number, result in numbered)
    count = ", ".join(
        f"{sum(result.verdict == verdict for result in results)} {verdict}"
        for verdict in ORDER
        if any(result.verdict == verdict for result in results)
    )
    return f"""<section aria-labelledby="guards">
<h2 id="guards">Guards <span class="soft">{count}</span></h2>
<ul class="strip" aria-label="All guards, in the order in which they ran">{strip}</ul>
<div class="cards">
{cards}
</div>
</section>"""


def _link(number: int, result: Result) -> str:
    name = escape(guard(result.guard))
    words = f'{_mark(result)}{name}<span class="hidden">: {result.verdict}</span>'
    return f'<a class="pill {_kind(result)}" href="#guard-{number}">{words}</a>'


def _card(number: int, result: Result) -> str:
    wide = " wide" if result.verdict in ORDER[:3] else ""
    summary = one_line(result.summary) or MEANING.get(result.verdict, "")
    time = f'<span class="soft">{duration(result.seconds)}</span>' if result.seconds else ""
    return f"""<article class="card {_kind(result)}{wide}" id="guard-{number}">
<header><h3>{escape(guard(result.guard))}</h3>{time}
<span class="pill">{_mark(result)}{result.verdict}</span></header>
<p>{escape(summary)}</p>{_proofs(result.proofs)}{_findings(result.findings)}{_figures(result)}
</article>"""


def _proofs(proofs: Sequence[Proof]) -> str:
    if not proofs:
        return ""
    rows = "".join(
        f'<li><b aria-hidden="true">{"✓" if each.met else "✕"}</b>{escape(proof(each))}'
        f"{'' if each.met else ', not met'}</li>"
        for each in proofs
    )
    return f'<ul class="proofs" aria-label="What it needs to see its fault">{rows}</ul>'


def _findings(findings: Sequence[Finding]) -> str:
    if not findings:
        return ""
    items = [
        f'<li><p>{escape(heading(each))}</p><pre tabindex="0">{escape(clipped(each.evidence))}</pre></li>'
        for each in findings[:MOST_FINDINGS]
    ]
    shown = _numbered(items[:OPEN_FINDINGS], 0)
    if items[OPEN_FINDINGS:]:
        rest = _numbered(items[OPEN_FINDINGS:], OPEN_FINDINGS)
        shown += f"<details><summary>{len(items) - OPEN_FINDINGS} more</summary>{rest}</details>"
    left = len(findings) - len(items)
    return shown + (f'<p class="soft">… and {counted(left, "finding")} more in result.json</p>' if left else "")


def _numbered(items: Sequence[str], after: int) -> str:
    return f'<ol class="findings" style="counter-reset: finding {after}">{"".join(items)}</ol>'


def _figures(result: Result) -> str:
    if not result.figures:
        return ""
    rows = "".join(
        f"<li>{escape(one_line(name).replace('_', ' '))} <b>{figure(value)}</b></li>"
        for name, value in result.figures.items()
    )
    return f'<ul class="figures" aria-label="Figures">{rows}</ul>'


def _mark(result: Result) -> str:
    return f'<span aria-hidden="true">{MARKS[result.verdict]} </span>'


def _kind(result: Result) -> str:
    return result.verdict.replace(" ", "-")
