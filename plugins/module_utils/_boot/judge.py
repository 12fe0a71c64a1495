# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a reboot is neutral: whether it starts the kernel and the driver that are wanted, and nothing that waits.

B(Private) to the collection: it can change at any time.

A reboot that cannot be shown to be neutral is C(None), never C(True).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from .look import IMAGE, INITRD, Loader, Seen

SCHEMA = 1
UPDATE_GRUB = "run update-grub and read this again"


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that was seen. C(neutral) is what it alone makes of the reboot."""

    code: str
    neutral: bool | None
    seen: str
    expected: str = ""
    remedy: str = ""

    @property
    def text(self) -> str:
        """All of it in one line."""
        parts = (self.seen, f"expected: {self.expected}" if self.expected else "", self.remedy)
        return "; ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement with its reasons, those against the reboot first."""

    neutral: bool | None
    expected_kernel: str | None
    reasons: tuple[Reason, ...]

    def as_dict(self) -> dict[str, Any]:
        reasons = [asdict(reason) | {"text": reason.text} for reason in self.reasons]
        return {"neutral": self.neutral, "expected_kernel": self.expected_kernel, "reasons": reasons}


def _listing(seen: Seen) -> str:
    return ", ".join(kernel.version for kernel in seen.kernels if kernel.image) or "none"


def _no_answer(seen: Seen) -> Reason:
    """What would boot cannot be told."""
    loader = seen.loader
    images = _listing(seen)
    if loader.grub_cfg and not loader.readable:
        return Reason("loader_unreadable", None, "grub.cfg cannot be read", "a readable grub.cfg", "read it as root")
    if loader.grub_cfg:
        shown = f"GRUB's entry {loader.title or loader.wanted!r} starts {loader.image or 'no kernel'}"
        return Reason("entry_without_kernel", None, shown, "an entry with a kernel of /boot", UPDATE_GRUB)
    return Reason(
        "no_boot_loader",
        None,
        f"no grub.cfg and no link /boot/vmlinuz; kernels in /boot: {images}",
        "something that says which kernel boots next",
        "find out by hand what this node boots, then reboot it by hand",
    )


def _kernel(seen: Seen, upcoming: str, pinned: str | None) -> Iterator[Reason]:
    said = _said(seen.loader, seen.next_source)
    expected = pinned or seen.running_kernel
    if expected is None:
        yield Reason("running_unknown", None, "uname does not say which kernel runs", "a kernel version")
    elif upcoming == expected:
        moves = seen.running_kernel not in (None, upcoming)
        if moves:
            yield Reason("to_pinned", True, f"{seen.running_kernel} runs, {said} the pinned {upcoming}")
        else:
            yield Reason("same_kernel", True, f"{said} the kernel that runs, {upcoming}")
    else:
        whose = "the pinned kernel" if pinned else "the running kernel"
        yield Reason(
            "not_pinned" if pinned else "staged_kernel",
            False,
            f"{said} {upcoming}, {seen.running_kernel} runs",
            f"{whose} {expected}",
            f"set GRUB_DEFAULT in /etc/default/grub to the entry of {expected} and run update-grub, or remove the "
            f"package of {upcoming}; if {upcoming} is wanted, pin it",
        )


def _said(loader: Loader, source: str | None) -> str:
    if source == "grub":
        once = ", for one boot," if loader.one_time else ""
        return f"GRUB's entry {loader.title!r}{once} starts"
    return "/boot/vmlinuz leads to" if source == "symlink" else "the only kernel in /boot is"


