# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter transport_report: every stage of the transport's proof, judged."""

from __future__ import annotations

from collections.abc import Callable

from ansible.errors import AnsibleFilterError


def transport_report(
    plan: object, nodes: object, *, unrun: str = "", arx_unrun: str = "", busbw_gbps: float | None = None
) -> dict[str, object]:
    """See transport_report.yml."""
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError
    from ansible_collections.switchless.spark.plugins.module_utils._nccl.report import report

    try:
        return report(
            plan,
            nodes,
            unrun=str(unrun),
            arx_unrun=str(arx_unrun),
            busbw_gbps=None if busbw_gbps is None else float(busbw_gbps),
        )
    except FabricError as exc:
        raise AnsibleFilterError(f"transport_report: {exc}") from exc


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Names to functions."""
        return {"transport_report": transport_report}
