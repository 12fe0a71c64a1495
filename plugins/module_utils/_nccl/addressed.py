# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Errors that name addresses: what they mean depends on where the addresses are."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from .causes import PEER_GONE, PRIMARY, SYMPTOM
from .log import Line, NcclLog
from .places import Place, Places, ipv4
from .version import too_old, words

DOCKER = ipaddress.IPv4Network("172.17.0.0/16")
FEW_RETRIES = 5
"""A peer that starts a little later costs a few."""

_MODIFY = re.compile(
    r"ibv_modify_qp failed with (?:errno |error )?(?:(?P<number>\d+)\b)?\W*(?P<words>[A-Za-z ]*)", re.IGNORECASE
)
_DEVICE = re.compile(r"\bdev (?P<device>[^\s:,]+)")
_LOCAL = re.compile(r"local GID +(?P<gid>[0-9a-fA-F:.x]+)")
_REMOTE = re.compile(r"remote GID +(?P<gid>[0-9a-fA-F:.x]+)")
_COMPLETION = re.compile(
    r"Got completion (?:from peer \S+ )?with (?:error (?P<old>\d+)|status=(?:\w+\((?P<new>\d+)\)|(?P<plain>\d+)))"
)
_GIDS = re.compile(r"localGid (?P<local>\S+) +remoteGids? ?(?P<remote>[0-9a-fA-F:.]+)")
_HCA = re.compile(r"\bhca (?P<device>\S+)")
_CONNECT = re.compile(
    r"[Cc]onnect to (?P<address>[\w.:-]+)<\d+> (?:returned|failed ?:) "
    r"(?P<error>[A-Z][\w ]+?)(?P<retry>, retrying)?(?:,| \(|$)"
)
_CLOSED = re.compile(r"Connection closed by remote peer (?P<address>[\d.]+)<")
_USING = re.compile(r"NET/(?:IB|Socket) : Using \[")
_TORCH = re.compile(r"(?:trying to connect to|failed to connect to) \(?(?P<address>[\d.]+), (?P<port>\d+)\)")

RETRY_EXCEEDED = "12"
ERRNO = {"110": "Connection timed out", "22": "Invalid argument", "61": "No data available", "101": "Network"}
"""Errno to how its words begin: older NCCLs print the words only."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What an error means where it was printed."""

    code: str
    cause: str
    cure: str
    check: str
    place: Place | None = None
    weight: str = PRIMARY


SUBNET_CURE = (
    f"NCCL {words()} or newer, NCCL_IB_SUBNET_AWARE_ROUTING=1, NCCL_IB_MERGE_NICS=0 and the channel graph on every "
    "rank: the role transport writes them"
)
ADDRESS_CURE = (
    "Address both twins of the cage on both nodes (role fabric) and leave NCCL_IB_GID_INDEX unset on every rank, which "
    "is not the same as empty"
)


def means(line: Line, log: NcclLog, places: Places, prefix: int) -> Meaning | None:
    """Read a line that names addresses; nothing if it is none."""
    if "ibv_modify_qp failed" in line.text:
        return _modify(line, log, places, prefix)
    completion = _COMPLETION.search(line.text)
    if completion is not None and RETRY_EXCEEDED in completion.groups():
        return _completion(line.text, places)
    connect = _CONNECT.search(line.text)
    if connect is not None and not connect["retry"]:
        return _connect(connect["address"], connect["error"], places)
    closed = _CLOSED.search(line.text)
    place = places.find(closed["address"]) if closed else None
    if place is not None:
        return Meaning(
            PEER_GONE,
            f"the other end of a connection over {place} went away: its process ended, or the cable did",
            "Read the logs of the other ranks at that time; look at the cable if none of them failed by itself",
            "carrier changes of both ends (cx7_info)",
            place,
            SYMPTOM,
        )
    torch = _TORCH.search(line.text)
    return None if torch is None else _connect(torch["address"], "Connection timed out", places)


