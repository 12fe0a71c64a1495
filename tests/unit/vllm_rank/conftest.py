# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The keeper is a folder that Python runs; its parent makes it a package for the tests."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

FILES = str(Path(__file__).resolve().parents[3] / "roles/vllm/files")
if FILES not in sys.path:
    sys.path.append(FILES)
_writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # the role copies the folder as it is
for _part in ("head", "worker"):
    importlib.import_module(f"vllm_rank.{_part}")

sys.dont_write_bytecode = _writes

from tests.unit.vllm_rank.rank_world import World  # noqa: E402


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.clear()
