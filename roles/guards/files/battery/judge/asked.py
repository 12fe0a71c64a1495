# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a prompt asks for that would be a fault unasked."""

from __future__ import annotations

import re

REPEATED = re.compile(
    r"\b(?:repeat\w*|repetition\w*|times|over and over|veces|repite|repita|fois|mal|wiederhol\w*)\b|번|次|回|раз",
    re.IGNORECASE,
)
SUNG = re.compile(
    r"\b(?:poems?|songs?|lyrics?|refrains?|chorus\w*|verses?|chants?|mantras?|hymns?|rounds?|poema|canción|estribillo)\b",
    re.IGNORECASE,
)
DRAWN = re.compile(r"\b(?:ascii|draw\w*|banner|diagram|maze|progress bar|dibuj\w*)\b", re.IGNORECASE)
CODED = re.compile(
    r"\b(?:code|coding|program\w*|function|scripts?|shell|bash|commands?|python|java\w*|typescript|rust|golang|sql|yaml|"
    r"json|html|css|regex\w*|markdown|headings?|hash(?:tag)?s?|comments?|config\w*|código|programa|función)\b|#|\+\+",
    re.IGNORECASE,
)
