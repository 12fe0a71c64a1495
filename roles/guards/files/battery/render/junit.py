# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""JUnit XML: a guard is a test case, a measure is a property.

failed is a failure, unknown an error, not exercised and not asked are skipped. Beside the guards there is a case for
the speed, and one for a run that came to no end: without it a reader would take what is left for a pass.
"""

from __future__ import annotations

from statistics import median
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from battery.model import Result
from battery.status import moment

from .report import Report
from .words import MOST_FINDINGS, clipped, heading, one_line, proof, visible


def render(report: Report) -> str:
    run = report.run
    suite = Element("testsuite", name=f"battery.{visible(run.recipe)}.{run.level}", timestamp=moment(run.began_wall))
    _properties(suite, report)
    for result in run.results:
        _guard(suite, report, result)
    if run.measures:
        _speed(suite, report)
    if report.verdict == "incomplete" and not any(result.verdict == "unknown" for result in run.results):
        SubElement(_case(suite, report, "end of the run", 0.0), "error", message=report.sentence, type="incomplete")
    count = {
        "tests": len(suite.findall("testcase")),
        **{f"{kind}s": len(suite.findall(f"testcase/{kind}")) for kind in ("failure", "error")},
        "skipped": len(suite.findall("testcase/skipped")),
    }
    seconds = f"{run.ended_wall - run.began_wall:.3f}"
    root = Element("testsuites", name="battery")
    for element in (root, suite):
        for name, value in {**count, "time": seconds}.items():
            element.set(name, str(value))
    root.append(suite)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _properties(suite: Element, report: Report) -> None:
    run = report.run
    values = {"run": run.id, "verdict": report.verdict, "sentence": report.sentence, "salt": run.salt}
    values |= {f"fingerprint.{name}": value for name, value in run.fingerprint.items()}
    for each in run.measures:
        if each.values:
            values[f"measure.{each.name}.median"] = f"{median(each.values):.10g}"
            values[f"measure.{each.name}.values"] = " ".join(f"{value:.10g}" for value in each.values)
            values[f"measure.{each.name}.unit"] = each.unit
    properties = SubElement(suite, "properties")
    for name, value in values.items():
        SubElement(properties, "property", name=visible(name), value=visible(value))


def _guard(suite: Element, report: Report, result: Result) -> None:
    case = _case(suite, report, visible(result.guard), result.seconds)
    summary = one_line(result.summary)
    if result.verdict == "failed":
        SubElement(case, "failure", message=summary, type="failed").text = _findings(result)
    elif result.verdict == "unknown":
        SubElement(case, "error", message=summary, type="unknown")
    elif result.verdict != "passed":
        unmet = "; ".join(proof(each) for each in result.proofs if not each.met)
        SubElement(case, "skipped", message=f"{result.verdict}: {summary}" + (f" ({unmet})" if unmet else ""))
    if result.figures:
        figures = "\n".join(f"{visible(name)}: {value:.10g}" for name, value in result.figures.items())
        SubElement(case, "system-out").text = figures


def _speed(suite: Element, report: Report) -> None:
    case = _case(suite, report, "speed", 0.0)
    words = "\n".join(visible(each) for each in report.warnings)
    if report.gate and words:
        SubElement(case, "failure", message="speed is a gate, and is below tolerance", type="speed").text = words
    elif words:
        SubElement(case, "system-out").text = words


def _findings(result: Result) -> str:
    shown = [f"{heading(each)}\n{clipped(each.evidence)}" for each in result.findings[:MOST_FINDINGS]]
    rest = len(result.findings) - len(shown)
    return "\n\n".join([*shown, f"and {rest} more in result.json"] if rest else shown)


def _case(suite: Element, report: Report, name: str, seconds: float) -> Element:
    run = report.run
    return SubElement(suite, "testcase", classname=f"battery.{visible(run.recipe)}", name=name, time=f"{seconds:.3f}")
