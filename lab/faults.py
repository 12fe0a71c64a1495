# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The faults that a virtual Spark can have, as data: what each makes the node show, and what takes it away.

Nothing here touches a node: inject.py does. A fault that a log, a file or a rate shows is described by the public
reports of the hardware; what the node's stand-ins read of it is `overrides`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from lab.common import LabError, read_json, write_atomic
from lab.hardware import CAGES, DOMAINS, FUNCTIONS, ROOTS, Function

if TYPE_CHECKING:
    from pathlib import Path

    from lab.site import Site

Port = tuple[str, str]  # cage, root
LogLine = tuple[float, int, str]  # seconds, priority, text
Overrides = dict[str, Any]

CAP = "13gbit"  # what a function sends after a hot-plug: 12.7 to 13.5 Gb/s
DIRECTIONS = ("in", "out", "both")
FLAPS = 21  # the count of a public report; a healthy link has none
REMOVAL_SECONDS = 15.2  # the hot-plug driver removes a NIC without cables 5 to 22 s after boot
STUCK_SECONDS = 9.0  # after the boot lines of the hot-plug driver
DROP_UPTIME = 30.0  # a peer that goes down while this node boots is one that reboots along with it
STAGED_KERNEL = "7.0.0-1019-nvidia"
HOTPLUG = "cx7-pcie-hotplug MTKP0001:00:"
WARNING, INFO = 4, 6

# What takes a fault away, besides `clear`.
REBOOT = "a reboot of the node with its cable seated"
SENDERS = "a reboot of the node that sends: of this one for out, of the far one for in"
DRAIN = "taking the node's power away (powercut, poweron)"
RESEAT = "taking the cable out and putting it in (unplug, plug); the count stays until a reboot"
NOTHING = "nothing but `clear`"
CLEAR_THEN_REBOOT = "`clear`, then a reboot"


@dataclass(frozen=True)
class Kind:
    """What is true of every fault of one name."""

    name: str
    text: str
    ended_by: str
    takes: tuple[str, ...] = ()  # of: cage, root, direction
    roots: tuple[str, ...] = ROOTS  # when none is named
    at_once: bool = True  # shows at once, not only from the next boot on
    running: bool = False  # the node has to run
    cabled: bool = True  # the cage has to have a cable
    both_ends: bool = False  # it is the cable's: the far end shows it too


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "late-cable",
            "a cable was plugged while the node ran: hot-plug and slot power lines in the log, sends 13 Gb/s",
            REBOOT,
            ("cage", "root"),
            running=True,
        ),
        Kind(
            "stuck",
            "late-cable again after every reboot",
            DRAIN,
            ("cage", "root"),
        ),
        Kind(
            "throttle",
            "13 Gb/s out (what a late cable gives), in or both, and no line in the log",
            SENDERS,
            ("direction", "cage", "root"),
            running=True,
        ),
        Kind("x2-width", "PCIe root B has two lanes: old system firmware", NOTHING, ("root",), ("B",), cabled=False),
        Kind(
            "fault-retraining",
            "the PCIe link to the NIC cannot be trained: its functions are not there",
            CLEAR_THEN_REBOOT,
            ("root",),
            at_once=False,
            cabled=False,
        ),
        Kind("flap", "the link is lost again and again", RESEAT, ("cage", "root"), both_ends=True),
        Kind(
            "no-cable",
            "no cable in either cage: hot-plug takes the NIC off the bus at once and 15 s after each boot",
            CLEAR_THEN_REBOOT,
            cabled=False,
        ),
        Kind("wrong-speed-100g", "the cable is for 100 Gb/s", NOTHING, ("cage", "root"), both_ends=True),
        Kind(
            "peer-drops-nic",
            "when a peer goes down, hot-plug takes this node's NIC off the bus until this node reboots too",
            NOTHING,
        ),
        Kind(
            "staged-kernel",
            f"{STAGED_KERNEL} lies in /boot, and the next boot starts it unless GRUB_DEFAULT names another",
            NOTHING,
            cabled=False,
        ),
    )
}


