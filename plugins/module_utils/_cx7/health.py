# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The judgement: from what a node shows, what the plan wants and what was measured, to a verdict with its reasons.

Each rule looks at one port and yields reasons; the worst of them is the verdict. C(ok) has one way only: everything
that can be read on the running port is right B(and) both directions were measured at full speed. So nothing that is
missing can make a port C(ok), and a log can explain a bad port but never condemn one that was measured at full speed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from . import signs
from .load import DIRECTIONS, Expected, Measured
from .model import PORTS, SCHEMA, Cx7, Event, Function
from .remedies import REMEDIES
from .thresholds import (
    BANDWIDTH_DEGRADED_GBPS,
    BANDWIDTH_OK_GBPS,
    FLAP_DOWNS,
    FLAP_DOWNS_PER_DAY,
    LINK_COLLAPSED_GBPS,
    LINK_GBPS,
    PCIE_SPEED_GTS,
    PCIE_WIDTH,
    SECONDS_PER_DAY,
    THROTTLED_GBPS,
    THROTTLED_TOGETHER_GBPS,
    UPTIME_SECONDS,
)

FAULT = "fault"
NEEDS_POWER_DRAIN = "needs_power_drain"
NEEDS_REBOOT = "needs_reboot"
MISCONFIGURED = "misconfigured"
UNKNOWN = "unknown"
OK = "ok"
NO_CABLE = "no_cable"
SEVERITY = (FAULT, NEEDS_POWER_DRAIN, NEEDS_REBOOT, MISCONFIGURED, UNKNOWN, OK, NO_CABLE)  # worst first
UNPROVEN = ("not_measured", "no_result", "tcp_proves_nothing")  # codes that only say that full speed was not shown


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that was seen, what it means for the verdict, and what to do."""

    code: str
    verdict: str
    text: str
    evidence: tuple[str, ...] = ()
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """Something worth knowing that changes no verdict."""

    code: str
    text: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PortHealth:
    """The verdict on one (cage, root)."""

    cage: str
    root: str
    netdev: str | None
    rdma: str | None
    planned: bool
    measured: bool
    verdict: str
    reasons: tuple[Reason, ...]
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Health:
    """The verdict on the node."""

    verdict: str
    functions: tuple[PortHealth, ...]
    cages: tuple[dict[str, str], ...]
    nothing_wrong: bool
    needs_measurement: tuple[dict[str, str], ...]
    reboot: bool
    reboot_codes: tuple[str, ...]
    remedy: tuple[str, ...]
    summary: tuple[str, ...]
    schema: int = SCHEMA

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Port:
    """Everything that the rules know about one port."""

    cage: str
    root: str
    cx7: Cx7
    function: Function | None
    twin: Function | None  # the same cage on the other root
    expected: Expected | None
    plan_given: bool
    measured: Mapping[str, Measured]  # by direction
    twin_measured: Mapping[str, Measured]

    @property
    def name(self) -> str:
        return f"cage {self.cage}, root {self.root}"

    @property
    def linked(self) -> bool:
        return self.function is not None and self.function.carrier is True

    @property
    def fast(self) -> bool:
        """Both directions were measured at full speed: the authority."""
        return all(
            row is not None and row.gbps is not None and row.gbps >= BANDWIDTH_OK_GBPS
            for row in (self.measured.get(direction) for direction in DIRECTIONS)
        )

    @property
    def peer(self) -> str:
        return self.expected.peer if self.expected is not None and self.expected.peer else "the other end"

    def events(self, *kinds: str) -> list[Event]:
        return signs.of_kind(self.cx7.events, *kinds, cage=self.cage, root=self.root)


def _reason(code: str, verdict: str, text: str, evidence: Iterable[str] = ()) -> Reason:
    return Reason(code, verdict, text, tuple(evidence), REMEDIES[code])


def _texts(events: Iterable[Event], limit: int = 3) -> list[str]:
    """The lines as evidence, with their times."""
    lines = []
    for event in list(events)[:limit]:
        when = event.stamp if event.stamp is not None else None if event.seconds is None else f"{event.seconds:.3f}"
        lines.append(f"[{when}] {event.text}" if when is not None else event.text)
    return lines


# --- 0. too early ---


def _too_early(cx7: Cx7) -> Reason | None:
    if cx7.uptime_seconds is None:
        return _reason("uptime_unknown", UNKNOWN, "How long the node has been up cannot be read")
    if cx7.uptime_seconds < UPTIME_SECONDS:
        seen, wanted = f"{cx7.uptime_seconds:.0f}", f"{UPTIME_SECONDS:.0f}"
        return _reason("too_early", UNKNOWN, f"The node has been up for {seen} s; the NIC is settled after {wanted} s")
    return None


# --- 1. is it there? ---


def _absent(port: Port) -> Iterator[Reason]:
    """No function at this (cage, root). With no cable in any cage the whole NIC leaves the bus, which is normal."""
    cx7 = port.cx7
    broken = signs.of_kind(cx7.events, "retraining_failed", root=port.root)
    fatal = signs.of_kind(cx7.events, "aer_fatal", "slot_reset", root=port.root)
    if broken:
        yield _reason("retraining_failed", FAULT, "The PCIe link to the NIC cannot be trained", _texts(broken))
    elif fatal:
        yield _reason("aer_fatal", FAULT, "The NIC left the bus after a fatal PCIe error", _texts(fatal))
    elif cx7.functions:
        seen = ", ".join(f"{function.cage} {function.root}" for function in cx7.functions)
        text = f"The function of {port.name} is not on the bus while others are"
        yield _reason("function_missing", FAULT, text, [f"on the bus: {seen}"])
    else:
        yield _all_absent(port)


def _all_absent(port: Port) -> Reason:
    cx7 = port.cx7
    planned = port.expected is not None
    removal = next(reversed(signs.of_kind(cx7.events, "hotplug_removal")), None)
    at = cx7.events.index(removal) if removal is not None else len(cx7.events)
    before = cx7.events[:at]
    seated = signs.of_kind(before, "module_plugged", "link_up", cage=port.cage, root=port.root)
    unplugged = signs.of_kind(before, "module_unplugged", cage=port.cage, root=port.root)
    nothing = "No ConnectX-7 function is on the PCI bus"
    if removal is not None:
        evidence = _texts([*seated[:1], removal])
        if signs.is_removal_at_boot(cx7, removal):
            if seated or (planned and not unplugged):
                text = "The hot-plug driver took the NIC off the bus after the boot although a cable should be in"
                return _reason("hotplug_removed_nic", MISCONFIGURED, text, evidence)
        elif planned:
            return _reason("nic_dropped", NEEDS_REBOOT, "The NIC left the bus while the node ran", evidence)
    elif seated:
        return _reason("nic_vanished", FAULT, "The NIC left the bus although a cable was in", _texts(seated))
    elif planned and not unplugged:
        if not cx7.log_complete:
            return _reason("nic_absent", UNKNOWN, f"{nothing}, and the log does not reach back to the boot to say why")
        return _reason("nic_absent", FAULT, f"{nothing} and the log of this boot does not say why")
    if planned:
        text = f"The plan has a cable to {port.peer} in {port.name}, the NIC saw none and powered down"
        return _reason("cable_missing", FAULT, text, _texts(unplugged))
    return _reason(
        "no_cable", NO_CABLE, f"{nothing}: no cable is in, so it powered down", _texts([removal] if removal else [])
    )


# --- 2. the link ---


def _no_link(port: Port) -> Iterator[Reason]:
    """The function is there and has no carrier."""
    function = port.function
    if function is None or function.carrier is True:
        return
    planned = port.expected is not None
    shown = [f"{function.netdev}: carrier {function.raw.get('carrier')}, operstate {function.operstate}"]
    errors = port.events("module_error", "module_plugged")
    if function.admin_up is False:
        if planned:
            yield _reason("admin_down", MISCONFIGURED, f"{function.netdev} is not set up", shown)
        elif port.plan_given:
            yield _reason(
                "not_in_use", NO_CABLE, f"The plan does not use {port.name} and {function.netdev} is set down", shown
            )
        else:
            yield _reason("admin_down", UNKNOWN, f"{function.netdev} is not set up, so a cable does not show", shown)
    elif function.carrier is None:
        yield _reason("unreadable", UNKNOWN, f"The carrier of {port.name} cannot be read", shown)
    elif errors and errors[-1].kind == "module_error":
        yield _reason("module_error", FAULT, f"The cable's module in {port.name} has an error", _texts(errors[-1:]))
    elif port.twin is not None and port.twin.carrier is True:
        text = f"{function.netdev} has no link while its twin {port.twin.netdev} on the same cable has one"
        yield _reason("twin_down", FAULT, text, shown)
    elif planned:
        removals = [e for e in port.events("hotplug_removal") if not signs.is_removal_at_boot(port.cx7, e)]
        if removals:
            text = f"{port.name} has no link since the hot-plug driver removed the NIC while the node ran"
            yield _reason("nic_dropped", NEEDS_REBOOT, text, [*shown, *_texts(removals)])
        else:
            text = f"The plan has a cable to {port.peer} in {port.name}, but there is no link"
            yield _reason("cable_missing", FAULT, text, shown)
    else:
        yield _reason("no_cable", NO_CABLE, f"No cable in {port.name}", shown)


def _link_rate(port: Port) -> Iterator[Reason]:
    function = port.function
    if function is None or not port.linked:
        return
    wanted = port.expected.minimum_rate_gbps if port.expected is not None else LINK_GBPS
    rates = [rate for rate in (function.ib_rate_gbps, (function.speed_mbps or 0) / 1000 or None) if rate is not None]
    rate = min(rates, default=wanted)
    if rate >= wanted:
        return
    shown = [
        f"{function.netdev}: speed {function.raw.get('speed')}",
        f"{function.rdma}: rate {function.raw.get('ib_rate')}",
    ]
    if rate < LINK_COLLAPSED_GBPS:
        text = f"The link of {port.name} came up at {rate:g} Gb/s instead of {wanted:g}"
        yield _reason("link_rate_collapsed", NEEDS_REBOOT, text, shown)
    else:
        text = f"The link of {port.name} runs at {rate:g} Gb/s, wanted are {wanted:g}: the cable does not carry more"
        yield _reason("link_rate_low", MISCONFIGURED, text, shown)


def _rdma(port: Port) -> Iterator[Reason]:
    function = port.function
    if function is None or not port.linked:
        return
    if function.rdma is None:
        yield _reason("rdma_missing", MISCONFIGURED, f"{function.netdev} has no RDMA device")
        return
    states = (function.ib_state, function.ib_phys_state)
    shown = [f"{function.rdma}: state {function.raw.get('ib_state')}, phys_state {function.raw.get('ib_phys_state')}"]
    if None not in states and states != ("ACTIVE", "LinkUp"):
        text = f"{function.netdev} has a link, its RDMA device {function.rdma} says {states[0]}, {states[1]}"
        yield _reason("rdma_down", FAULT, text, shown)
    if function.link_layer not in (None, "Ethernet"):
        text = f"{function.rdma} is set to {function.link_layer}, not to Ethernet"
        yield _reason("link_layer", MISCONFIGURED, text)


def _flaps(port: Port) -> Iterator[Reason]:
    function = port.function
    downs = _downs(function)
    if function is None or not port.linked or downs is None or downs < FLAP_DOWNS:
        return
    days = max(1.0, (port.cx7.uptime_seconds or 0.0) / SECONDS_PER_DAY)
    if downs / days >= FLAP_DOWNS_PER_DAY:
        text = f"The link of {port.name} was lost {downs} times since boot; a healthy link shows 0"
        yield _reason("link_flaps", FAULT, text, _texts(reversed(port.events("link_down"))))


def _downs(function: Function | None) -> int | None:
    """How often the carrier went."""
    return function.carrier_down_count if function is not None else None


# --- 3. the slot ---


def _pcie(port: Port) -> Iterator[Reason]:
    """The width counts at all times; without a link the speed may be that of a port at rest."""
    function = port.function
    if function is None:
        return
    raw = function.raw
    shown = [f"{function.pci}: {raw.get('current_link_speed')}, width {raw.get('current_link_width')}"]
    if function.pcie_width is not None and function.pcie_width < PCIE_WIDTH:
        text = f"{function.pci} has {function.pcie_width} PCIe lanes instead of {PCIE_WIDTH}"
        yield _reason("pcie_width", FAULT, text, shown)
    if port.linked and function.pcie_speed_gts is not None and function.pcie_speed_gts < PCIE_SPEED_GTS:
        text = f"{function.pci} runs at {function.pcie_speed_gts:g} GT/s instead of {PCIE_SPEED_GTS:g}"
        yield _reason("pcie_speed", FAULT, text, shown)


def _unreadable(port: Port) -> Iterator[Reason]:
    """On a port with a link everything that the other rules look at has to be readable."""
    function = port.function
    if function is None or not port.linked:
        return
    needed: dict[str, object] = {
        "speed": function.speed_mbps,
        "PCIe speed": function.pcie_speed_gts,
        "PCIe width": function.pcie_width,
        "number of link losses": _downs(function),
    }
    if function.rdma is not None:
        needed |= {
            "RDMA state": function.ib_state,
            "RDMA physical state": function.ib_phys_state,
            "RDMA rate": function.ib_rate_gbps,
            "link layer": function.link_layer,
        }
    missing = [name for name, value in needed.items() if value is None]
    if missing:
        yield _reason("unreadable", UNKNOWN, f"Not readable on {port.name}: {', '.join(missing)}")


# --- 4. this boot's log ---


def _log(port: Port) -> Iterator[Reason]:
    """Marks of a cable that came while the node ran. A port that was measured at full speed is past them."""
    if not port.linked or port.fast:
        return
    cx7 = port.cx7
    fatal = signs.of_kind(cx7.events, "aer_fatal", "slot_reset", root=port.root)
    if fatal:
        yield _reason("aer_fatal", FAULT, f"Fatal PCIe error on root {port.root} in this boot", _texts(fatal))
    for code, text, evidence in _hotplug_marks(port):
        yield _reason(code, NEEDS_REBOOT, text, evidence)


def _hotplug_marks(port: Port) -> Iterator[tuple[str, str, list[str]]]:
    cx7 = port.cx7
    lines = [
        line.text
        for line in cx7.slot_power
        if line.status == "not_advertised" and line.cage in (None, port.cage) and line.root in (None, port.root)
    ]
    if lines:
        yield "not_advertised", "The slot did not tell the NIC its power: it was added while the node ran", lines[:3]
    plugins = signs.plugin_while_running(cx7)
    if plugins:
        yield "hotplug", "The NIC was added while the node ran, because a cable was plugged", _texts(plugins)
    plugged = signs.plugged_while_running(cx7, port.cage, port.root)
    if plugged and not plugins:
        yield "plugged_late", f"The cable of {port.name} was plugged while the node ran", _texts(plugged)


# --- 5. what was measured ---


def _shown(row: Measured) -> str:
    value = "no result" if row.gbps is None else f"{row.gbps:g} Gb/s"
    return f"{row.direction}: {value} by {row.method.upper()}"


def _is_throttled(port: Port, direction: str) -> bool:
    """Only RDMA can say so: one TCP stream of a healthy link gives the same figure."""
    row, twin = port.measured.get(direction), port.twin_measured.get(direction)
    if row is None or row.gbps is None or row.method != "rdma":
        return False
    if THROTTLED_GBPS[0] <= row.gbps <= THROTTLED_GBPS[1]:
        return True
    if twin is None or twin.gbps is None or twin.method != "rdma" or max(row.gbps, twin.gbps) > THROTTLED_GBPS[0]:
        return False
    return THROTTLED_TOGETHER_GBPS[0] <= row.gbps + twin.gbps <= THROTTLED_TOGETHER_GBPS[1]


def _bandwidth(port: Port) -> Iterator[Reason]:
    if not port.linked:
        return
    rows = {direction: port.measured.get(direction) for direction in DIRECTIONS}
    missing = [direction for direction, row in rows.items() if row is None]
    if missing:
        yield _reason("not_measured", UNKNOWN, f"Bandwidth of {port.name} was not measured: {', '.join(missing)}")
    for direction, row in rows.items():
        if row is not None:
            yield from _one_direction(port, direction, row)


def _one_direction(port: Port, direction: str, row: Measured) -> Iterator[Reason]:
    shown = [_shown(row)]
    if row.gbps is None:
        text = f"The measurement of {port.name}, {direction}, gave no result"
        yield _reason("no_result", UNKNOWN, text, shown)
    elif row.gbps >= BANDWIDTH_OK_GBPS:
        return
    elif _is_throttled(port, direction) and (direction == "out" or _is_throttled(port, "out")):
        # The cap sits on what a node sends. When it sends slowly, its slow receiving is not judged on its own.
        text = (
            f"{port.name} {'sends' if direction == 'out' else 'receives'} {row.gbps:g} Gb/s: the cap after a hot-plug"
        )
        yield _reason("throttled", NEEDS_REBOOT, text, shown)
    elif _is_throttled(port, direction):
        text = f"{port.name} receives {row.gbps:g} Gb/s: {port.peer} is capped in what it sends"
        yield _reason("peer_throttled", UNKNOWN, text, shown)
    elif row.method == "tcp":
        text = f"TCP reached {row.gbps:g} Gb/s on {port.name}, {direction}: that proves neither full speed nor a cap"
        yield _reason("tcp_proves_nothing", UNKNOWN, text, shown)
    elif row.gbps >= BANDWIDTH_DEGRADED_GBPS:
        text = f"{port.name}, {direction}, reaches {row.gbps:g} Gb/s of at least {BANDWIDTH_OK_GBPS:g}"
        yield _reason("bandwidth_degraded", UNKNOWN, text, shown)
    else:
        text = f"{port.name}, {direction}, reaches {row.gbps:g} Gb/s: neither healthy nor the cap after a hot-plug"
        yield _reason("bandwidth_unexplained", UNKNOWN, text, shown)


# --- 6. what the plan has configured ---


def _configuration(port: Port) -> Iterator[Reason]:
    function, expected = port.function, port.expected
    if function is None or expected is None:
        return
    if expected.mtu is not None and function.mtu != expected.mtu:
        verdict = UNKNOWN if function.mtu is None else MISCONFIGURED
        yield _reason("mtu", verdict, f"{function.netdev} has MTU {function.mtu}, the plan wants {expected.mtu}")
    if expected.unmanaged and port.cx7.networkmanager_running and function.networkmanager != "unmanaged":
        verdict = UNKNOWN if function.networkmanager is None else MISCONFIGURED
        text = f"NetworkManager holds {function.netdev} (state {function.networkmanager})"
        yield _reason("networkmanager", verdict, text)


RULES: tuple[Callable[[Port], Iterator[Reason]], ...] = (
    _no_link,
    _link_rate,
    _rdma,
    _pcie,
    _unreadable,
    _log,
    _flaps,
    _bandwidth,
    _configuration,
)


# --- notes ---


def _notes(port: Port) -> Iterator[Note]:
    cx7 = port.cx7
    low = [line.text for line in cx7.slot_power if line.status == "insufficient" and line.pci == _pci(port)]
    if low:
        yield Note(
            "insufficient_power_line", "Healthy Sparks print this on every boot: it means nothing", tuple(low[:1])
        )
    if port.fast and port.linked:
        for code, text, evidence in _hotplug_marks(port):
            yield Note(code, f"{text}; it was measured at full speed all the same", tuple(evidence))
    if not cx7.log_complete:
        yield Note(
            "log_incomplete", "The kernel log does not reach back to the boot: what is missing in it proves nothing"
        )
    downs = _downs(port.function)
    if port.linked and downs:
        yield Note("link_losses", f"The link was lost {downs} times since boot")


def _pci(port: Port) -> str | None:
    return port.function.pci if port.function is not None else None


# --- together ---


def worst(verdicts: Iterable[str]) -> str:
    return min(verdicts, key=SEVERITY.index, default=UNKNOWN)


def _drained(reason: Reason) -> Reason:
    """A reboot for this was already made with this cabling and did not help."""
    if reason.verdict != NEEDS_REBOOT:
        return reason
    return replace(reason, verdict=NEEDS_POWER_DRAIN, remedy=REMEDIES["power_drain"])


def _judge_port(port: Port, early: Reason | None, *, already_rebooted: bool) -> PortHealth:
    if early is not None:
        reasons = [early]
    elif port.function is None:
        reasons = list(_absent(port))
    else:
        reasons = [reason for rule in RULES for reason in rule(port)]
    if already_rebooted:
        reasons = [_drained(reason) for reason in reasons]
    reasons.sort(key=lambda reason: SEVERITY.index(reason.verdict))
    return PortHealth(
        cage=port.cage,
        root=port.root,
        netdev=port.function.netdev if port.function is not None else None,
        rdma=port.function.rdma if port.function is not None else None,
        planned=port.expected is not None,
        measured=port.linked
        and all((row := port.measured.get(d)) is not None and row.gbps is not None for d in DIRECTIONS),
        verdict=worst(reason.verdict for reason in reasons) if reasons else OK,
        reasons=tuple(reasons),
        notes=tuple(_notes(port)),
    )


def _only_unproven(item: PortHealth) -> bool:
    """Nothing speaks against the port, only full speed was not shown."""
    return item.verdict == UNKNOWN and all(reason.code in UNPROVEN for reason in item.reasons)


def _summary(item: PortHealth) -> str:
    said = "; ".join(reason.text for reason in item.reasons if reason.verdict == item.verdict)
    return f"{item.cage} {item.root}: {item.verdict}" + (f": {said}" if said else "")


def judge(
    cx7: Cx7,
    expected: Mapping[tuple[str, str], Expected],
    bandwidth: Mapping[tuple[str, str, str], Measured],
    *,
    already_rebooted: bool = False,
) -> Health:
    """The verdict per port, cage and node. With a plan, the node's verdict is that of the ports that the plan uses."""
    functions = {(function.cage, function.root): function for function in cx7.functions}
    early = _too_early(cx7)
    items = []
    for cage, root in PORTS:
        other = "B" if root == "A" else "A"
        port = Port(
            cage=cage,
            root=root,
            cx7=cx7,
            function=functions.get((cage, root)),
            twin=functions.get((cage, other)),
            expected=expected.get((cage, root)),
            plan_given=bool(expected),
            measured={d: row for d in DIRECTIONS if (row := bandwidth.get((cage, root, d))) is not None},
            twin_measured={d: row for d in DIRECTIONS if (row := bandwidth.get((cage, other, d))) is not None},
        )
        items.append(_judge_port(port, early, already_rebooted=already_rebooted))
    counted = [item for item in items if item.planned] or items
    verdict = worst(item.verdict for item in counted)
    unproven = [item for item in counted if _only_unproven(item)]
    codes = {r.code for item in counted for r in item.reasons if r.verdict in (NEEDS_REBOOT, NEEDS_POWER_DRAIN)}
    remedies = [r.remedy for item in counted for r in item.reasons if r.verdict == verdict and r.remedy]
    return Health(
        verdict=verdict,
        functions=tuple(items),
        cages=tuple(
            {"cage": cage, "verdict": worst(item.verdict for item in items if item.cage == cage)}
            for cage in ("p0", "p1")
        ),
        nothing_wrong=all(item.verdict in (OK, NO_CABLE) or item in unproven for item in counted),
        needs_measurement=tuple({"cage": item.cage, "root": item.root} for item in unproven),
        reboot=any(item.verdict == NEEDS_REBOOT for item in counted),
        reboot_codes=tuple(sorted(codes)),
        remedy=tuple(dict.fromkeys(remedies)),
        summary=tuple(_summary(item) for item in counted),
    )
