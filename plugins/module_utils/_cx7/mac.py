# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The permanent MAC address of a netdev: sysfs only has the current one."""

from __future__ import annotations

import array
import fcntl
import socket
import struct

SIOCETHTOOL = 0x8946
ETHTOOL_GPERMADDR = 0x20
MAC_BYTES = 6
IFNAME_BYTES = 16


def permanent(netdev: str) -> str | None:
    """None when the driver does not know one (a veth, a bridge)."""
    answer = array.array("B", struct.pack("II", ETHTOOL_GPERMADDR, 32) + bytes(32))
    request = struct.pack(f"{IFNAME_BYTES}sP16x", netdev.encode()[: IFNAME_BYTES - 1], answer.buffer_info()[0])
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            fcntl.ioctl(sock.fileno(), SIOCETHTOOL, request)
    except OSError:
        return None
    address = answer.tobytes()[8 : 8 + MAC_BYTES]
    return ":".join(f"{byte:02x}" for byte in address) if any(address) else None
