# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter fabric_drawing: the plan as text for a terminal."""

from __future__ import annotations

from collections.abc import Callable

from ansible.errors import AnsibleFilterError


def fabric_drawing(plan: object) -> str:
    """See fabric_drawing.yml."""
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.drawing import draw
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.plan import plan_from_dict

    try:
        return draw(plan_from_dict(plan))
    except FabricError as exc:
        raise AnsibleFilterError(f"fabric_drawing: {exc}") from exc


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Names to functions."""
        return {"fabric_drawing": fabric_drawing}
