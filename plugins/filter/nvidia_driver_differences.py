# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter nvidia_driver_differences: whether all nodes have the same driver, packages and kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError


def nvidia_driver_differences(nodes: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """See nvidia_driver_differences.yml."""
    from ansible_collections.switchless.spark.plugins.module_utils._driver.nodes import differences

    try:
        return [reason.as_dict() for reason in differences(nodes)]
    except (AttributeError, KeyError, TypeError) as error:
        raise AnsibleFilterError(
            f"nvidia_driver_differences: expected a dictionary of hosts to `driver` of nvidia_driver_info: {error!r}"
        ) from error


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Names to functions."""
        return {"nvidia_driver_differences": nvidia_driver_differences}
