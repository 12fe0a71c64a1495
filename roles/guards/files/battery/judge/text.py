# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with the text of a whole answer, whatever was asked.

Nothing here says that an answer is right: corruption that reads well is found by questions whose answer is known.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from battery.model import Finding

from . import alphabets, bursts, encoding, glued, loops, markup, scripts, strays

REPLACED = "replacement characters"
MISREAD = "UTF-8 that was read as CP1252"
BURST = "burst of one token"
LOOP = "loop"
SCRIPT = "stray script"
STRAY = "stray or glued token"
MARKUP = "leaked markup"


def faults(text: str, prompt: str = "", where: str = "", temperature: float = 0.0) -> tuple[Finding, ...]:
    """One finding for each kind of corruption in an answer whose parts are joined.

    What the prompt has or asks for is no fault: give the question, without a long document that it is about. Above
    temperature 0, one or two foreign words are the model's own choice (Q60) and no finding.
    """
    checks: tuple[tuple[str, Callable[[str, str], str]], ...] = (
        (REPLACED, encoding.replaced),
        (MISREAD, encoding.misread),
        (BURST, bursts.burst),
        (LOOP, loops.loop),
        (SCRIPT, partial(scripts.foreign, sampled=temperature > 0)),
        (STRAY, lambda text, prompt: glued.repeated(text, prompt) or strays.stray(text, prompt)),
        (STRAY, alphabets.foreign),
        (MARKUP, markup.leaked),
    )
    seen = ((what, check(text, prompt)) for what, check in checks)
    return tuple(Finding(what, where, evidence) for what, evidence in seen if evidence)
