# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""IPv4 text to integers, and the networks that no cable can have."""

from __future__ import annotations

from .model import Subnet

DEFAULT_POOL = "198.18.0.0/15"
"""RFC 2544's benchmarking range: no LAN, VPN or container network uses it."""

DEFAULT_PREFIX_LENGTH = 24
SHORTEST_PREFIX = 8
LONGEST_PREFIX = 30


class AddressError(ValueError):
    """Text that is no usable IPv4 address or network; the message says why, to be put behind the text itself."""


_OCTETS = {str(number): number for number in range(256)}
"""A look-up is several times faster than to check and convert digits, and knows neither signs nor leading zeros."""


def parse_address(text: str) -> int:
    """`a.b.c.d` as an integer. Raises AddressError."""
    try:
        a, b, c, d = text.split(".")
        return _OCTETS[a] << 24 | _OCTETS[b] << 16 | _OCTETS[c] << 8 | _OCTETS[d]
    except (ValueError, KeyError):
        raise AddressError(_why_not(text)) from None


def _why_not(text: str) -> str:
    """What is wrong with the text of an address."""
    parts = text.split(".")
    if ":" in text:
        return "is not IPv4 (NCCL compares the IPv4 addresses of two ends): give an IPv4 address"
    if len(parts) != 4 or not all(part.isascii() and part.isdigit() and len(part) <= 3 for part in parts):
        return "is not an IPv4 address (four numbers 0 to 255 with dots between)"
    if any(len(part) > 1 and part[0] == "0" for part in parts):
        return "has a number with a leading zero, which some programs read as octal: leave the zero out"
    return "has a number above 255, so it is not an IPv4 address"


def parse_network(text: str) -> Subnet:
    """`a.b.c.d/length` with no bit set behind the length. Raises AddressError."""
    address, slash, length = text.partition("/")
    if not slash:
        raise AddressError(
            f"has no prefix length: write it as {text}/{DEFAULT_PREFIX_LENGTH}"
            if _is_address(text)
            else "is not an IPv4 network: write it as a.b.c.d/24"
        )
    number = parse_address(address)
    if not (length.isascii() and length.isdigit() and len(length) <= 2 and int(length) <= 32):
        raise AddressError(f"has no prefix length but {length!r} behind the slash: write a number from 0 to 32")
    network = network_of(number, int(length))
    if network.network != number:
        raise AddressError(f"has host bits set: the network is {network}")
    return network


def parse_usable(text: str) -> Subnet:
    """A network that hosts may have unicast addresses in. Raises AddressError."""
    subnet = parse_network(text)
    for reserved, purpose in _RESERVED:
        if subnet.network <= reserved.last and reserved.network <= subnet.last:
            raise AddressError(
                f"lies in {reserved}, which is reserved for {purpose}: take private addresses, "
                f"or leave subnets out and let the pool {DEFAULT_POOL} give them"
            )
    return subnet


def network_of(address: int, prefix_length: int) -> Subnet:
    """The network of that length that holds the address."""
    return Subnet(address >> (32 - prefix_length) << (32 - prefix_length), prefix_length)


def _is_address(text: str) -> bool:
    try:
        parse_address(text)
    except AddressError:
        return False
    return True


_RESERVED = tuple(
    (parse_network(network), purpose)
    for network, purpose in (
        ("0.0.0.0/8", "'this network'"),
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link-local addresses"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "future use and broadcast"),
    )
)
