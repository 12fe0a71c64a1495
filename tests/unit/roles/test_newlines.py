# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ansible keeps backslashes: a '\\n' is a new line only in a YAML text in double quotes, else two letters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

CHECKOUT = Path(__file__).resolve().parents[3]
FILES = sorted(
    path
    for pattern in ("roles/*/tasks/*.yml", "roles/*/handlers/*.yml", "roles/*/vars/*.yml", "playbooks/*.yml")
    for path in CHECKOUT.glob(pattern)
)
NEW_LINE = re.compile(r"(?:join|split)\('\\n'")


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_lines_are_joined_and_split_at_new_lines(path: Path) -> None:
    assert [text for text in texts(yaml.safe_load(path.read_text())) if NEW_LINE.search(text)] == []


def test_what_the_test_looks_for() -> None:
    found = yaml.safe_load("a: >-\n  {{ x | join('\\n') }}\nb: \"{{ x | join('\\n') }}\"\n")
    assert [name for name, text in found.items() if NEW_LINE.search(text)] == ["a"]
