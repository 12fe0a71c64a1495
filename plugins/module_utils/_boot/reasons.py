# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All reasons for which a node wants a reboot, from what it shows.

B(Private) to the collection: it can change at any time.

Each says as well whether the next boot would bring what is expected: a reboot that would not is none to make.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from .look import Seen

DRIVER, KERNEL, NIC, HOTPLUG, PACKAGES = "driver", "kernel", "nic", "hotplug", "packages"
ACTED_ON = (NIC, DRIVER, KERNEL)  # the others wait for a reboot that is made anyway
NEEDS_REBOOT = "needs_reboot"  # a verdict of cx7_health


@dataclass(frozen=True, slots=True)
class Want:
    """One reason. C(wanted) is null when it cannot be told, C(cured) is what the next boot makes of it.

    C(cause) is the name under which the reboot is remembered: the same cause is not tried twice.
    """

    code: str
    about: str
    wanted: bool | None
    cured: bool | None
    seen: str
    expected: str
    cause: str = ""
    evidence: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        text = f"{self.seen}; expected: {self.expected}"
        return asdict(self) | {"evidence": list(self.evidence), "text": text}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a node is compared with: null is not asked for, or not known."""

    installed: str | None = None  # the version of the driver's packages
    pinned_kernel: str | None = None
    pinned_driver: str | None = None
    health: Mapping[str, Any] | None = None  # of cx7_health
    hotplug: Mapping[str, Any] | None = None  # of cx7_info


def reasons(seen: Seen, wanted: Wanted) -> tuple[Want, ...]:
    """All of them, by what they are about."""
    found = [
        *_driver(seen, wanted.installed, wanted.pinned_driver),
        *_kernel(seen, wanted.pinned_kernel),
        *_nic(wanted.health or {}),
        *_hotplug(wanted.hotplug or {}),
        *_packages(seen),
    ]
    return tuple(dict.fromkeys(found))


def summary(wants: Iterable[Want]) -> dict[str, Any]:
    """Whether a reboot is wanted at all, and the causes for which one is to be made."""
    wants = tuple(wants)
    answers = {want.wanted for want in wants}
    return {
        "wanted": True if True in answers else None if None in answers else False,
        "causes": sorted(
            {
                want.cause
                for want in wants
                if want.about in ACTED_ON and want.wanted is want.cured is True and want.cause
            }
        ),
        "reasons": [want.as_dict() for want in wants],
    }


def _driver(seen: Seen, installed: str | None, pinned: str | None) -> Iterator[Want]:
    if installed is None or seen.driver_loaded == installed:
        return
    coming, loaded = seen.driver_next, seen.driver_loaded
    if coming is None:
        cured = None if seen.next_kernel is None else False  # a kernel without modules has no driver either
    else:
        cured = None if coming.present and coming.version is None else coming.version == installed
    now = f"the module {loaded} is loaded" if loaded is not None else "the module nvidia is not loaded"
    then = f", {seen.next_kernel} would load {coming.version}" if coming is not None and coming.version else ""
    # A driver that nobody wants is no cause: it is the role nvidia_driver's to say what becomes of it.
    cause = "" if pinned not in (None, installed) else f"driver {loaded} to {installed}"
    yield Want("driver_loaded_is_another", DRIVER, True, cured, now + then, f"the installed {installed}", cause)


def _kernel(seen: Seen, pinned: str | None) -> Iterator[Want]:
    if pinned is None or seen.running_kernel == pinned:
        return
    running = seen.running_kernel
    yield Want(
        "kernel_is_another",
        KERNEL,
        True if running is not None else None,
        None if seen.next_kernel is None else seen.next_kernel == pinned,
        f"{running or 'an unknown kernel'} runs, {seen.next_kernel or 'an unknown one'} boots next",
        f"the pinned {pinned}",
        f"kernel {running} to {pinned}",
    )


def _nic(health: Mapping[str, Any]) -> Iterator[Want]:
    functions = health.get("functions") or ()
    for function in [item for item in functions if item["planned"]] or functions:
        where = f"cage {function['cage']}, root {function['root']}"
        for reason in function.get("reasons") or ():
            if reason["verdict"] == NEEDS_REBOOT:
                # Whether it helps was decided there: one that did not help is a verdict of its own.
                seen, lines = f"{where}: {reason['text']}", tuple(reason.get("evidence") or ())
                yield Want(reason["code"], NIC, True, True, seen, "a NIC at full speed", reason["code"], lines)


def _hotplug(hotplug: Mapping[str, Any]) -> Iterator[Want]:
    """The marker file is for the next boot, the driver says what this one took from it."""
    armed, enabled = hotplug.get("armed"), hotplug.get("enabled")
    if armed is None or enabled is None or armed == enabled:
        return
    state = {True: "on", False: "off"}
    yield Want(
        "hotplug_changed",
        HOTPLUG,
        True,
        True,
        f"hot-plug is {state[enabled]} since the boot, and {hotplug.get('marker')} {'is' if armed else 'is not'} there",
        f"hot-plug {state[armed]}",
    )


def _packages(seen: Seen) -> Iterator[Want]:
    if seen.reboot_required:
        named = ", ".join(seen.reboot_required_packages) or "packages that it does not name"
        seen_text = f"/run/reboot-required waits for a reboot because of {named}"
        yield Want("reboot_required", PACKAGES, True, True, seen_text, "no such file")
