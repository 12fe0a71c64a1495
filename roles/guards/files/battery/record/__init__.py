# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run leaves: its record and papers, which run is accepted, and whether the group is suspect."""

from __future__ import annotations

from .acceptance import accept, proven
from .closing import close
from .keeping import finish
from .store import RecordError
from .suspicion import mark_suspect, suspect

__all__ = ["RecordError", "accept", "close", "finish", "mark_suspect", "proven", "suspect"]