@dataclass(frozen=True)
class Fault:
    """One fault of one node."""

    name: str
    ports: tuple[Port, ...] = ()
    direction: str = ""
    shown: bool = False  # its lines are in the log of this boot
    gone: bool = False  # it took the NIC off the bus in this boot

    @property
    def kind(self) -> Kind:
        return KINDS[self.name]

    @property
    def cages(self) -> tuple[str, ...]:
        return tuple(cage for cage in CAGES if any(port[0] == cage for port in self.ports))

    @property
    def roots(self) -> tuple[str, ...]:
        return tuple(root for root in ROOTS if any(port[1] == root for port in self.ports))

    def __str__(self) -> str:
        words = [self.name]
        if self.direction:
            words.append(self.direction)
        if "cage" in self.kind.takes:
            words += self.cages
        if "root" in self.kind.takes:
            words.append("root " + "+".join(self.roots))
        if self.gone:
            words.append("(the NIC is off the bus)")
        return " ".join(words)

    def functions(self) -> list[Function]:
        return [function for function in FUNCTIONS if (function.cage, function.root) in self.ports]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Fault:
        ports = tuple((str(cage), str(root)) for cage, root in data["ports"])
        return cls(data["name"], ports, data["direction"], bool(data["shown"]), bool(data["gone"]))


# --- what the user writes ---


def catalogue() -> str:
    """All faults, one a line, for people."""
    lines = []
    for kind in KINDS.values():
        words = {"cage": "[CAGE]", "root": "[ROOT]", "direction": "[in|out|both]"}
        usage = " ".join([kind.name, *(words[word] for word in kind.takes)])
        lines.append(f"  {usage:<38} {kind.text}; ended by {kind.ended_by}")
    return "\n".join(lines)


def parse(name: str, words: Sequence[str], cabled: Collection[str]) -> Fault:
    """A fault from the words of the command line; `cabled` are the node's cages that have a cable."""
    kind = KINDS.get(name)
    if kind is None:
        raise LabError(f"there is no fault {name!r}; there are:\n{catalogue()}")
    given: dict[str, str] = {}
    choices = {"cage": CAGES, "root": ROOTS, "direction": DIRECTIONS}
    for word in words:
        part = next((part for part in kind.takes if part not in given and word in choices[part]), None)
        if part is None:
            takes = "; ".join(f"{part}: {', '.join(choices[part])}" for part in kind.takes) or "nothing"
            raise LabError(f"{name} does not take {word!r}; it takes, once each, {takes}")
        given[part] = word
    cages = (given["cage"],) if "cage" in given else tuple(cage for cage in CAGES if cage in cabled or not kind.cabled)
    if kind.cabled and not set(cages) & set(cabled):
        where = f"cage {given['cage']} has no cable" if "cage" in given else "no cage has a cable"
        raise LabError(f"{name} is of a port with a cable, and {where}; cages with one: {', '.join(cabled) or 'none'}")
    roots = (given["root"],) if "root" in given else kind.roots
    direction = given.get("direction", "out") if "direction" in kind.takes else ""
    return Fault(name, tuple((cage, root) for cage in cages for root in roots), direction)


# --- what the node shows ---


def hotplug_lines(fault: Fault) -> list[LogLine]:
    """What the kernel says of a cable that comes while it runs; seconds count from the first line."""
    lines: list[LogLine] = [(0.0, INFO, f"{HOTPLUG} Cable plugin")]
    functions = fault.functions()
    for index, function in enumerate(functions):
        name, at = f"mlx5_core {function.pci}:", 4.2 + index * 0.2
        lines += [
            (at, INFO, f"{name} firmware version: 28.45.4028"),
            (at + 0.001, INFO, f"{name} 126.028 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x4 link)"),
            (at + 0.38, INFO, f"{name} Port module event: module {function.cage[1:]}, Cable plugged"),
            (
                at + 0.39,
                INFO,
                f"{name} mlx5_pcie_event:322:(pid 3202): PCIe slot power capability was not advertised.",
            ),
        ]
    return sorted(lines)


def bounce_lines(fault: Fault) -> list[LogLine]:
    """A link that goes and comes: seconds count from the first line."""
    lines: list[LogLine] = []
    for count in range(FLAPS):
        for function in fault.functions():
            name = f"mlx5_core {function.pci} {function.netdev}:"
            lines += [(count * 0.2, INFO, f"{name} Link down"), (count * 0.2 + 0.1, INFO, f"{name} Link up")]
    return sorted(lines)


