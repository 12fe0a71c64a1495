# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter nccl_graph_findings: whether the channel graphs of the nodes follow the cables."""

from __future__ import annotations

from collections.abc import Callable

from ansible.errors import AnsibleFilterError


def nccl_graph_findings(
    nodes: object, plan: object, *, nccl: str | None = None, dumped: bool = False
) -> list[dict[str, object]]:
    """See nccl_graph_findings.yml."""
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError
    from ansible_collections.switchless.spark.plugins.module_utils._nccl.validate import node_findings

    try:
        return node_findings(nodes, plan, nccl=nccl, dumped=bool(dumped))
    except FabricError as exc:
        raise AnsibleFilterError(f"nccl_graph_findings: {exc}") from exc


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Names to functions."""
        return {"nccl_graph_findings": nccl_graph_findings}
