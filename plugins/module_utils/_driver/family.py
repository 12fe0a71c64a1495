# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which packages belong to the driver and to the kernel, by their names.

B(Private) to the collection: it can change at any time.

The container toolkit, NCCL and CUDA are none of them: they come from the same repository and go their own way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DRIVER = "driver"  # has the driver's version
FIRMWARE = "firmware"  # has it too, and its name as well, so that several lie side by side
MODULES = "modules"  # nvidia.ko built for a kernel: has the kernel's version
TOOL = "tool"  # has a version of its own, of the driver's branch
KERNEL = "kernel"
NVIDIA = (DRIVER, FIRMWARE, MODULES, TOOL)

_BRANCH = r"(?:-(?P<branch>\d{3}))?(?:-server)?"  # from branch 590 on NVIDIA's own packages have no number
_FLAVOURED = r"nvidia-(?:driver|headless|headless-no-dkms|dkms|kernel-source)" + _BRANCH + r"(?P<open>-open)?"
_PLAIN = (
    r"(?:nvidia-(?:kernel-common|utils|compute-utils)|xserver-xorg-video-nvidia"
    r"|libnvidia-(?:cfg1|common|compute|decode|encode|extra|fbc1|gl|gpucomp|ifr1))" + _BRANCH
)
_FIRMWARE = r"nvidia-firmware" + _BRANCH + r"(?:-\d{3}[.\d]*)?"
_MODULES = r"linux-(?:modules|objects|signatures)-nvidia-(?P<branch>\d{3})(?:-server)?(?P<open>-open)?-(?P<kernel>.+)"
_KERNEL = (
    r"linux-(?:image(?:-unsigned)?|modules(?:-extra|-nvidia-fs)?|headers|tools)"
    r"-(?P<kernel>\d.*|(?:nvidia|generic|virtual|lowlatency|arm64|amd64)\S*)|linux-(?:nvidia|generic|virtual)\S*"
)
_TOOLS = ("nvidia-modprobe", "nvidia-persistenced", "nvidia-settings", "nvidia-xconfig")
_PATTERNS = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (MODULES, _MODULES),
        (FIRMWARE, _FIRMWARE),
        (DRIVER, _FLAVOURED),
        (DRIVER, _PLAIN),
        (KERNEL, _KERNEL),
    )
)


@dataclass(frozen=True, slots=True)
class Member:
    """What a package's name says. Null is not said."""

    kind: str
    branch: int | None = None
    open: bool | None = None
    kernel: str | None = None  # null for a metapackage, which follows the newest one

    @property
    def is_meta(self) -> bool:
        """Whether a newer version of it brings another kernel, or modules for another one."""
        return self.kind in (MODULES, KERNEL) and self.kernel is None


def member(name: str) -> Member | None:
    """Where a package belongs; nothing for all others."""
    if name in _TOOLS:
        return Member(TOOL)
    if name in ("nvidia-open", "cuda-drivers") or re.fullmatch(r"(?:nvidia-open|cuda-drivers)-\d{3}", name):
        return Member(DRIVER, open=True if name.startswith("nvidia-open") else None)
    for kind, pattern in _PATTERNS:
        match = pattern.fullmatch(name)
        if match is not None:
            said = match.groupdict()
            kernel = said.get("kernel")
            return Member(
                kind,
                branch=int(said["branch"]) if said.get("branch") else None,
                open=said["open"] is not None if "open" in said else None,
                kernel=kernel if kernel is not None and kernel[0].isdigit() else None,
            )
    return None


def of_branch(name: str, branch: int | None) -> str:
    """The same package of another branch, if its name has one."""
    own = member(name)
    if own is None or own.branch is None or branch is None or own.kind == FIRMWARE:
        return name
    return name.replace(f"-{own.branch}", f"-{branch}", 1)
