# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter vllm_diagnosis: the first real error of the rank that failed first, from all ranks' journals."""

from __future__ import annotations

from collections.abc import Callable


def vllm_diagnosis(journals: object, plan: object = None, ranks: object = None) -> dict[str, object]:
    """See vllm_diagnosis.yml."""
    from ansible_collections.switchless.spark.plugins.module_utils._serving.diagnose import diagnose

    return diagnose(journals, plan, ranks)


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Names to functions."""
        return {"vllm_diagnosis": vllm_diagnosis}
