# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every role has one shape, and its specification, its defaults and its README say the same.

A role may also take a variable of another role, under the name that it has there: then the other role specifies it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROLES = Path(__file__).resolve().parents[3] / "roles"
NAMES = sorted(path.name for path in ROLES.iterdir() if (path / "tasks").is_dir())  # a folder without has data only
FILES = ("README.md", "defaults/main.yml", "meta/argument_specs.yml", "meta/main.yml", "tasks/main.yml")


def load(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8")) or {}


def options(role: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = load(ROLES / role / "meta/argument_specs.yml")["argument_specs"]["main"].get(
        "options", {}
    )
    return found


def own(role: str) -> dict[str, dict[str, Any]]:
    return {name: option for name, option in options(role).items() if name.startswith(f"{role}_")}


def undescribed(described: dict[str, dict[str, Any]], path: str = "") -> Iterator[str]:
    for name, option in described.items():
        if not option.get("description"):
            yield path + name
        yield from undescribed(option.get("options", {}), f"{path}{name}.")


def test_there_are_roles() -> None:
    assert NAMES


@pytest.mark.parametrize("role", NAMES)
def test_it_has_every_file(role: str) -> None:
    assert [name for name in FILES if not (ROLES / role / name).is_file()] == []


@pytest.mark.parametrize("role", NAMES)
def test_its_defaults_are_what_its_specification_says(role: str) -> None:
    defaults = load(ROLES / role / "defaults/main.yml")
    optional = {name: option for name, option in own(role).items() if not option.get("required")}
    assert set(defaults) == set(optional)
    assert {name: option["default"] for name, option in optional.items() if "default" in option} == {
        name: value for name, value in defaults.items() if "default" in optional[name]
    }


@pytest.mark.parametrize("role", NAMES)
def test_every_option_is_described(role: str) -> None:
    assert list(undescribed(options(role))) == []


@pytest.mark.parametrize("role", NAMES)
def test_its_variables_carry_its_name(role: str) -> None:
    assert [name for name in load(ROLES / role / "defaults/main.yml") if not name.startswith(f"{role}_")] == []
    internal = [name for path in sorted((ROLES / role / "vars").glob("*.yml")) for name in load(path)]
    assert [name for name in internal if not name.startswith(f"__{role}_")] == []
    borrowed = set(options(role)) - set(own(role))
    assert borrowed - {name for other in NAMES if other != role for name in own(other)} == set()


@pytest.mark.parametrize("role", NAMES)
def test_its_readme_mentions_every_variable(role: str) -> None:
    mentioned = set(re.findall(r"\w+", (ROLES / role / "README.md").read_text(encoding="utf-8")))
    assert set(options(role)) - mentioned == set()


@pytest.mark.parametrize("role", NAMES)
def test_its_meta_says_who_it_is(role: str) -> None:
    meta = load(ROLES / role / "meta/main.yml")
    assert meta["galaxy_info"]["license"] == "GPL-3.0-or-later"
    assert meta["galaxy_info"]["description"]
    assert meta["galaxy_info"]["min_ansible_version"] == "2.20"
    assert meta["dependencies"] == []
