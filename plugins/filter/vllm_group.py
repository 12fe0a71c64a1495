# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter vllm_group: what all ranks' units together do."""

from __future__ import annotations

from collections.abc import Callable

from ansible.errors import AnsibleFilterError


def vllm_group(looks: object, ranks: object, silence_seconds: object = 10) -> dict[str, object]:
    """See vllm_group.yml."""
    from ansible_collections.switchless.spark.plugins.module_utils._serving.group import GroupError, group

    try:
        return group(looks, ranks, silence_seconds)
    except GroupError as exc:
        raise AnsibleFilterError(f"vllm_group: {exc}") from exc


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Names to functions."""
        return {"vllm_group": vllm_group}