def missing(log: NcclLog, host: str | None, places: Places) -> tuple[Line, Meaning] | None:
    """Ports that NCCL was told to use and does not have. It leaves out those without a link, and says nothing of it."""
    sockets = any(device.address for device in log.devices)
    names = log.environment.get("NCCL_SOCKET_IFNAME" if sockets else "NCCL_IB_HCA", "")
    using = next((line for line in log.lines if log.devices and _USING.search(line.text)), None)
    if using is None or not names.startswith("="):
        return None
    have = {device.name for device in log.devices}
    gone = [name for name in (one.partition(":")[0] for one in names[1:].split(",")) if name not in have]
    if not gone:
        return None
    addresses = {ipv4(device.address) for device in log.devices}
    unseen = [place for address, place in places.of_host(host).items() if address not in addresses]
    place = unseen[0] if unseen and sockets else None
    where = f" ({'; '.join(map(str, unseen))})" if place else ""
    meaning = Meaning(
        "port_missing",
        f"NCCL does not have {', '.join(gone)}{where}, which it was told to use: no link or no address there, and the "
        "devices after it have other numbers than in the channel graph",
        "Seat the cable, or address the port (role fabric); without it leave the cable out of the plan",
        f"carrier and address of {gone[0]} (cx7_info); 'Using [0]' in the log",
        place,
    )
    return using, meaning


def stalled(log: NcclLog, places: Places) -> tuple[Line, Meaning] | None:
    """A rank that never got past connecting: it says so as information only."""
    tries: dict[str, list[tuple[Line, str]]] = {}
    connected = any("Connected all rings" in line.text for line in log.lines)
    for line in () if connected else log.lines:
        match = _CONNECT.search(line.text)
        if match is not None and match["retry"]:
            tries.setdefault(match["address"], []).append((line, match["error"]))
    for address, lines in tries.items():
        if len(lines) >= FEW_RETRIES:
            return lines[0][0], _connect(address, lines[0][1], places, SYMPTOM)
    return None


def _found(pattern: re.Pattern[str], text: str, group: str) -> str | None:
    match = pattern.search(text)
    return match[group] if match else None


def _modify(line: Line, log: NcclLog, places: Places, prefix: int) -> Meaning:
    match = _MODIFY.search(line.text)
    said = (match["words"] if match else "").strip()
    number = (match["number"] if match else None) or next((n for n, w in ERRNO.items() if said.startswith(w)), None)
    device = _found(_DEVICE, line.text, "device") or "the device"
    local, remote = _found(_LOCAL, line.text, "gid"), _found(_REMOTE, line.text, "gid")
    unaddressed = _unaddressed(device, local, remote, places)
    if unaddressed is not None:
        return unaddressed
    here, there = places.find(local), places.find(remote)
    where = f"{_shown(local, here, places)} to {_shown(remote, there, places)}"
    if number == "61":
        return Meaning("no_gid", f"{device} has nothing at the GID index that NCCL used", ADDRESS_CURE, GID_CHECK, here)
    if number == "110" and _one_network(local, remote, here, there, prefix):
        return Meaning(
            "cable",
            f"the other end did not answer on the cable that joins both: {where}. The cable is out, the peer's port is "
            "down, or the cable leads elsewhere than its addresses say",
            "Seat the cable or move it to where the plan says",
            f"ping the remote address through the port of {device}; the role cabling compares the cables with the plan",
            here,
        )
    if number == "22":
        return Meaning(
            "gid_mismatch",
            f"{device} refuses the peer's address: the ends use GIDs of different kinds, or the wrong port",
            ADDRESS_CURE,
            GID_CHECK,
            here,
        )
    connected = any("Connected all rings" in other.text for other in log.lines if other.number < line.number)
    if connected and number in ("110", "101"):
        return Meaning(
            "tree_connect",
            "the ring was connected, then NCCL connected something else, as a rule the tree, between ranks that share "
            f"no cable{f': {where}' if local and remote else ''}",
            "NCCL_CUMEM_ENABLE=1, NCCL_RUNTIME_CONNECT=1 and NCCL_ALGO=Ring on every rank: then only the ring is "
            "connected",
            f"'Connected all rings' before it in the log; {_settings(log)}",
            there,
        )
    return Meaning(
        "no_cable",
        f"NCCL paired two ports that no cable joins: {where}"
        if local and remote
        else "NCCL paired two ports that no cable joins, or a cable that joins them does not work",
        SUBNET_CURE,
        f"the two GIDs are the two ports that were paired; {_settings(log)}",
        here,
    )


GID_CHECK = "the GID table of both ends (cx7_info shows it), and NCCL_IB_GID_INDEX in the environment of every rank"