def removal_lines() -> list[LogLine]:
    """Hot-plug takes the whole NIC off the bus. The correctable errors on the way are harmless."""
    lines: list[LogLine] = [(0.0, INFO, f"{HOTPLUG} Cable removal")]
    for domain in DOMAINS.values():
        port = f"pcieport {domain}:00:00.0:"
        lines += [
            (0.01, WARNING, f"{port} PCIe Bus Error: severity=Correctable, type=Physical Layer, (Receiver ID)"),
            (0.011, WARNING, f"{port}    [ 0] RxErr                  (First)"),
        ]
    lines += [(0.1, INFO, f"mlx5_core {function.pci}: E-Switch: cleanup") for function in FUNCTIONS]
    return sorted(lines)


def lines_now(fault: Fault) -> list[LogLine]:
    """What the node's kernel says when the fault comes while it runs."""
    if fault.name in ("late-cable", "stuck"):
        return hotplug_lines(fault)
    return bounce_lines(fault) if fault.name == "flap" else []


def _port(made: Overrides, function: Function) -> dict[str, dict[str, str]]:
    port: dict[str, dict[str, str]] = made.setdefault("ports", {}).setdefault(function.netdev, {})
    return port


def _stuck(fault: Fault, made: Overrides) -> None:
    made["boot_log"] += [(STUCK_SECONDS + at, priority, text) for at, priority, text in hotplug_lines(fault)]


def _x2_width(fault: Fault, made: Overrides) -> None:
    lane = {"current_link_width": "2"}
    addresses = [f"{DOMAINS[root]}:00:00.0" for root in fault.roots]
    made.setdefault("pci", {}).update(dict.fromkeys([*addresses, *(f.pci for f in fault.functions())], lane))


def _fault_retraining(fault: Fault, made: Overrides) -> None:
    made.setdefault("absent", []).extend(function.pci for function in fault.functions())
    for root in fault.roots:
        port = f"pci {DOMAINS[root]}:00:00.0:"
        made["boot_log"] += [
            (0.61, WARNING, f"{port} broken device, retraining non-functional downstream link at 2.5GT/s"),
            (1.62, WARNING, f"{port} retraining failed"),
        ]


def _flap(fault: Fault, made: Overrides) -> None:
    for function in fault.functions():
        counts = {"carrier_down_count": str(FLAPS), "carrier_up_count": str(FLAPS + 1)}
        _port(made, function).setdefault("net", {}).update(counts | {"carrier_changes": str(2 * FLAPS + 1)})
    made["boot_log"] += [(6.0 + at, priority, text) for at, priority, text in bounce_lines(fault)]


def _no_cable(fault: Fault, made: Overrides) -> None:
    pulled = [
        (-0.1, INFO, f"mlx5_core {function.pci}: Port module event: module {function.cage[1:]}, Cable unplugged")
        for function in FUNCTIONS
    ]
    log = [*(pulled if fault.gone else []), *removal_lines()]
    made["removal"] = {"at": 0.0 if fault.gone else REMOVAL_SECONDS, "log": log}


def _wrong_speed(fault: Fault, made: Overrides) -> None:
    for function in fault.functions():
        port = _port(made, function)
        port["net_up"] = {"speed": "100000"}
        port["rdma_up"] = {"rate": "100 Gb/sec (4X EDR)"}


def _peer_drops_nic(fault: Fault, made: Overrides) -> None:
    if fault.gone:
        made["removal"] = {"at": 0.0, "log": removal_lines()}


EFFECTS: dict[str, Callable[[Fault, Overrides], None]] = {
    "stuck": _stuck,
    "x2-width": _x2_width,
    "fault-retraining": _fault_retraining,
    "flap": _flap,
    "no-cable": _no_cable,
    "wrong-speed-100g": _wrong_speed,
    "peer-drops-nic": _peer_drops_nic,
}


def overrides(faults: Iterable[Fault]) -> Overrides:
    """What the node's stand-ins read: see lab/README.md. Faults without an entry show elsewhere."""
    made: Overrides = {"boot_log": []}
    for fault in faults:
        if fault.name in EFFECTS:
            EFFECTS[fault.name](fault, made)
    made["boot_log"].sort()
    return made


def is_dark(faults: Iterable[Fault]) -> bool:
    """Whether no cable of the node has light."""
    return any(fault.name == "no-cable" for fault in faults)


