# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for all tests of a node's network."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.unit.node.node_bench import Bench, made


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy disk takes a second for what these tests do a thousand times; those that need it watch the call itself."""
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bench:
    """A fresh node, the files that the role would write on it, and the module."""
    return made(tmp_path, monkeypatch, capsys)
