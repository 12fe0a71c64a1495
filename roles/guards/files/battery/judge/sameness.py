# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers that should be the same."""

from __future__ import annotations

from collections.abc import Sequence


def distinct(answers: Sequence[str]) -> int:
    """How many different answers there are; white space is free (Q32)."""
    return len({" ".join(answer.split()) for answer in answers})
