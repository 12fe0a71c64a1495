# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters fabric_cabling and fabric_announcements: where the cables lead, and what ports announce to show it."""

from __future__ import annotations

from collections.abc import Callable

from ansible.errors import AnsibleFilterError


def fabric_cabling(host: object, functions: object) -> list[dict[str, object]]:
    """See fabric_cabling.yml."""
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.cabling import cabling
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError

    try:
        return cabling(host, functions)
    except FabricError as exc:
        raise AnsibleFilterError(f"the node does not show the ports of its plan:\n{exc}") from exc


def fabric_announcements(host: object, functions: object) -> list[dict[str, str]]:
    """See fabric_announcements.yml."""
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.cabling import announcements

    return announcements(host, functions)


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Names to functions."""
        return {"fabric_cabling": fabric_cabling, "fabric_announcements": fabric_announcements}
