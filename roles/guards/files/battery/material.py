# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents whose every block holds one fact that nothing else tells: a key, and the code that follows it.

Keys and codes look as those that the lab's model knows, and any language model can read them. There is no capital K in
the text around, since that model takes the last one for the key that is asked for. The same salt makes the same texts.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .model import Question, Server
from .speed.rate import PLAIN
from .speed.text import SAMPLE, sentences, sized, text

NUMBERS = 4095  # of keys and codes; the last code is left out
FACT_TOKENS = 24  # room for a fact, however a tokenizer cuts it
LEAST_WORDS = 4  # of filler in a block
INTRODUCTION = "The text below has entries, each a key and right behind it its code."
# Before a question they change the length of a prompt: each is one token for most tokenizers.
LENGTHENING = ("and", "now", "then", "also", "so", "here", "next")


@dataclass(frozen=True, slots=True)
class Fact:
    """A key, its code, and the number of the block that it stands in."""

    key: str
    code: str
    block: int


@dataclass(frozen=True, slots=True)
class Document:
    """A text and what it tells."""

    name: str
    text: str
    facts: tuple[Fact, ...]

    def asks(self, fact: Fact, max_tokens: int = 16, longer: int = 0, **more: object) -> Question:
        """The question for a fact, with the document before it: what a prefix cache has of that is used.

        `longer` is by how many words it is longer than it has to be.
        """
        words = "".join(f"{word} " for word in LENGTHENING[:longer])
        return Question.plain(f"{self.text}\n\n{words}{asked(fact)}", max_tokens, extra=dict(PLAIN), **more)


def asked(fact: Fact) -> str:
    return f"What is the code of entry {fact.key}? Answer with the code only."


def facts(salt: str) -> Iterator[tuple[str, str]]:
    """Pairs of keys and codes, none twice."""
    chance = random.Random(f"facts {salt}")  # noqa: S311 (a text, not a secret)
    keys, codes = chance.sample(range(NUMBERS), NUMBERS), chance.sample(range(NUMBERS), NUMBERS)
    return ((f"K{key:04d}", f"C{code:04d}") for key, code in zip(keys, codes, strict=True))


def document(name: str, salt: str, blocks: int, words: int, pairs: Iterator[tuple[str, str]]) -> Document:
    """So many blocks of so many words and one fact each."""
    filler = (word for sentence in sentences(f"{name} {salt}") for word in sentence.split(" "))
    parts, told = [f"{INTRODUCTION} This is {name} of run {salt}."], []
    for block in range(blocks):
        key, code = next(pairs)
        half = [next(filler) for _word in range(max(2, words))]
        middle = len(half) // 2
        parts.append(f"{' '.join(half[:middle])}\nEntry: {key} {code}.\n{' '.join(half[middle:])}")
        told.append(Fact(key, code, block))
    return Document(name, " ".join(parts), tuple(told))


async def documents(server: Server, salt: str, count: int, blocks: int, block_tokens: int) -> list[Document]:
    """Documents with one fact in each block of tokens, NUMBERS facts at most.

    The words of a block are estimated with a sample, and put right with the first document as a whole.
    """
    a_word = await server.tokens(text(f"words {salt}", SAMPLE)) / SAMPLE or 1.0

    def made(words: int, many: int) -> list[Document]:
        pairs = facts(salt)
        return [document(f"document {number}", salt, blocks, words, pairs) for number in range(1, many + 1)]

    words = max(LEAST_WORDS, int((block_tokens - FACT_TOKENS) / a_word))
    counted = await server.tokens(made(words, 1)[0].text)
    over = counted / blocks - block_tokens
    return made(max(LEAST_WORDS, words - round(over / a_word)), count)


async def haystack(server: Server, salt: str, tokens: int, depths: Sequence[int]) -> Document:
    """Text of so many tokens or a few per cent less, with one fact at each depth in per cent, in their order."""
    filler = (await sized(server, f"hay {salt}", tokens - FACT_TOKENS * len(depths))).split(" ")
    pairs, told = facts(f"needles {salt}"), []
    for number, depth in reversed(list(enumerate(sorted(depths)))):
        key, code = next(pairs)
        filler.insert(len(filler) * depth // 100, f"\nEntry: {key} {code}.\n")
        told.append(Fact(key, code, number))
    return Document(f"{tokens} tokens", f"{INTRODUCTION} {' '.join(filler)}", tuple(reversed(told)))
