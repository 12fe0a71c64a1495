# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter preflight_findings: whether nodes are fit, from what preflight_info saw of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ansible.errors import AnsibleFilterError
from ansible.module_utils.parsing.convert_bool import boolean


def _names(value: object) -> list[str]:
    """-e preflight_accept=a,b is text."""
    if isinstance(value, str):
        return [name.strip() for name in value.split(",") if name.strip()]
    return [str(name) for name in value] if isinstance(value, list) else []


def preflight_findings(
    nodes: object,
    *,
    require_gb10: object = True,
    max_clock_skew_seconds: float = 60,
    max_swap_used_mib: float = 1024,
    judged_at: float | None = None,
    accept: object = (),
) -> list[dict[str, object]]:
    """See preflight_findings.yml."""
    from ansible_collections.switchless.spark.plugins.module_utils._fabric.plain import plain
    from ansible_collections.switchless.spark.plugins.module_utils._preflight.judge import CODES, judge, unknown_codes
    from ansible_collections.switchless.spark.plugins.module_utils._preflight.model import Wanted

    seen, accepted = plain(nodes), _names(plain(accept))
    if not isinstance(seen, Mapping) or not all(isinstance(one, Mapping) for one in seen.values()):
        raise AnsibleFilterError(
            "preflight_findings: the input is not a mapping of hosts to what preflight_info returned"
        )
    if wrong := unknown_codes(accepted):
        raise AnsibleFilterError(
            f"preflight_findings: preflight_accept has {', '.join(wrong)}, expected some of {', '.join(sorted(CODES))}"
        )
    wanted = Wanted(
        require_gb10=boolean(require_gb10),
        max_clock_skew_seconds=float(max_clock_skew_seconds),
        max_swap_used_mib=float(max_swap_used_mib),
        judged_at=None if judged_at is None else float(judged_at),
    )
    return [finding.as_dict() for finding in judge(seen, wanted, accepted)]


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Names to functions."""
        return {"preflight_findings": preflight_findings}
