# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a case of the judges' tables is.

Ids are those of the list of quality cases (Q, N, L); A is the second article.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# Whose fault it is: the engine's, the parser's, the model's own, the client's or its settings', nobody's, or not known.
Fault = Literal["corrupt", "parser", "model", "harness", "clean", "unknown"]


@dataclass(frozen=True)
class Text:
    """One entry: each of its texts gives findings of exactly these kinds, none when it must stay silent."""

    id: str
    fault: Fault
    texts: tuple[str, ...]
    kinds: frozenset[str] = frozenset()
    prompt: str = ""
    temperature: float = 0.0
    # The source describes it, the text is ours.
    composed: bool = False
