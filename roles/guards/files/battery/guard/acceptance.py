# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether drafts are still taken: of text that is easy to foresee, so that a low figure means something.

Acceptance alone decides in neither direction: it falls in healthy runs with the text. Positions that are never taken
are the hard sign (6 to 10 per cent with positions 2 to 5 at exactly 0.000: second article).
"""

from __future__ import annotations

from battery.judge.acceptance import Acceptance, between, collapse
from battery.material import Document, asked, documents
from battery.model import Finding, Proof, Question, Result, Server, Task, judged
from battery.speed.rate import PLAIN

from .budget import Budget
from .count import asks

NAME = "acceptance"
DRAFTS, ENOUGH = 100, 200  # without so many nothing is said, and with so many it ends
ROUNDS, BLOCKS, LONG_ANSWER = 12, 3, 160


async def judge(server: Server, task: Task) -> Result:
    """Counting and going on with a text that stands in the prompt, until there are drafts enough."""
    least, limit, budget = task.guards.acceptance_least, task.guards.acceptance_collapse, Budget.of(task)
    if least is None and limit is None:
        return Result(NAME, "not asked", "the recipe leaves it out")
    before = await server.counters()
    if before.drafts is None:
        return Result(NAME, "not exercised", "the server drafts nothing", (), (Proof("drafts", 0, DRAFTS),))
    seen: Acceptance | None = None
    for one in await documents(server, f"acceptance {task.salt}", ROUNDS, BLOCKS, task.guards.block_tokens):
        if budget.spent:
            break
        if task.guards.count_to:
            await server.ask(asks(task.guards.count_to))
        await server.ask(_goes_on(one))
        seen = between(before, await server.counters())
        if seen is None:
            return Result(NAME, "unknown", "the server was started again, and its counters with it")
        if seen.drafts >= ENOUGH:
            break
    proofs = (Proof("drafts", seen.drafts if seen else 0, DRAFTS),)
    if seen is None or not seen.drafts:
        return judged(NAME, f"no draft was made{'' if seen else f' in {budget.seconds:.0f} s'}", (), proofs)
    figures = {"acceptance": seen.rate, "drafts": seen.drafts, "mean_length": seen.mean_length}
    figures |= {f"position_{number}": rate for number, rate in enumerate(seen.positions, 1)}
    words = collapse(seen, limit)
    findings = (Finding("drafts are not taken", "the drafter", words),) if words else ()
    summary = f"{seen.rate:.1%} of drafts taken"
    if least is not None and seen.rate < least and not words:
        summary = f"low: {summary}, {least:.0%} are usual: the text alone can cause that"
    return judged(NAME, summary, findings, proofs, figures)


def _goes_on(one: Document) -> Question:
    words = f"Write the code of the last entry, and go on with the text behind it. {asked(one.facts[-1])}"
    return Question.plain(f"{one.text}\n\n{words}", LONG_ANSWER, extra={**PLAIN, "ignore_eos": True})
