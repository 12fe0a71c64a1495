# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the ports of a Spark are called, and the identities of one virtual Spark."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

CAGES = ("p0", "p1")
ROOTS = ("A", "B")
DOMAINS = {"A": "0000", "B": "0002"}  # PCI domain of each PCIe root
MANAGEMENT = "enP7s7"
MTU_MAX = 9978


@dataclass(frozen=True)
class Function:
    """One PCI function of the ConnectX-7: a cage as one PCIe root sees it."""

    cage: str
    root: str
    netdev: str
    pci: str
    rdma: str


FUNCTIONS = (
    Function("p0", "A", "enp1s0f0np0", "0000:01:00.0", "rocep1s0f0"),
    Function("p0", "B", "enP2p1s0f0np0", "0002:01:00.0", "roceP2p1s0f0"),
    Function("p1", "A", "enp1s0f1np1", "0000:01:00.1", "rocep1s0f1"),
    Function("p1", "B", "enP2p1s0f1np1", "0002:01:00.1", "roceP2p1s0f1"),
)


@dataclass(frozen=True)
class Identity:
    """Addresses and numbers of one node: the same at every boot, different for every node of every lab."""

    lab: str
    node: str

    def _digest(self) -> bytes:
        return hashlib.sha256(f"{self.lab}/{self.node}".encode()).digest()

    def mac(self, port: int) -> str:
        """MAC of a port: 0 to 3 as in FUNCTIONS, 15 for management, 16 for the far end of management."""
        return ":".join(f"{byte:02x}" for byte in (0x02, *self._digest()[:4], port))

    def guid(self, port: int) -> str:
        """Node GUID as the RDMA core prints it: the MAC with fffe in the middle."""
        mac = bytes.fromhex(self.mac(port).replace(":", ""))
        return (mac[:3] + b"\xff\xfe" + mac[3:]).hex(":", 2)

    @property
    def switch_id(self) -> str:
        return self.guid(0).replace(":", "")

    @property
    def serial(self) -> str:
        return str(int.from_bytes(self._digest()[4:9], "big"))[:13].rjust(13, "1")


def board(lab: str, node: str, cabled: dict[str, bool]) -> dict[str, Any]:
    """What the node's own stand-ins need to know. `overrides` is the place for faults: see lab/README.md."""
    identity = Identity(lab, node)
    functions = [
        {
            "cage": function.cage,
            "root": function.root,
            "netdev": function.netdev,
            "pci": function.pci,
            "rdma": function.rdma,
            "mac": identity.mac(index),
            "node_guid": identity.guid(index),
            "cabled": cabled.get(function.cage, False),
        }
        for index, function in enumerate(FUNCTIONS)
    ]
    return {
        "node": node,
        "serial": identity.serial,
        "switch_id": identity.switch_id,
        "sys_image_guid": identity.guid(0),
        "functions": functions,
    }
