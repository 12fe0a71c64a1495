# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines for C(/etc/hosts): every node of a fabric by its address on the control plane.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping

from ansible_collections.switchless.spark.plugins.module_utils._fabric.host import host_view
from ansible_collections.switchless.spark.plugins.module_utils._fabric.model import Plan, dotted

NAME = re.compile(r"(?!localhost)(?![0-9.]+$)[A-Za-z0-9][A-Za-z0-9_.-]*")


def names(plan: Plan, management: Mapping[str, object]) -> tuple[str, ...]:
    """In the order of the ranks. A node whose address is a name that others have to look up is left out."""
    found = []
    for name in plan.order:
        if plan.control_plane == "fabric":
            address = dotted(host_view(plan, name).ports[0].address)
        else:
            address = usable(str(management.get(name, "")))
        if address and NAME.fullmatch(name):
            found.append(f"{address} {name}")
    return tuple(found)


def usable(text: str) -> str:
    """An address that other nodes can reach; empty for a name, and for a node's way to itself."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return ""
    return "" if address.is_loopback or address.is_unspecified else text
