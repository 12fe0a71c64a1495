# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter vllm_phases: how far a rank's boot is, from its journal."""

from __future__ import annotations

from collections.abc import Callable


def vllm_phases(journal: object, limits: object = None) -> dict[str, object]:
    """See vllm_phases.yml."""
    from ansible_collections.switchless.spark.plugins.module_utils._serving.phases import phases

    return phases(journal, limits)


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Names to functions."""
        return {"vllm_phases": vllm_phases}
