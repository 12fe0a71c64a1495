# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter transport_obstacle: why a test over all ranks cannot be run now."""

from __future__ import annotations

from collections.abc import Callable

from ansible.module_utils.parsing.convert_bool import boolean


def transport_obstacle(
    plan: object, nodes: object, *, python: str | None, wanted: object, check_mode: bool, forks: int
) -> str:
    """See transport_obstacle.yml."""
    from ansible_collections.switchless.spark.plugins.module_utils._nccl.obstacle import obstacle

    return obstacle(
        plan,
        nodes,
        python=None if python is None else str(python),
        wanted=boolean(wanted),  # -e transport_test=false is text
        check_mode=bool(check_mode),
        forks=int(forks),
    )


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Names to functions."""
        return {"transport_obstacle": transport_obstacle}
