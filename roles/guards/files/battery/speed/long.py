# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One long answer, as somebody would ask for it: a page of HTML, as long as the model makes it and the time allows."""

from __future__ import annotations

from battery.model import Question, Server
from battery.outcome import Measure, SpeedTask

from .rate import PLAIN, Rate, Watched, rate, watched
from .repeat import measure, repeat, times

NAME = "long_tokens_per_second"
ASK = (
    "Make a complete landing page for a blog on artificial intelligence in one HTML file: a professional design, with "
    "all CSS and JavaScript in the file, a dozen sections, example articles written out in full, and animations."
)
TRIAL_TOKENS = 64
LEAST_TOKENS = 256
MOST_TOKENS, MOST_QUICK = 65_536, 2_048
ROOM = 512  # for the template and the question
PART = 0.7  # of the time: the answer may get slower as it gets longer


async def answer(server: Server, task: SpeedTask) -> Measure:
    """A short answer tells how many tokens the time allows."""
    trial = await watched(server, [Question.plain(ASK, TRIAL_TOKENS, extra={**PLAIN, "ignore_eos": True})])
    most = limit(task, pace(trial))

    async def once(_number: int) -> Rate:
        seen = await watched(server, [Question.plain(ASK, most, extra=PLAIN)])
        got, said = rate(seen, LEAST_TOKENS), seen.answers[0]
        length = f"{said.completion_tokens} tokens, ended by {said.finish_reason or 'nothing that the server names'}"
        return Rate(got.value, "; ".join(filter(None, (length, got.note))))

    return measure(NAME, "tokens/s", await repeat(times(task), task.budget_seconds, once))


def pace(seen: Watched) -> float:
    """Tokens per second at least, prefill included."""
    said = seen.answers[0]
    return said.completion_tokens / max(said.ended_at - said.sent_at, 1e-3)


def limit(task: SpeedTask, tokens_per_second: float) -> int:
    """The longest answer of which all repetitions fit into the time."""
    timely = int(tokens_per_second * task.budget_seconds / times(task) * PART)
    most = MOST_QUICK if task.quick else MOST_TOKENS
    return max(LEAST_TOKENS, min(timely, most, task.context_tokens - ROOM))
