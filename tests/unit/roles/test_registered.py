# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A skipped task takes the place of what it registered before. So no imported file with a condition registers twice.

`import_tasks` passes its condition on to every task, which are then skipped one by one; `include_tasks` is skipped
as a whole, and leaves what is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROLES = Path(__file__).resolve().parents[3] / "roles"
NAMES = sorted(path.parent.name for path in ROLES.glob("*/tasks"))
Tasks = list[dict[str, Any]]


def tasks(entries: Tasks) -> Iterator[dict[str, Any]]:
    """All tasks, those in blocks too."""
    for entry in entries:
        yield entry
        for part in ("block", "rescue", "always"):
            yield from tasks(entry.get(part, []))


def overwritten(files: dict[str, Tasks]) -> list[str]:
    """Names that a skipped import would take away from another place that registers them."""
    registers = {
        name: {task["register"] for task in tasks(found) if "register" in task} for name, found in files.items()
    }
    imports = [
        (
            str(task.get("ansible.builtin.import_tasks") or task.get("ansible.builtin.include_tasks", {}).get("file")),
            task,
        )
        for found in files.values()
        for task in tasks(found)
        if "ansible.builtin.import_tasks" in task or isinstance(task.get("ansible.builtin.include_tasks"), dict)
    ]
    bad = set()
    for file, task in imports:
        if "ansible.builtin.import_tasks" not in task or "when" not in task:
            continue
        others = set().union(*(names for name, names in registers.items() if name != file))
        if [name for name, _task in imports].count(file) > 1:
            others |= registers.get(file, set())
        bad |= registers.get(file, set()) & others
    return sorted(bad)


@pytest.mark.parametrize("role", NAMES)
def test_no_skipped_import_takes_away_what_was_registered(role: str) -> None:
    files = {path.name: yaml.safe_load(path.read_text()) or [] for path in (ROLES / role / "tasks").glob("*.yml")}
    assert overwritten(files) == []


def test_it_is_found() -> None:
    look = [{"ansible.builtin.command": "true", "register": "seen"}]
    first = {"ansible.builtin.import_tasks": "look.yml"}
    again = {"ansible.builtin.import_tasks": "look.yml", "when": "rebooted"}
    included = {"ansible.builtin.include_tasks": {"file": "look.yml"}, "when": "rebooted"}
    assert overwritten({"main.yml": [first, again], "look.yml": look}) == ["seen"]
    assert overwritten({"main.yml": [first, {"block": [again]}], "look.yml": look}) == ["seen"]
    assert overwritten({"main.yml": [first, included], "look.yml": look}) == []
    assert overwritten({"main.yml": [again], "look.yml": look}) == []
