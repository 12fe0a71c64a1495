# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter vllm_ranks: what a recipe became to what the keeper of each rank is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError


def vllm_ranks(
    chosen: object,
    *,
    control: object,
    limits: object,
    same: object,
    api_address: object,
    engine: object = "docker",
    snapshots: object = None,
) -> dict[str, Any]:
    """See vllm_ranks.yml."""
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.plain import plain
    from ansible_collections.switchless.spark.plugins.module_utils._serving.rank import ranks

    values: Any = plain(chosen), plain(control), plain(limits), plain(snapshots)
    try:
        return ranks(
            values[0],
            control={"address": values[1]["address"], "port": int(values[1]["port"])},
            limits={name: int(value) for name, value in values[2].items()},
            same=plain(same),
            api_address=str(api_address),
            engine=str(engine),
            snapshots=values[3],
        )
    except (AttributeError, KeyError, TypeError, ValueError) as exc:
        raise AnsibleFilterError(
            f"vllm_ranks expects what the filter vllm_recipe gives, and numbers as limits: {exc!r}"
        ) from exc


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Names to functions."""
        return {"vllm_ranks": vllm_ranks}
