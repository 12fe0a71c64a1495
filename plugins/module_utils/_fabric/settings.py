# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""All that the user sets besides the cables, read with every mistake noted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from .addresses import AddressError, network_of, parse_address, parse_usable
from .cables import CableInput
from .errors import did_you_mean, listing, shown
from .model import SWITCH, Subnet
from .plain import plain
from .subnets import Pool, Taken

CONTROL_PLANES = ("management", "fabric")

MTU_LEAST = 1280
"""What IPv6 asks of any link."""

MTU_MOST = 9978
"""ConnectX-7's maximum."""

_HOST_NAME = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?\.?")


def parse_hosts(raw: object, problems: list[str]) -> tuple[str, ...]:
    """Read the members of the group, each once. Any iterable of names but a string."""
    value = raw if isinstance(raw, (str, Mapping)) or not isinstance(raw, Iterable) else plain(list(raw))
    if not isinstance(value, list):
        problems.append(f"hosts is {shown(raw)}: expected the list of the fabric's hosts, such as groups['sparks']")
        return ()
    names: dict[str, None] = {}
    for item in value:
        if item == SWITCH:
            problems.append(
                f"hosts has {SWITCH!r}: that word is the far end of a cable to a switch; give the host another name"
            )
        elif isinstance(item, str) and item.strip():
            names[item] = None
        else:
            problems.append(f"hosts has {shown(item)}: expected a host's name; put the name in quotes")
    if len(names) < 2 and len(names) == len(value):
        whom = f"1 host ({listing(names)})" if names else "no hosts"
        problems.append(f"the group has {whom}: a fabric needs at least 2; add the others to the group")
    return tuple(names)


def parse_head(raw: object, hosts: Sequence[str], cables: Sequence[CableInput], problems: list[str]) -> str | None:
    """Read the head; without one it is the first end of the first cable, which does not depend on the group's order."""
    value = plain(raw)
    if value is None or value == "":
        return next((cable.ends[0].host for cable in cables if cable.ends), None)
    if not isinstance(value, str):
        problems.append(f"fabric_head is {shown(value)}: expected a host's name; put the name in quotes")
        return None
    if value not in hosts:
        problems.append(
            f"fabric_head {value!r} is not in the fabric ({listing(hosts)}): name one of its hosts"
            + did_you_mean(value, hosts)
        )
        return None
    return value


def parse_mtu(raw: object, problems: list[str]) -> int:
    """Read the MTU in bytes. Digits as text are taken: that is what `-e fabric_mtu=9000` gives."""
    value = plain(raw)
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not MTU_LEAST <= value <= MTU_MOST:
        problems.append(
            f"fabric_mtu is {shown(value)}: expected an integer from {MTU_LEAST} to {MTU_MOST} (bytes): 9000 is usual"
        )
        return MTU_LEAST
    return value


def parse_control_plane(raw: object, problems: list[str]) -> str:
    """Read where TCP control traffic goes."""
    value = plain(raw)
    if not isinstance(value, str) or value not in CONTROL_PLANES:
        problems.append(
            f"fabric_control_plane is {shown(value)}: expected {' or '.join(CONTROL_PLANES)}: "
            "management keeps control traffic off the cables"
        )
        return CONTROL_PLANES[0]
    return value


def parse_pool(raw: object, problems: list[str]) -> Pool | None:
    """Read the pool."""
    value = plain(raw)
    if not isinstance(value, str):
        problems.append(f"fabric_subnet_pool is {shown(value)}: expected a network such as 198.18.0.0/15")
        return None
    try:
        return Pool(parse_usable(value))
    except AddressError as exc:
        problems.append(f"fabric_subnet_pool {value!r} {exc}")
        return None


def parse_management(raw: object, problems: list[str]) -> list[Taken]:
    """Read what the management network uses: a list, or a mapping of hosts, of addresses and networks.

    `192.0.2.11/24` (an address with its length) means its network. Names (spark1.local) and IPv6 addresses cannot meet
    an IPv4 subnet as far as a plan can know, and are passed over.
    """
    value = plain(raw)
    by_user: dict[object, object] = value if isinstance(value, dict) else {"": [] if value is None else value}
    users: dict[Subnet, set[str]] = {}
    for user, items in by_user.items():
        for item in items if isinstance(items, list) else [items]:
            what = f"management of {user}" if user else "management"
            if not isinstance(item, str) or not item:
                problems.append(f"{what} is {shown(item)}: expected an address such as 192.0.2.11, or a network")
                continue
            try:
                subnet = _parse_taken(item)
            except AddressError as exc:
                problems.append(f"{what} {item!r} {exc}")
                continue
            if subnet is not None:
                users.setdefault(subnet, set()).update({str(user)} if user else ())
    order = sorted(users, key=lambda subnet: (subnet.network, subnet.prefix_length))
    return [Taken(subnet, tuple(sorted(users[subnet]))) for subnet in order]


def _parse_taken(text: str) -> Subnet | None:
    if ":" in text or _HOST_NAME.fullmatch(text):
        return None
    address, slash, length = text.partition("/")
    number = parse_address(address)
    if not slash:
        return Subnet(number, 32)
    if not (length.isascii() and length.isdigit() and 1 <= int(length) <= 32):
        raise AddressError(f"has no prefix length but {length!r} behind the slash: write a number from 1 to 32")
    return network_of(number, int(length))
