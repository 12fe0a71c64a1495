# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether drafts are still taken: of text that is easy to foresee, so that a low figure means something.

Acceptance alone decides in neither direction: it falls in healthy runs with the text. Positions that are never taken
are the hard sign (6 to 10 per cent with positions 2 to 5 at exactly 0.000: second article).
"""

from __future__ import annotations

from battery.judge.acceptance import between, collapse
from battery.material import asked, documents
from battery.model import Finding, Proof, Question, Result, Server, Task, judged
from battery.speed.rate import PLAIN

from .count import asks

NAME = "acceptance"
DRAFTS = 100
ROUNDS, BLOCKS, LONG_ANSWER = 12, 3, 160


async def judge(server: Server, task: Task) -> Result:
    """Counting and going on with a text that stands in the prompt, until there are drafts enough."""
    least, limit = task.guards.acceptance_least, task.guards.acceptance_collapse
    if least is None and limit is None:
        return Result(NAME, "not asked", "the recipe leaves it out")
    before = await server.counters()
    if before.drafts is None:
        return Result(NAME, "not exercised", "the server drafts nothing", (), (Proof("drafts", 0, DRAFTS),))
    made = await documents(server, f"acceptance {task.salt}", ROUNDS, BLOCKS, task.guards.block_tokens)
    seen = None
    for one in made:
        if task.guards.count_to:
            await server.ask(asks(task.guards.count_to))
        words = (
            f"{one.text}\n\nWrite the code of the last entry, and go on with the text behind it. {asked(one.facts[-1])}"
        )
        await server.ask(Question.plain(words, LONG_ANSWER, extra={**PLAIN, "ignore_eos": True}))
        seen = between(before, await server.counters())
        if seen and seen.drafts >= 2 * DRAFTS:
            break
    if seen is None:
        return Result(NAME, "unknown", "the server was started again, and its counters with it")
    figures = {"acceptance": seen.rate, "drafts": seen.drafts, "mean_length": seen.mean_length}
    figures |= {f"position_{number}": rate for number, rate in enumerate(seen.positions, 1)}
    words = collapse(seen, limit)
    findings = (Finding("drafts are not taken", "the drafter", words),) if words else ()
    summary = f"{seen.rate:.1%} of drafts taken"
    if least is not None and seen.rate < least and not words:
        summary += f", {least:.0%} are usual: the text alone can cause that"
    return judged(NAME, summary, findings, (Proof("drafts", seen.drafts, DRAFTS),), figures)
