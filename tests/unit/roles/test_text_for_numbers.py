# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`-e name=value` gives text, whatever the specification says: no role may count with it, or take "false" as true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROLES = Path(__file__).resolve().parents[3] / "roles"
FILES = sorted(path for kind in ("tasks", "vars") for path in ROLES.glob(f"*/{kind}/*.yml"))


def named(kind: str) -> list[str]:
    """The variables of a type, over all roles."""
    found: set[str] = set()
    for path in ROLES.glob("*/meta/argument_specs.yml"):
        specs: dict[str, Any] = yaml.safe_load(path.read_text())["argument_specs"]
        for spec in specs.values():
            found |= {name for name, option in (spec.get("options") or {}).items() if option.get("type") == kind}
    return sorted(found)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROLES)))
def test_numbers_are_made_numbers_before_one_counts_with_them(path: Path) -> None:
    text = path.read_text()
    for name in (*named("int"), *named("float")):
        operator = r"(?:[-+*%]|//|<=?|>=?)"
        counted = rf"\b{name}\b\s*{operator}\s*[\w(]|\w\s+{operator}\s*{name}\b(?!\s*\|\s*(?:int|float))"
        found = re.findall(counted, text) + re.findall(
            rf"\[[^\]]*\b{name}\b(?!\s*\|\s*(?:int|float))[^\]]*\]\s*\|\s*m(?:ax|in)\b", text
        )
        assert found == [], name


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROLES)))
def test_booleans_are_made_booleans_before_they_decide(path: Path) -> None:
    """Module options convert by themselves (`name: "{{ … }}"`), conditions and filters do not."""
    text = path.read_text()
    for name in named("bool"):
        deciding = [
            line.strip()
            for line in text.splitlines()
            if re.search(rf"\b{name}\b(?!\s*\|\s*bool)(?!=)", line)
            and re.search(rf"(?:when:|that:|^\s*- not|\bif\b|\bnot\b|=){r'[^{]*'}\b{name}\b", line)
            and "msg" not in line
        ]
        assert deciding == [], name
