# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter link_schedule: who measures which cable with whom, and when."""

from __future__ import annotations

from collections.abc import Callable

from ansible.errors import AnsibleFilterError
from ansible.module_utils.parsing.convert_bool import boolean


def link_schedule(
    plan: object, nodes: object, port: int | None = None, forks: int | None = None, force: object = False
) -> dict[str, object]:
    """See link_schedule.yml."""
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError
    from ansible_collections.switchless.spark.plugins.module_utils._link.schedule import DEFAULT_PORT, schedule

    try:
        wanted = boolean(force)  # -e link_test_force=false is text
        first = DEFAULT_PORT if port is None else int(port)
        return schedule(plan, nodes, port=first, forks=None if forks is None else int(forks), force=wanted)
    except FabricError as exc:
        raise AnsibleFilterError(f"link_schedule: {exc}") from exc


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Names to functions."""
        return {"link_schedule": link_schedule}
