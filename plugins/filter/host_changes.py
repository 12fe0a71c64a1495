# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter host_changes: what has to be done for a node to be as it should."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def host_changes(seen: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """See host_changes.yml."""
    from ansible_collections.switchless.spark.plugins.module_utils._host.changes import changes
    from ansible_collections.switchless.spark.plugins.module_utils._host.model import Seen, Wanted

    return changes(Seen.parse(seen), Wanted.parse(wanted)).as_dict()


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Names to functions."""
        return {"host_changes": host_changes}
