# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PCI: which functions are ConnectX-7, what their address says, what their link gives."""

from __future__ import annotations

import re

from .model import CAGE_OF_FUNCTION, ROOT_OF_DOMAIN, RootPort
from .sysfs import Tree, integer

VENDOR_MELLANOX = 0x15B3
DEVICE_CX7 = 0x1021

_ADDRESS = re.compile(r"(?P<domain>[0-9a-f]{4}):[0-9a-f]{2}:[0-9a-f]{2}\.(?P<function>[0-7])", re.IGNORECASE)
_SPEED = re.compile(r"(?P<gts>\d+(?:\.\d+)?) GT/s")
UNKNOWN_WIDTH = 255  # what a powered-down link reads


def place(address: str) -> tuple[str | None, str | None]:
    """(root, cage) of a PCI address; None for a domain or function number that a Spark's ConnectX-7 does not have."""
    match = _ADDRESS.fullmatch(address)
    if match is None:
        return None, None
    return ROOT_OF_DOMAIN.get(match["domain"]), CAGE_OF_FUNCTION.get(match["function"])


def is_address(text: str) -> bool:
    return _ADDRESS.fullmatch(text) is not None


def link_speed_gts(text: str | None) -> float | None:
    """C(32.0 GT/s PCIe) → 32.0; C(Unknown) → None."""
    match = _SPEED.match(text or "")
    return float(match["gts"]) if match else None


def link_width(text: str | None) -> int | None:
    width = integer(text)
    return width if width is not None and 0 < width < UNKNOWN_WIDTH else None


def is_cx7(sys: Tree, *device: str) -> bool:
    return (
        integer(sys.read(*device, "vendor")) == VENDOR_MELLANOX and integer(sys.read(*device, "device")) == DEVICE_CX7
    )


def device_behind(sys: Tree, kind: str, name: str) -> str | None:
    """The PCI address behind C(class/<kind>/<name>/device): from the link, or from its uevent when it is a copy."""
    target = sys.target("class", kind, name, "device")
    if target is not None and is_address(target):
        return target
    for line in (sys.read("class", kind, name, "device", "uevent") or "").splitlines():
        key, _sep, value = line.partition("=")
        if key == "PCI_SLOT_NAME" and is_address(value):
            return value
    return None


def find(sys: Tree) -> list[str]:
    """Addresses of all ConnectX-7 functions by PCI id, never by name; sorted."""
    found = {name for name in sys.names("bus", "pci", "devices") if is_cx7(sys, "bus", "pci", "devices", name)}
    if not found:  # no PCI bus to be seen: ask the netdevs what they stand on
        for netdev in sys.names("class", "net"):
            address = device_behind(sys, "net", netdev)
            if address is not None and is_cx7(sys, "class", "net", netdev, "device"):
                found.add(address)
    return sorted(found)


def root_ports(sys: Tree) -> tuple[RootPort, ...]:
    """The two root ports that lead to the NIC, as far as they are there."""
    ports = []
    for domain, root in ROOT_OF_DOMAIN.items():
        address = f"{domain}:00:00.0"
        folder = ("bus", "pci", "devices", address)
        if not sys.exists(*folder):
            continue
        raw = {key: sys.read(*folder, key) for key in ("current_link_speed", "current_link_width")}
        ports.append(
            RootPort(
                root=root,
                pci=address,
                pcie_speed_gts=link_speed_gts(raw["current_link_speed"]),
                pcie_width=link_width(raw["current_link_width"]),
                raw=raw,
            )
        )
    return tuple(ports)
