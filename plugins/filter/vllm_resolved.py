# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter vllm_resolved: where a server differs from its recipe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError


def vllm_resolved(
    resolved: object,
    expect: object,
    nccl: object = None,
    attention_backend: object = None,
    journals: object = None,
) -> list[dict[str, Any]]:
    """See vllm_resolved.yml."""
    from ansible_collections.switchless.spark.plugins.module_utils._serving.resolved import ExpectError, differences

    try:
        return differences(resolved, expect, nccl=nccl, attention_backend=attention_backend, journals=journals)
    except ExpectError as exc:
        raise AnsibleFilterError(f"vllm_resolved: {exc}") from exc


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Names to functions."""
        return {"vllm_resolved": vllm_resolved}
