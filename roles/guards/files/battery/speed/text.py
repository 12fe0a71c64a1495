# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filler: sentences that read like a report, made from a salt. The same salt makes the same text.

There is no capital letter K in it: the model of the lab takes one for the beginning of a question.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice

from battery.model import Server

SAMPLE = 400  # words that tell how many tokens a word has
UNDER = 0.99


def _cut(words: str) -> tuple[str, ...]:
    return tuple(words.split("|"))


WHO = _cut(
    "the harbour office|a younger engineer|the night shift|our neighbour|the river board|an old surveyor|the museum"
    "|the second crew|a visiting doctor|the railway|the bakery on the corner|the council|a retired teacher|the orchard"
    "|the weather station|a group of pupils|the insurance company|the theatre|a travelling salesman|the lighthouse"
)
DID = _cut(
    "measured|repaired|forgot|sold|described|borrowed|photographed|painted|moved|counted|replaced|returned|ordered"
    "|cleaned|inspected|mentioned|defended|opened|refused|finished"
)
WHAT = _cut(
    "seven barrels of oil|the broken clock|a map of the valley|two letters without a stamp|the northern bridge"
    "|a crate of lemons|the pump in the cellar|an unsigned agreement|the longest ladder|some very cheap paper"
    "|the copper roof|a list of all passengers|the garden wall|four heavy doors|a small telescope|the flooded tunnel"
    "|an early photograph|the spare engine|a rare species of moss|the winter timetable"
)
WHEN = _cut(
    "before breakfast|on the last day of May|during the storm|after a long discussion|every other week|at low tide"
    "|in the spring of that year|without telling anybody|while the road was closed|for less than an hour"
    "|shortly before midnight|in spite of the rain|as the contract demands|long after the fair"
)
THEN = _cut(
    "Nobody complained|The price was fair|It did not last|This was noted in the margin|The result was better than hoped"
    "|Others tell it differently|A copy is still in the archive|That explains the delay|It cost a great deal"
    "|The reason was never found|People laughed about it|Much of it was lost"
)


def sentences(salt: str) -> Iterator[str]:
    """Without end. The first one differs with the salt from its second word on."""
    chance = random.Random(salt)  # noqa: S311 (a text, not a secret)
    yield f"Report {chance.randrange(10**9)}, {chance.choice(WHEN)}:"
    while True:
        who, other = chance.choice(WHO), chance.choice(WHO)
        body = f"{who} {chance.choice(DID)} {chance.choice(WHAT)} {chance.choice(WHEN)}"
        match chance.randrange(4):
            case 0:
                yield f"{body[0].upper()}{body[1:]}."
            case 1:
                yield f"In {chance.randrange(1700, 2020)} {body}, and {other} {chance.choice(DID)} it."
            case 2:
                yield f"{chance.choice(THEN)}; {body}."
            case _:
                yield f"{body[0].upper()}{body[1:]}, item {chance.randrange(10, 9999)}. {chance.choice(THEN)}.\n"


def text(salt: str, words: int) -> str:
    """So many words. A shorter text is the beginning of a longer one."""
    return " ".join(islice((word for sentence in sentences(salt) for word in sentence.split(" ")), words))


async def sized(server: Server, salt: str, tokens: int) -> str:
    """A text of so many tokens of this server's, or a few per cent less."""
    words = max(1, int(tokens * SAMPLE / max(1, await server.tokens(text(salt, SAMPLE)))))
    counted = await server.tokens(text(salt, words))
    return text(salt, words if counted <= tokens else max(1, int(words * tokens / counted * UNDER)))
