# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run comes to, in a word and in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from battery.model import Verdict
from battery.outcome import Run
from battery.render.report import Conclusion, Row
from battery.render.words import counted, guard, measure

NO_END = ("running", "aborted")


def of_guards(run: Run) -> Conclusion:
    """Without the speed."""
    verdicts = {result.verdict for result in run.results}
    if "failed" in verdicts:
        return "failed"
    if run.state in NO_END or "unknown" in verdicts:
        return "incomplete"
    if "not exercised" in verdicts:
        return "not exercised"
    # The server went away while nothing but speed was asked, or no guard was asked at all.
    return "incomplete" if run.state == "incomplete" or "passed" not in verdicts else "passed"


def conclude(run: Run, rows: Sequence[Row], gate: bool) -> tuple[Conclusion, str]:
    """The verdict and why. `gate` makes a speed below tolerance a failure, and one that is missing no pass."""
    verdict = of_guards(run)
    failed = _named(run, "failed")
    if failed:
        count = counted(len(failed), "guard")
        return "failed", f"{count} of {len(run.results)} failed: {_list(failed)}."
    slow = [measure(row.measure.name) for row in rows if row.slow]
    if gate and slow:
        return "failed", f"Speed is a gate, and this is below tolerance: {_list(slow)}."
    if verdict == "incomplete":
        return verdict, _unfinished(run)
    if verdict == "not exercised":
        few = _list(_named(run, "not exercised"))
        return verdict, f"Not a pass: what its fault needs was not there for {few}."
    missing = [measure(row.measure.name) for row in rows if row.expected is not None and not row.measure.values]
    if gate and missing:
        return "incomplete", f"Speed is a gate, and this was not measured: {_list(missing)}."
    passed, left_out = len(_named(run, "passed")), len(_named(run, "not asked"))
    words = f"{'The one guard' if passed == 1 else f'All {passed} guards'} that could be asked passed"
    words += f"; {counted(left_out, 'was', 'were')} not asked" if left_out else ""
    return "passed", words + (f". Below the speed that was expected: {_list(slow)}." if slow else ".")


def _unfinished(run: Run) -> str:
    asked = counted(len(run.results), "guard")
    if run.state in NO_END:
        return f"It was told to stop after {asked}; what it had found until then is kept."
    unknown = _named(run, "unknown")
    if unknown:
        return f"The server or its journals could not be asked for {_list(unknown)}."
    return f"It came to no end after {asked}: the server went away, or nothing was asked."


def _named(run: Run, verdict: Verdict) -> list[str]:
    return [guard(result.guard) for result in run.results if result.verdict == verdict]


def _list(names: Sequence[str]) -> str:
    return "; ".join(names)
