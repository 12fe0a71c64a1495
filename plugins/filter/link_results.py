# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter link_results: what both ends of each cable measured, judged."""

from __future__ import annotations

from collections.abc import Callable


def link_results(
    schedule: object, measured: object, minimum: float | None = None, unmade: str = ""
) -> dict[str, object]:
    """See link_results.yml."""
    from ansible_collections.switchless.spark.plugins.module_utils._link.results import results

    return results(schedule, measured, None if minimum is None else float(minimum), str(unmade))


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Names to functions."""
        return {"link_results": link_results}
