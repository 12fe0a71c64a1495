# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter checkpoint_situation: which node has the checkpoint, which need it, and what speaks against it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from ansible.errors import AnsibleFilterError


def checkpoint_situation(nodes: object, plan: object, source: str = "", reserve_gb: float = 0) -> dict[str, object]:
    """See checkpoint_situation.yml."""
    from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.situation import situation
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.plain import plain
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.plan import plan_from_dict

    try:
        known = cast(dict[str, Any], plain(nodes))
        reserve = int(float(reserve_gb) * 1e9)  # -e gives text
        return situation(known, plan_from_dict(plan).order, source=str(source or ""), reserve=reserve)
    except (FabricError, ValueError, KeyError, TypeError) as error:
        raise AnsibleFilterError(f"checkpoint_situation: {error!r}") from error


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Names to functions."""
        return {"checkpoint_situation": checkpoint_situation}
