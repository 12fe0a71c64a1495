# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Templates as Ansible renders them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

CHECKOUT = Path(__file__).resolve().parents[2]


def load(path: Path) -> Any:
    """A file of a role, whose texts are templates."""
    return DataLoader().load_from_file(str(path), trusted_as_template=True)


def render(value: Any, variables: dict[str, Any], role: str = "") -> Any:
    """What templates become; those of a role find its own files."""
    more = {"ansible_search_path": [str(CHECKOUT / "roles" / role)]} if role else {}
    return Templar(loader=DataLoader(), variables=variables | more).template(value)