def _files(seen: Seen, upcoming: str) -> Iterator[Reason]:
    kernel = seen.kernel(upcoming)
    again = f"run dpkg --configure -a, then apt-get install --reinstall linux-image-{upcoming}"
    if not kernel.image:
        path = f"/boot/{IMAGE}{upcoming}"
        yield Reason("image_missing", False, f"{path} is missing or empty", "the kernel of the next boot", again)
    if not kernel.initrd:
        path = f"/boot/{INITRD}{upcoming}"
        remedy = f"free space on /boot and run update-initramfs -c -k {upcoming}"
        yield Reason("initrd_missing", False, f"{path} is missing or empty", "the initrd of the next boot", remedy)
    if not kernel.modules:
        yield Reason("modules_missing", False, f"/lib/modules/{upcoming} is missing", "the kernel's modules", again)
    for package in seen.packages:
        if package.kernel == upcoming and not package.configured:
            shown = f"{package.name} is not configured (dpkg: {package.status})"
            yield Reason("package_unfinished", False, shown, "a package in state ii", "run dpkg --configure -a")


def _driver(seen: Seen, upcoming: str, pinned: str | None) -> Iterator[Reason]:
    """No DKMS on a stock Spark is right: what counts is nvidia.ko of the kernel that boots next."""
    had = seen.driver_loaded is not None or (seen.driver_now is not None and seen.driver_now.present)
    coming, wanted = seen.driver_next, pinned or seen.driver_loaded
    loaded = f"{seen.driver_loaded} is" if seen.driver_loaded is not None else "is not"
    if coming is None or not coming.present:
        if had:
            yield Reason(
                "driver_missing",
                False,
                f"{upcoming} has no module nvidia",
                f"nvidia.ko below /lib/modules/{upcoming}",
                "install linux-modules-nvidia-*-open of that kernel",
            )
    elif wanted is not None and coming.version is not None and coming.version != wanted:
        yield Reason(
            "driver_not_pinned" if pinned else "staged_driver",
            False,
            f"the NVIDIA driver {loaded} loaded, {upcoming} would load {coming.version}",
            f"the {'pinned' if pinned else 'loaded'} driver {wanted}",
            "put the packages of the wanted driver back, or reboot by hand if the other one is wanted",
        )
    elif pinned is not None and coming.version == pinned != seen.driver_loaded:
        said = f"the NVIDIA driver {loaded} loaded, {upcoming} loads the pinned {pinned}"
        yield Reason("to_pinned_driver", True, said)


def _notes(seen: Seen) -> Iterator[Reason]:
    """Worth knowing, and no hindrance."""
    if not seen.loader.found:
        shown = f"GRUB's menu has no {seen.loader.wanted!r}, so it takes its first entry"
        yield Reason("default_not_found", True, shown, "a default that is in the menu", UPDATE_GRUB)
    if seen.reboot_required:
        waiting = ", ".join(seen.reboot_required_packages) or "packages that it does not name"
        yield Reason("reboot_required", True, f"/run/reboot-required waits for a reboot because of {waiting}")


def is_without_loader(seen: Seen) -> bool:
    """A container has no kernel of its own: there is none to boot and nothing that would choose one."""
    images = any(kernel.image for kernel in seen.kernels)
    return seen.container is not None and not images and not seen.loader.grub_cfg and seen.next_kernel is None


def _reasons(seen: Seen, pinned: str | None, driver: str | None) -> Iterable[Reason]:
    if is_without_loader(seen):
        shown = f"no boot loader in a container ({seen.container}): its host's kernel {seen.running_kernel} goes on"
        return [Reason("container", True, shown)]
    if seen.next_kernel is None:
        return [_no_answer(seen), *_notes(seen)]
    upcoming = seen.next_kernel
    return [*_kernel(seen, upcoming, pinned), *_files(seen, upcoming), *_driver(seen, upcoming, driver), *_notes(seen)]


def judge(seen: Seen, pinned: str | None = None, driver: str | None = None) -> Verdict:
    """Neutral only when nothing speaks against it and nothing is unknown. C(driver) is the pinned one."""
    order = (False, None, True)
    reasons = sorted(_reasons(seen, pinned, driver), key=lambda reason: order.index(reason.neutral))
    return Verdict(
        neutral=reasons[0].neutral if reasons else None,
        expected_kernel=pinned or seen.running_kernel,
        reasons=tuple(reasons),
    )
