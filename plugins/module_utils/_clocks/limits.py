# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""The numbers of the judgement, with their units. They come from public reports."""

from __future__ import annotations

TOLERANCE_MHZ = 50
"""A GB10 under a cap of 2200 runs at 2177 to 2210, and the driver may round a cap: 2000 became 1976."""

REACH_MHZ = 100
"""Further than this below the cap, it is not the cap that holds the clock, and nothing was seen of it."""

UNCAPPED_MHZ = 2398
"""The slowest that a GB10 without a cap was seen to run under load; the fastest is 2522."""

LOADED_PERCENT = 90
"""Utilization from which on a sample counts as one under load."""

LOADED_SAMPLES = 3

SLOW_MHZ = (500, 850)
SLOW_WATTS = 40.0
"""A Spark whose power supply went into its safety state: busy, this slow and below this power, with no reason given."""
