# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter nccl_diagnosis: what went wrong, from the ranks' logs."""

from __future__ import annotations

from collections.abc import Callable


def nccl_diagnosis(logs: object, plan: object = None) -> list[dict[str, object]]:
    """See nccl_diagnosis.yml."""
    from ansible_collections.switchless.spark.plugins.module_utils._nccl.diagnose import diagnose

    return diagnose(logs, plan)


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Names to functions."""
        return {"nccl_diagnosis": nccl_diagnosis}
