# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a run: one file that needs nothing else. Everything that a server said is escaped."""

from __future__ import annotations

from html import escape

from battery.status import moment

from . import html_guards, html_speed
from .report import Report
from .style import CSS
from .words import counted, duration, one_line, when

# Two things keep a hostile answer from acting: it is escaped, and the page may load and run nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
SERVER = {"url": "Server", "model": "Model", "unit": "Unit"}
MARKS = {"passed": "✓", "failed": "✕", "incomplete": "?", "not exercised": "!"}


def render(report: Report) -> str:
    run = report.run
    title = f"{one_line(run.recipe)}: {report.verdict}, {run.level}, {when(run.began_wall)}"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{CSS}</style>
</head>
<body>
<main>
{_head(report)}
{_fingerprint(report)}
{html_guards.section(run.results)}
{html_speed.section(report)}
{html_speed.history(report)}
<footer>Run {escape(run.id)}. Times are UTC.
The same as data: result.json, junit.xml and report.md beside this page.</footer>
</main>
</body>
</html>
"""


def _head(report: Report) -> str:
    run = report.run
    facts = {
        "When": f'<time datetime="{moment(run.began_wall)}">{when(run.began_wall)}</time>',
        "How long": duration(run.ended_wall - run.began_wall),
        "Level": escape(run.level),
        **{SERVER.get(name, name): escape(one_line(value)) for name, value in run.server.items()},
        "Salt": escape(one_line(run.salt)),
        "Journals": "not read yet" if report.closed_wall is None else f"read {when(report.closed_wall)}",
    }
    cells = "".join(f"<div><dt>{escape(name)}</dt><dd>{value}</dd></div>" for name, value in facts.items())
    mark = f'<span aria-hidden="true">{MARKS[report.verdict]} </span>'
    return f"""<header>
<p class="eyebrow">Battery of switchless.spark</p>
<h1>{escape(one_line(run.recipe))}</h1>
<div class="verdict {kind(report.verdict)}"><strong>{mark}{report.verdict.capitalize()}</strong>
<p>{escape(one_line(report.sentence))}</p></div>
<dl class="facts">{cells}</dl>
</header>"""


def _fingerprint(report: Report) -> str:
    base, new = report.baseline, report.run.fingerprint
    old = base.fingerprint if base else {}
    if base is None:
        words = "No run was accepted before this one."
        if report.verdict == "passed":
            words += " The next ones are compared with the first that passes."
    else:
        some = f"{counted(len(report.differs), 'entry differs', 'entries differ')} from that of"
        words = "It is the same as that of" if not report.differs else some
        words += f" the accepted run {base.id} ({base.level}, accepted {when(base.accepted_wall)})."
    if not new and not old:
        return f"<h2>Fingerprint</h2><p>{escape(words)}</p>"
    head = '<th scope="col">What</th><th scope="col">This run</th>' + (
        '<th scope="col">Accepted run</th>' if base else ""
    )
    rows = []
    for name in sorted(new.keys() | old.keys()):
        seen, before = new.get(name, "not there"), old.get(name, "not there")
        mark = ' <span class="pill slow">changed</span>' if base and seen != before else ""
        cells = f"<td>{escape(one_line(seen))}{mark}</td>" + (f"<td>{escape(one_line(before))}</td>" if base else "")
        rows.append(f'<tr><th scope="row">{escape(one_line(name))}</th>{cells}</tr>')
    return f"""<section aria-labelledby="fingerprint">
<h2 id="fingerprint">Fingerprint</h2>
<p>{escape(words)}</p>
<div class="scroll names" role="region" aria-labelledby="fingerprint" tabindex="0"><table>
<thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>
</section>"""


def kind(verdict: str) -> str:
    """The class of a verdict."""
    return verdict.replace(" ", "-")
