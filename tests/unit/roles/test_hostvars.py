# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one host reads of another is a fact of it: variables of a role are not among a host's, and read as undefined."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROLES = Path(__file__).parents[3] / "roles"
# hostvars[HOST].NAME, hostvars[HOST]['NAME'], and map('extract', hostvars, 'NAME') or ['NAME', ...]
READ = re.compile(r"hostvars\[[^\]]+\](?:\.|\[['\"])(__\w+)|extract'?,\s*hostvars(?:\s*\|[^,]*)?,\s*\[?['\"](__\w+)")


def variables(role: Path) -> set[str]:
    files = [*role.glob("vars/main.yml"), *role.glob("defaults/main.yml")]
    return {name for file in files for name in yaml.safe_load(file.read_text(encoding="utf-8")) or {}}


@pytest.mark.parametrize("role", sorted(path.name for path in ROLES.iterdir() if path.is_dir()))
def test_no_host_reads_a_role_s_variable_of_another(role: str) -> None:
    own = variables(ROLES / role)
    read = {
        name
        for file in (*ROLES.glob(f"{role}/**/*.yml"), *ROLES.glob(f"{role}/**/*.j2"))
        for match in READ.findall(file.read_text(encoding="utf-8"))
        for name in match
        if name
    }
    assert read & own == set()


@pytest.mark.parametrize(
    "text",
    [
        "hostvars[__a].__b | first",
        "hostvars[x]['__b']",
        "hosts | map('extract', hostvars, '__b')",
        "map('extract', hostvars, ['__b', 'c'])",
    ],
)
def test_the_ways_to_read_are_seen(text: str) -> None:
    assert {name for match in READ.findall(text) for name in match if name} == {"__b"}
