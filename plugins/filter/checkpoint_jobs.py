# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter checkpoint_jobs: which node takes which file of a checkpoint from whom."""

from __future__ import annotations

from collections.abc import Callable

from ansible.errors import AnsibleFilterError


def checkpoint_jobs(
    manifest: object, plan: object, source: str, path: str, port: int | None = None, reserve_gb: float = 0
) -> dict[str, object]:
    """See checkpoint_jobs.yml."""
    from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.manifest import (
        ManifestError,
        parse_manifest,
    )
    from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.share import DEFAULT_PORT, jobs
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.errors import FabricError
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.plain import plain
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.plan import plan_from_dict

    try:
        known, files = plan_from_dict(plan), parse_manifest(plain(manifest))
        reserve = int(float(reserve_gb) * 1e9)  # -e gives text
        return jobs(
            known, files, str(source), path=str(path), port=DEFAULT_PORT if port is None else int(port), reserve=reserve
        )
    except (FabricError, ManifestError, ValueError) as error:
        raise AnsibleFilterError(f"checkpoint_jobs: {error}") from error


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Names to functions."""
        return {"checkpoint_jobs": checkpoint_jobs}
