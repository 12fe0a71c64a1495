# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter host_names: lines for /etc/hosts that name every node of a fabric."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ansible.errors import AnsibleFilterError


def host_names(plan: object, management: Mapping[str, object]) -> list[str]:
    """See host_names.yml."""
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.plan import plan_from_dict
    from ansible_collections.switchless.spark.plugins.module_utils._host.names import names

    try:
        return list(names(plan_from_dict(plan), management))
    except FabricError as exc:
        raise AnsibleFilterError(f"host_names: {exc}") from exc


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Names to functions."""
        return {"host_names": host_names}