def absent(faults: Iterable[Fault]) -> set[str]:
    """The network interfaces that a boot does not find."""
    return {function.netdev for fault in faults if fault.name == "fault-retraining" for function in fault.functions()}


def caps(faults: Iterable[Fault]) -> set[tuple[str, str, str]]:
    """(cage, root, direction) of every port that is held to `CAP`; the cap is on what a node sends."""
    found = set()
    for fault in faults:
        if fault.name in ("late-cable", "stuck"):
            found |= {(cage, root, "out") for cage, root in fault.ports}
        elif fault.name == "throttle":
            ways = ("in", "out") if fault.direction == "both" else (fault.direction,)
            found |= {(cage, root, way) for cage, root in fault.ports for way in ways}
    return found


# --- what takes them away ---


def _without(fault: Fault, way: str, cages: Collection[str]) -> list[Fault]:
    """A throttle that no longer holds in one direction in these cages."""
    if fault.direction not in (way, "both"):
        return [fault]
    kept = tuple(port for port in fault.ports if port[0] not in cages)
    left = [replace(fault, ports=kept)] if kept else []
    if fault.direction == "both" and kept != fault.ports:
        ended = tuple(port for port in fault.ports if port not in kept)
        left.append(replace(fault, ports=ended, direction="in" if way == "out" else "out"))
    return left


def rebooted(faults: Iterable[Fault], seated: Collection[str]) -> list[Fault]:
    """What is left when a node boots with cables in these cages."""
    left: list[Fault] = []
    for old in faults:
        fault = replace(old, shown=old.name != "late-cable", gone=False)
        if fault.name == "late-cable":  # one whose cable is out will be late again
            ports = tuple(port for port in fault.ports if port[0] not in seated)
            left += [replace(fault, ports=ports)] if ports else []
        elif fault.name == "throttle":
            left += _without(fault, "out", seated)
        else:
            left.append(fault)
    return left


def peer_rebooted(faults: Iterable[Fault], cages: Collection[str]) -> list[Fault]:
    """What is left when the node at the other end of these cages boots: what it sends is no longer capped."""
    return [
        left for fault in faults for left in (_without(fault, "in", cages) if fault.name == "throttle" else [fault])
    ]


def drained(faults: Iterable[Fault]) -> list[Fault]:
    """What is left when the power is taken away."""
    return [fault for fault in faults if fault.kind.ended_by != DRAIN]


def reseated(faults: Iterable[Fault], cage: str) -> list[Fault]:
    """What is left when a cable is put in."""
    left = []
    for fault in faults:
        if fault.kind.ended_by != RESEAT:
            left.append(fault)
        elif ports := tuple(port for port in fault.ports if port[0] != cage):
            left.append(replace(fault, ports=ports))
    return left


# --- where they are kept ---


def _file(site: Site, node: str) -> Path:
    return site.node(node) / "faults.json"


def load(site: Site, node: str) -> list[Fault]:
    data = read_json(_file(site, node))
    return [Fault.from_json(item) for item in data] if isinstance(data, list) else []


def save(site: Site, node: str, faults: Sequence[Fault]) -> None:
    if faults:
        write_atomic(_file(site, node), json.dumps([asdict(fault) for fault in faults], indent=1) + "\n")
    else:
        _file(site, node).unlink(missing_ok=True)


# --- the staged kernel ---


STAGED_FOLDER = f"usr/lib/modules/{STAGED_KERNEL}"
STAGED_MARK = "staged\n"  # tells its image from that of a package
# In the node, after its files: the driver that runs, built for it too, and a place in GRUB's menu.
STAGE = f"""\
set -e
for found in /usr/lib/modules/$(uname -r)/kernel/nvidia-*; do
  [ ! -d "$found" ] || {{ mkdir -p /{STAGED_FOLDER}/kernel && cp -R "$found" /{STAGED_FOLDER}/kernel/; }}
done
depmod {STAGED_KERNEL}
update-grub
"""


def staged_files() -> dict[str, str]:
    """The files, below the node's root, of a newer kernel."""
    files = {f"boot/vmlinuz-{STAGED_KERNEL}": STAGED_MARK, f"boot/initrd.img-{STAGED_KERNEL}": STAGED_MARK}
    lists = ("modules.builtin", "modules.builtin.modinfo", "modules.order")
    return files | dict.fromkeys((f"{STAGED_FOLDER}/{name}" for name in lists), "\n")
