# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The battery is a folder that Python runs; its parent makes it a package for the tests."""

from __future__ import annotations

import sys
from pathlib import Path

FILES = str(Path(__file__).resolve().parents[3] / "roles/guards/files")
if FILES not in sys.path:
    sys.path.append(FILES)
