# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter fabric_bind: a node's planned ports with the devices that its NIC shows."""

from __future__ import annotations

from collections.abc import Callable

from ansible.errors import AnsibleFilterError


def fabric_bind(host: object, functions: object) -> list[dict[str, object]]:
    """See fabric_bind.yml."""
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.bind import bind
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError

    try:
        return bind(host, functions)
    except FabricError as exc:
        raise AnsibleFilterError(f"the node does not show the ports of its plan:\n{exc}") from exc


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Names to functions."""
        return {"fabric_bind": fabric_bind}
