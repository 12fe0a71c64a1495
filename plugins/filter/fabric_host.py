# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter fabric_host: what one node needs of the plan."""

from __future__ import annotations

from collections.abc import Callable

from ansible.errors import AnsibleFilterError


def fabric_host(plan: object, host: object) -> dict[str, object]:
    """See fabric_host.yml."""
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.host import host_to_dict, host_view
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.plan import plan_from_dict

    try:
        return host_to_dict(host_view(plan_from_dict(plan), host))
    except FabricError as exc:
        raise AnsibleFilterError(f"fabric_host: {exc}") from exc


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Names to functions."""
        return {"fabric_host": fabric_host}
