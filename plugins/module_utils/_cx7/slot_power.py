# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The register MPEIN: what the NIC itself was told about the power of its slot. Read only when asked for.

After a hot-plug any tool that opens the device through mstflint_access can crash the kernel (Mellanox/mstflint 1786),
so this refuses unless the whole log of this boot is there and shows none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Runner

from .kernel_log import Findings
from .model import Function, SlotPowerRegister

TOOLS = ("mstreg", "mlxreg")  # mstflint's, NVIDIA MFT's
STATUS = {0: "not_advertised", 1: "sufficient", 2: "insufficient"}
HOTPLUG_KINDS = ("hotplug_plugin", "hotplug_removal")
_FIELD = re.compile(r"^(?P<name>pwr_status|pci_power)\s*\|\s*(?P<value>0x[0-9a-fA-F]+)", re.MULTILINE)


class RegisterRefusedError(Exception):
    """Reading would be dangerous, or it cannot be known that it is not."""


def argv(tool: str, pci: str) -> tuple[str, ...]:
    indexes = "depth=0x0,pcie_index=0x0,node=0x0"
    return (tool, "-d", pci, "--get", "--reg_name", "MPEIN", "--indexes", indexes)


def parse(pci: str, text: str) -> SlotPowerRegister:
    """The table that mstreg prints: C(name | 0x0000…) lines."""
    values = {match["name"]: int(match["value"], 16) for match in _FIELD.finditer(text)}
    status = values.get("pwr_status")
    return SlotPowerRegister(
        pci=pci,
        status=None if status is None else STATUS.get(status, f"reserved ({status})"),
        watts=values.get("pci_power") or None,
        raw=text.strip(),
    )


def read_registers(
    runner: Runner, functions: Sequence[Function], findings: Findings, log_complete: bool, warnings: list[str]
) -> tuple[SlotPowerRegister, ...]:
    """One read per function; C(RegisterRefusedError) when this boot had a hot-plug or may have had one."""
    seen = next((event for event in findings.events if event.kind in HOTPLUG_KINDS), None)
    if seen is not None:
        raise RegisterRefusedError(
            f"The slot power register is not read: this boot had a hot-plug ({seen.text!r}). Reboot first."
        )
    if not log_complete:
        raise RegisterRefusedError(
            "The slot power register is not read: the kernel log does not reach back to the boot, "
            "so a hot-plug cannot be excluded"
        )
    found = []
    for function in functions:
        for tool in TOOLS:
            result = runner.run(argv(tool, function.pci))
            if result.missing:
                continue
            if result.rc == 0:
                found.append(parse(function.pci, result.stdout))
            else:
                warnings.append(
                    f"{tool} cannot read MPEIN of {function.pci}: {result.stderr.strip() or result.stdout.strip()}"
                )
            break
        else:
            warnings.append(f"The slot power register is not read: none of {', '.join(TOOLS)} is installed")
            break
    return tuple(found)
