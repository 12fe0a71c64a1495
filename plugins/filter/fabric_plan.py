# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter fabric_plan: inventory values to the plan of the fabric."""

from __future__ import annotations

from collections.abc import Callable

from ansible.errors import AnsibleFilterError


def fabric_plan(
    fabric_cables: object,
    hosts: object = None,
    head: object = None,
    subnet_pool: object = None,
    mtu: object = 9000,
    control_plane: object = "management",
    management: object = None,
) -> dict[str, object]:
    """See fabric_plan.yml."""
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.addresses import DEFAULT_POOL
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.plan import build_plan, plan_to_dict

    try:
        return plan_to_dict(
            build_plan(
                fabric_cables,
                hosts=hosts,
                head=head,
                subnet_pool=DEFAULT_POOL if subnet_pool is None else subnet_pool,
                mtu=mtu,
                control_plane=control_plane,
                management=management,
            )
        )
    except FabricError as exc:
        raise AnsibleFilterError(f"the fabric cannot be planned:\n{exc}") from exc


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Names to functions."""
        return {"fabric_plan": fabric_plan}
