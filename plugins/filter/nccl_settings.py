# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter nccl_settings: what NCCL and vLLM must be told on one node."""

from __future__ import annotations

from collections.abc import Callable

from ansible.errors import AnsibleFilterError
from ansible.module_utils.parsing.convert_bool import boolean


def nccl_settings(
    host: object,
    plan: object,
    functions: object,
    control: object,
    *,
    graph_file: str | None = None,
    channels: object = None,
    net: object = "rdma",
    arx: object = True,
    device_order: object = None,
    debug: object = "INFO",
) -> dict[str, object]:
    """See nccl_settings.yml."""
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError
    from ansible_collections.switchless.spark.plugins.module_utils._nccl.settings import (
        DEFAULT_CHANNELS,
        DEFAULT_GRAPH_FILE,
        settings,
    )

    try:
        return settings(
            host,
            plan,
            functions,
            control,
            graph_file=DEFAULT_GRAPH_FILE if graph_file is None else graph_file,
            channels=DEFAULT_CHANNELS if channels is None else channels,
            net=net,
            arx=boolean(arx),  # -e transport_arx=false is text
            device_order=device_order,
            debug=debug,
        )
    except FabricError as exc:
        raise AnsibleFilterError(f"nccl_settings: {exc}") from exc


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Names to functions."""
        return {"nccl_settings": nccl_settings}
