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

from .load import DIRECTIONS, Expected, Measured
from .model import PORTS, SCHEMA, Cx7
from .remedies import REMEDIES
from .rules_bandwidth import bandwidth_shown
from .rules_link import configuration, flaps, link_rate, losses, pcie, rdma, unreadable
from .rules_log import hotplug_marks, log
from .rules_presence import absent, no_link, too_early
from .verdicts import (
    NEEDS_POWER_DRAIN,
    NEEDS_REBOOT,
    NO_CABLE,
    OK,
    SEVERITY,
    UNKNOWN,
    UNPROVEN,
    Note,
    Port,
    Reason,
)


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


RULES: tuple[Callable[[Port], Iterator[Reason]], ...] = (
    no_link,
    link_rate,
    rdma,
    pcie,
    unreadable,
    log,
    flaps,
    bandwidth_shown,
    configuration,
)


def _notes(port: Port) -> Iterator[Note]:
    cx7 = port.cx7
    low = [line.text for line in cx7.slot_power if line.status == "insufficient" and line.pci == _pci(port)]
    if low:
        yield Note(
            "insufficient_power_line", "Healthy Sparks print this on every boot: it means nothing", tuple(low[:1])
        )
    if port.fast and port.linked:
        for code, text, evidence in hotplug_marks(port):
            yield Note(code, f"{text}; it was measured at full speed all the same", tuple(evidence))
    if not cx7.log_complete:
        yield Note(
            "log_incomplete", "The kernel log does not reach back to the boot: what is missing in it proves nothing"
        )
    downs = losses(port.function)
    if port.linked and downs:
        yield Note("link_losses", f"The link was lost {downs} times since boot")


def _pci(port: Port) -> str | None:
    return port.function.pci if port.function is not None else None


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
        reasons = list(absent(port))
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
    early = too_early(cx7)
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
