# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter fabric_report: what a run proved of the fabric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def fabric_report(plan: object, proofs: object, measured: object = None) -> dict[str, Any]:
    """See fabric_report.yml."""
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.report import report

    return report(plan, proofs, measured)


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Names to functions."""
        return {"fabric_report": fabric_report}