def _unaddressed(device: str, local: str | None, remote: str | None, places: Places) -> Meaning | None:
    """The side whose GID is empty or link-local is the one that is wrong, whoever prints it."""
    bad = [
        (side, gid)
        for side, gid in (("this node", local), ("the peer", remote))
        if gid is not None and _no_address(gid)
    ]
    if not bad:
        return None
    sides = " and ".join(side for side, _gid in bad)
    kinds = " and ".join(dict.fromkeys("empty" if gid.strip(":") == "" else "link-local" for _side, gid in bad))
    moved = " The tables of both ends moved" if len(bad) > 1 else ""
    return Meaning(
        "no_gid",
        f"{sides} used a GID that is {kinds}: its port has no IPv4 address at that index ({device} here).{moved}",
        ADDRESS_CURE,
        GID_CHECK,
        places.find(local) or places.find(remote),
    )


def _shown(gid: str | None, place: Place | None, places: Places) -> str:
    return f"{gid} ({place or 'not in the plan'})" if places else str(gid)


def _no_address(gid: str) -> bool:
    return gid.strip(":") == "" or gid.lower().startswith("fe80")


def _one_network(local: str | None, remote: str | None, here: Place | None, there: Place | None, prefix: int) -> bool:
    """Whether two addresses are on one cable: by the plan, else by what a plan would do."""
    if here is not None and there is not None:
        return here.subnet == there.subnet
    one, other = ipv4(local), ipv4(remote)
    if one is None or other is None:
        return False
    return other in ipaddress.IPv4Network(f"{one}/{prefix}", strict=False)


def _settings(log: NcclLog) -> str:
    """What this log says of what decides."""
    version = f"NCCL {log.version}{' (too old)' if too_old(log.version) else ''}" if log.version else "no version"
    names = ("NCCL_IB_SUBNET_AWARE_ROUTING", "NCCL_GRAPH_FILE", "NCCL_CUMEM_ENABLE", "NCCL_IB_HCA")
    seen = ", ".join(f"{name}={log.environment[name]}" for name in names if name in log.environment)
    return f"this log has {version}, wanted {words()}, and sets {seen or 'none of ' + ', '.join(names)}"


def _completion(text: str, places: Places) -> Meaning:
    gids = _GIDS.search(text)
    local, remote = (gids["local"], gids["remote"]) if gids else (None, None)
    device = _found(_HCA, text, "device")
    place = places.find(local) or places.find(remote)
    where = f" from {local} to {remote}" if gids else ""
    return Meaning(
        "unanswered",
        f"the peer stopped answering over RDMA{where}{f' on {device}' if device else ''}: a cable or its peer went "
        "away, the MTU differs between its ends, or the GID is not an IPv4 one of RoCE v2",
        "Mend the cable; the same MTU at both ends; NCCL_IB_GID_INDEX unset",
        "MTU, carrier and GIDs at both ends (cx7_info), and whether the peer's process was alive",
        place,
    )


def _connect(address: str, error: str, places: Places, weight: str = PRIMARY) -> Meaning:
    place = places.find(address)
    if place is not None:
        return Meaning(
            "fabric_unreachable",
            f"{address} ({place}) cannot be reached over TCP: {error}",
            f"Mend the cable {place.cable}; on a ring with the control plane on the fabric, the role fabric sets the "
            "routes and the relays",
            f"ping {address} from this node, then from its neighbours",
            place,
            weight,
        )
    number = ipv4(address)
    if number is not None and number in DOCKER:
        return Meaning(
            "docker_address",
            f"the other rank gave {address}, an address of Docker's bridge, which no other node reaches",
            "Start the container with the host's network, and set VLLM_HOST_IP to the node's own address",
            "VLLM_HOST_IP and the container's network on the node that listens",
            weight=weight,
        )
    refused = "refused" in error
    return Meaning(
        "control_refused" if refused else "control_unreachable",
        f"{address}, on the control plane, cannot be reached: {error}. "
        + (
            "Nobody listens there: the other rank is not up, or has ended"
            if refused
            else "A firewall such as ufw drops what comes to the port, which is another one on each start, or the "
            "address is not the node's"
        ),
        "Read the log of the rank that has this address"
        if refused
        else "Allow all traffic between the nodes' control addresses; give each rank its own VLLM_HOST_IP",
        f"`ufw status` and `ip -br -4 address` on the node that has {address}",
        weight=weight,
    )
