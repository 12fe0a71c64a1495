# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""The one error of this package, and the words in which values appear in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from .plain import plain


class FabricError(ValueError):
    """Everything that is wrong with an input, found in one pass.

    `problems` holds one line each: what was seen, what was expected, what to do.
    """

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("\n".join(self.problems))


def shown(value: object) -> str:
    """A value as an error shows it: strings quoted, and anything that YAML made of them by its type."""
    value = plain(value)
    if isinstance(value, str):
        return repr(value) if value else "an empty string"
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, (int, float)):
        return f"the number {value!r}"
    if isinstance(value, Mapping):
        return f"the mapping {value!r}"
    if isinstance(value, list):
        return f"the list {value!r}"
    return f"a {type(value).__name__}"


def listing(names: Iterable[str], most: int = 8) -> str:
    """Names joined by commas, the first `most` of them: a fabric may have a thousand nodes."""
    names = list(names)
    rest = len(names) - most
    return ", ".join(names) if rest <= 0 else ", ".join(names[:most]) + f" and {rest} more"


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """The known word that is nearest to a mistyped one, as the end of a sentence."""
    close = get_close_matches(word, list(known), n=1) if isinstance(word, str) else []
    return f" (did you mean {close[0]!r}?)" if close else ""
