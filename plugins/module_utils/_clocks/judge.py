# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Whether the cap is in force. C(verified) is what a load showed and nothing speaks against; all else has a reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from . import limits
from .setters import Setter
from .smi import Gpu, Lock, Sample
from .unit import UNIT, Configured, State

VERIFIED, UNVERIFIED, NOT_APPLIED = "verified", "unverified", "not_applied"
CONFLICT, UNSUPPORTED = "conflict", "unsupported"
SEVERITY = (VERIFIED, UNVERIFIED, NOT_APPLIED, CONFLICT, UNSUPPORTED)

RUN_ROLE = "Run the role clock_cap: --tags clock_cap"
TEST = "Watch the clock while the model computes: clock_cap_load_seconds=20"
DRAIN = (
    "The power supply is in its safety state, which has nothing to do with the cap: shut the node down, take the power"
    " supply off the wall and off the node for a minute, and start it again"
)


@dataclass(frozen=True, slots=True)
class Load:
    """A look at the clock over some seconds, one sample a second. C(detail) says why it ended early."""

    seconds: int = 0
    samples: tuple[Sample, ...] = ()
    detail: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Seen:
    """All that is known of a node's clocks.

    C(gpu_detail) is what nvidia-smi said instead of showing a GPU, C(said) the log of our unit in this boot, C(unread)
    the files that may set clocks and could not be read.
    """

    configured: Configured = field(default_factory=Configured)
    state: State = field(default_factory=State)
    lock: Lock = field(default_factory=Lock)
    said: str = ""
    gpu: Gpu | None = None
    gpu_detail: str = ""
    others: tuple[Setter, ...] = ()
    unread: tuple[str, ...] = ()
    load: Load = field(default_factory=Load)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why the verdict is not C(verified)."""

    code: str
    verdict: str
    text: str
    remedy: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def verdict(reasons: tuple[Reason, ...]) -> str:
    """The worst of them."""
    return max((reason.verdict for reason in reasons), key=SEVERITY.index, default=VERIFIED)


def judge(seen: Seen) -> tuple[Reason, ...]:
    """All reasons, the worst first."""
    found = [*_of_setting(seen), *_of_others(seen), *_of_unit(seen), *_of_load(seen)]
    return tuple(sorted(found, key=lambda reason: -SEVERITY.index(reason.verdict)))


def slow(seen: Seen) -> tuple[Sample, ...]:
    """Samples of the safety state. An unknown power does not rule it out; a slowdown that has a reason does."""
    if seen.gpu is not None and any("Slowdown" in name for name in seen.gpu.reasons or ()):
        return ()
    low, high = limits.SLOW_MHZ
    return tuple(
        sample
        for sample in _loaded(seen.load)
        if sample.sm_mhz is not None
        and low <= sample.sm_mhz <= high
        and (sample.power_w is None or sample.power_w < limits.SLOW_WATTS)
    )


def highest(load: Load) -> int | None:
    """The fastest clock under load."""
    return max((sample.sm_mhz for sample in _loaded(load) if sample.sm_mhz is not None), default=None)


def _loaded(load: Load) -> list[Sample]:
    return [sample for sample in load.samples if (sample.utilization_percent or 0) >= limits.LOADED_PERCENT]


def _of_setting(seen: Seen) -> Iterator[Reason]:
    """What nvidia-smi answered when our unit set the cap."""
    if seen.lock.unsupported:
        text = "nvidia-smi says that the clocks of this GPU cannot be set, and exits 0 all the same"
        yield Reason("unsupported", UNSUPPORTED, text, "The clocks of a GB10 can be set: see nvidia-smi -L")
    if seen.lock.denied:
        text = "nvidia-smi says that its user may not change clocks"
        yield Reason("denied", NOT_APPLIED, text, "It needs CAP_SYS_ADMIN on the host: a container does not have it")
    asked, highest_set = seen.lock.asked_mhz, seen.lock.max_mhz
    if asked is not None and seen.configured.max_mhz not in (None, asked):
        text = f"this boot asked for at most {asked} MHz, the files say {seen.configured.max_mhz}"
        yield Reason("another_cap", NOT_APPLIED, text, RUN_ROLE)
    if asked is not None and highest_set is not None and highest_set > asked + limits.TOLERANCE_MHZ:
        text = f"asked for at most {asked} MHz, nvidia-smi set {highest_set}, over {limits.TOLERANCE_MHZ} more"
        yield Reason("rounded_up", NOT_APPLIED, text, "Take another clock_cap_max_mhz")


def _of_others(seen: Seen) -> Iterator[Reason]:
    for other in seen.others:
        if other.counts:
            text = f"{other.file}:{other.line} sets clocks, too{f' ({other.unit})' if other.unit else ''}: {other.text}"
            remedy = f"systemctl disable --now {other.unit}" if other.unit else "Remove that line"
            yield Reason("others", CONFLICT, text, remedy)
    for path in seen.unread:
        text = f"{path} cannot be read, so it is not known whether it sets clocks"
        yield Reason("unread", UNVERIFIED, text, "Look as root: become: true")


def _of_unit(seen: Seen) -> Iterator[Reason]:
    """What the files ask for, and what systemd made of it."""
    configured, state = seen.configured, seen.state
    if configured.max_mhz is None:
        code = "unclear" if configured.files else "not_configured"
        yield Reason(code, NOT_APPLIED, configured.detail or "no cap is configured", RUN_ROLE)
    elif not state.applied:
        became = f"active={state.active or 'unknown'} ({state.sub or 'unknown'}), result={state.result or 'unknown'}"
        text = f"{UNIT} did not set the cap in this boot: {became}, exit status {state.exit_status}"
        said = seen.said or seen.gpu_detail
        yield Reason("not_set", NOT_APPLIED, f"{text}{f'. It said: {said}' if said else ''}", RUN_ROLE)
    elif seen.lock.asked_mhz is None or seen.lock.max_mhz is None:
        text = f"{UNIT} succeeded, and the log of this boot does not say which clocks nvidia-smi set"
        yield Reason("no_text", UNVERIFIED, text, f"systemctl restart {UNIT} sets it again")
    if configured.max_mhz is not None and state.enabled != "enabled":
        text = f"{UNIT} is {state.enabled or 'not known to be enabled'}: the next boot has no cap"
        yield Reason("not_enabled", UNVERIFIED, text, RUN_ROLE)
    if configured.max_mhz is not None and state.need_reload is not False:
        text = f"systemd may have loaded something else than the files of {UNIT} say"
        yield Reason("not_loaded", UNVERIFIED, text, "Stop containers with a GPU, then systemctl daemon-reload")


def _of_load(seen: Seen) -> Iterator[Reason]:
    """What the clock does at work. There is no other proof."""
    load, cap = seen.load, seen.configured.max_mhz
    if load.seconds == 0:
        yield Reason("no_load_test", UNVERIFIED, "the clock was not watched under load", TEST)
        return
    if slowed := slow(seen):
        clocks = ", ".join(sorted({str(sample.sm_mhz) for sample in slowed}))
        yield Reason("slow_state", UNVERIFIED, f"busy at {clocks} MHz, and no slowdown is reported", DRAIN)
    yield from _of_samples(load)
    if cap is None:
        return
    ceiling = cap + limits.TOLERANCE_MHZ
    above = [sample.sm_mhz for sample in load.samples if sample.sm_mhz is not None and sample.sm_mhz > ceiling]
    if above:
        text = f"the clock was seen at {max(above)} MHz, expected at most {ceiling} ({cap} + {limits.TOLERANCE_MHZ})"
        yield Reason("above_cap", NOT_APPLIED, text, f"Another program may have set it anew: systemctl restart {UNIT}")
    if ceiling >= limits.UNCAPPED_MHZ:
        text = f"a GB10 without a cap runs at {limits.UNCAPPED_MHZ} MHz or more: {cap} cannot be told from none"
        yield Reason("too_high", UNVERIFIED, text, f"Take a cap below {limits.UNCAPPED_MHZ - limits.TOLERANCE_MHZ} MHz")
    floor = min(cap, seen.lock.max_mhz or cap) - limits.REACH_MHZ
    reached = highest(load)
    if reached is not None and reached < floor:
        text = f"the clock came to {reached} MHz under load, far below the cap: something else than the cap held it"
        yield Reason("not_reached", UNVERIFIED, text, "See the reasons and counters of nvidia-smi -q -d PERFORMANCE")


def _of_samples(load: Load) -> Iterator[Reason]:
    """Whether there was enough to see."""
    blind = [sample for sample in load.samples if sample.sm_mhz is None or sample.utilization_percent is None]
    busy = len(_loaded(load))
    if len(load.samples) < load.seconds:
        why = load.detail or "samples are missing"
        text = f"watched for {len(load.samples)} of {load.seconds} s: {why}"
        yield Reason("cut_short", UNVERIFIED, text, TEST)
    if blind:
        text = f"in {len(blind)} of {len(load.samples)} samples nvidia-smi gave no clock or no utilization"
        yield Reason("blind", UNVERIFIED, text, "See nvidia-smi --query-gpu=clocks.sm,utilization.gpu --format=csv")
    if busy < limits.LOADED_SAMPLES:
        text = (
            f"{busy} samples had a utilization of {limits.LOADED_PERCENT} % or more,"
            f" expected {limits.LOADED_SAMPLES} or more"
        )
        yield Reason("no_load", UNVERIFIED, text, TEST)
