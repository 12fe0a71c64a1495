# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The speed on the page: a table, a chart for each measure, and how the kept runs went."""

from __future__ import annotations

from html import escape

from .chart import Bar, Point, bars, trend
from .report import Report, Row
from .words import counted, day, figure, less_is_better, measure, one_line, part, spread

HEAD = ("Measure", "Median", "Spread", "n", "Accepted", "of it", "Expected", "of it")


def section(report: Report) -> str:
    if not report.rows:
        return ""
    head = "".join(
        f'<th scope="col"{" class=number" if number else ""}>{name}</th>' for number, name in enumerate(HEAD)
    )
    rows = "".join(_row(row) for row in report.rows)
    charts = "".join(_chart(number, row) for number, row in enumerate(report.rows) if row.measure.values)
    return f"""<section aria-labelledby="speed">
<h2 id="speed">Speed</h2>
{_warnings(report)}
<div class="scroll" role="region" aria-labelledby="speed" tabindex="0"><table>
<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>
<p class="soft">Accepted: the median of the run that was accepted before this one.
Expected: the recipe's figure, from the articles.</p>
<div class="charts">{charts}</div>
</section>"""


def history(report: Report) -> str:
    """Measures of which more than one kept run has a figure."""
    charts = []
    for number, row in enumerate(report.rows):
        name = row.measure.name
        runs = [past for past in report.history if name in past.medians]
        if len(runs) < 2:
            continue
        points = [
            Point(day(past.began_wall), past.medians[name], past.level == "full", past.id == report.run.id)
            for past in runs
        ]
        words = "; ".join(f"{point.when}: {figure(point.value)}" for point in points)
        svg = trend(f"history-{number}", f"{measure(name)}, {row.measure.unit}, run after run", words, points)
        charts.append(f"<figure>{_caption(row)}{svg}</figure>")
    if not charts:
        return ""
    return f"""<section aria-labelledby="history">
<h2 id="history">History</h2>
<p class="soft">Medians of the runs that are kept. Filled: a full run; hollow: a quick one; large: this run.
The height is the range that was seen, and does not begin at zero.</p>
<div class="charts">{"".join(charts)}</div>
</section>"""


def _warnings(report: Report) -> str:
    if not report.warnings:
        return ""
    kind, lead = ("failed", "Too slow, and speed is a gate") if report.gate else ("slow", "Slower than expected")
    rows = "".join(f"<li>{escape(one_line(words))}</li>" for words in report.warnings)
    return f'<div class="notes {kind}"><strong>{lead}</strong><ul>{rows}</ul></div>'


def _row(row: Row) -> str:
    note = one_line(row.measure.note)
    small = [one_line(row.measure.unit), *(["less is better"] if less_is_better(row.measure.name) else [])]
    small += [note] if note and row.measure.values else []
    mark = '<span class="pill slow">slow</span> '
    name = f'{escape(measure(row.measure.name))}<span class="unit">{escape(", ".join(small))}</span>'
    if not row.measure.values:
        seen = f'<td colspan="3">not measured: {escape(note)}</td>'
    else:
        cells = (figure(row.median), spread(row.measure.values), str(len(row.measure.values)))
        seen = "".join(f'<td class="number">{cell}</td>' for cell in cells)
    return (
        f'<tr><th scope="row">{name}</th>{seen}'
        f'<td class="number">{figure(row.accepted)}</td>'
        f'<td class="number">{mark if row.below_accepted else ""}{part(row.accepted_ratio)}</td>'
        f'<td class="number">{figure(row.expected)}</td>'
        f'<td class="number">{mark if row.below_expected else ""}{part(row.expected_ratio)}</td></tr>'
    )


def _chart(number: int, row: Row) -> str:
    entries = [Bar("This run", "run", row.median or 0.0, min(row.measure.values), max(row.measure.values))]
    entries += [Bar("Accepted", "accepted", row.accepted)] if row.accepted is not None else []
    entries += [Bar("Expected", "expected", row.expected)] if row.expected is not None else []
    words = "; ".join(f"{entry.label}: {figure(entry.value)} {row.measure.unit}" for entry in entries)
    words += f"; {counted(len(row.measure.values), 'value')}, spread {spread(row.measure.values)}"
    return f"<figure>{_caption(row)}{bars(f'speed-{number}', measure(row.measure.name), words, entries)}</figure>"


def _caption(row: Row) -> str:
    less = ", less is better" if less_is_better(row.measure.name) else ""
    return f"<figcaption>{escape(measure(row.measure.name))} <span>{escape(row.measure.unit)}{less}</span></figcaption>"
