# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether drafts are still taken: of text that is easy to foresee, so that a low figure means something.

Acceptance alone decides in neither direction: it falls in healthy runs with the text. Positions that are never taken
are the hard sign (6 to 10 per cent with positions 2 to 5 at exactly 0.000: second article).
"""

from __future__ import annotations

import random
from itertools import islice

from battery.judge.acceptance import Acceptance, between, collapse
from battery.material import Fact, asked, facts
from battery.model import Finding, Proof, Question, Result, Server, Task, judged
from battery.speed.rate import PLAIN

from .budget import Budget
from .count import asks

NAME = "acceptance"
DRAFTS, ENOUGH = 100, 120  # without so many nothing is said, and with so many it ends
ROUNDS, LONG_ANSWER = 12, 160
# Words that stand in the prompt once, in no order that means anything: what comes next is known from the prompt alone,
# by drafters that copy as well as by those that predict.
LISTED, WORDS = 190, 256


async def judge(server: Server, task: Task) -> Result:
    """Counting, and going on with words that stand in the prompt, until there are drafts enough."""
    least, limit, budget = task.guards.acceptance_least, task.guards.acceptance_collapse, Budget.of(task)
    if least is None and limit is None:
        return Result(NAME, "not asked", "the recipe leaves it out")
    before = await server.counters()
    if before.drafts is None:
        return Result(NAME, "not exercised", "the server drafts nothing", (), (Proof("drafts", 0, DRAFTS),))
    seen: Acceptance | None = None
    for number, (key, code) in enumerate(islice(facts(f"acceptance {task.salt}"), ROUNDS)):
        if budget.spent:
            break
        if task.guards.count_to:
            await server.ask(asks(task.guards.count_to))
        await server.ask(goes_on(Fact(key, code, number), f"{task.salt} {number}"))
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


def goes_on(fact: Fact, salt: str) -> Question:
    """The question whose answer is a code and the words that stand behind it in the prompt."""
    listed = random.Random(f"listed {salt}").sample(range(WORDS), LISTED)  # noqa: S311 (a text, not a secret)
    text = f"Entry: {fact.key} {fact.code} {' '.join(f'w{number}' for number in listed)}"
    words = f"Write what stands behind entry {fact.key}, word for word, to its end. {asked(fact)}"
    return Question.plain(f"{text}\n\n{words}", LONG_ANSWER, extra={**PLAIN, "ignore_eos": True})
