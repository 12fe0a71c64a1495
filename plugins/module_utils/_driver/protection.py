# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps a driver where it is: holds, marks, a preference against one repository, and a blacklist.

B(Private) to the collection: it can change at any time.

All of the family is held, since a hold on a part of it makes apt remove the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

from .node import Node

PREFERENCES = ("etc", "apt", "preferences.d", "switchless-nvidia-driver")
SETTINGS = ("etc", "apt", "apt.conf.d", "52switchless-nvidia-driver")
HOLD, UNHOLD = ("apt-mark", "hold"), ("apt-mark", "unhold")
MANUAL, AUTO = ("apt-mark", "manual"), ("apt-mark", "auto")
CUDA_LABEL = "NVIDIA CUDA"

# As glob(7). Not nvidia-*: the container toolkit, NCCL and CUDA are to come from that repository. Few, because apt
# tries each on all names whenever it starts: 25 of them took 2.7 s where Debian's 70,000 names are known, these take
# 0.4 s. A whole name costs nothing.
KEPT_OUT = (
    "nvidia-[dhkopux]*",  # driver, dkms, headless, kernel-…, open, persistenced, utils, xconfig
    "nvidia-settings",
    "nvidia-modprobe",
    "nvidia-[cf][oi][mr]*",  # compute-utils, firmware; not container
    "cuda-drivers*",
    "xserver-xorg-video-nvidia*",
    "libnvidia-?[!o]*",  # these two: all but libnvidia-container*
    "libnvidia-?o[!n]*",
)
# As Python's re.match takes them, one for each beginning of a name.
BLACKLIST = (
    "nvidia-(driver|headless|dkms|kernel|utils|compute-utils|firmware|modprobe|persistenced|settings|xconfig|open)",
    "libnvidia-(cfg1|common|compute|decode|encode|extra|fbc1|gl|gpucomp|ifr1)",
    "(xserver-xorg-video-nvidia|cuda-drivers)",
    "linux-(modules|objects|signatures)-nvidia-",
    "linux-(image|image-unsigned|modules|modules-extra|headers|tools)-([0-9]|nvidia|generic|virtual|lowlatency|a[rm])",
    "linux-(nvidia|generic|virtual)",
)

PREFERENCES_TEXT = f"""# Written by switchless.spark, role nvidia_driver.
# Drivers of the CUDA repository stay out: they do not fit the kernel's modules. All else of it may come.
Package: {" ".join(KEPT_OUT)}
Pin: release l={CUDA_LABEL}
Pin-Priority: -1
"""
SETTINGS_TEXT = (
    "// Written by switchless.spark, role nvidia_driver.\n"
    "// Patterns of Python's re.match: each has to match from the beginning of a name.\n"
    "Unattended-Upgrade::Package-Blacklist {\n" + "".join(f'    "{pattern}";\n' for pattern in BLACKLIST) + "};\n"
)
FILES = ((PREFERENCES, PREFERENCES_TEXT), (SETTINGS, SETTINGS_TEXT))


@dataclass(frozen=True, slots=True)
class Marks:
    """Packages that lack a mark."""

    hold: tuple[str, ...] = ()
    manual: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.hold or self.manual)


def missing(node: Node) -> Marks:
    """What is to be held, and what apt must not think that nobody asked for."""
    plans = (node.seen.plan, node.seen.phased_plan)
    moving = {move.name for plan in plans if plan is not None for move in plan.pinned_moves if move.old is not None}
    guarded = {row.name for row in node.guarded}
    hold = [row.name for row in node.rows if row.name in guarded | moving and not row.package.held]
    manual = [row.name for row in node.guarded if row.auto]
    return Marks(tuple(dict.fromkeys(hold)), tuple(dict.fromkeys(manual)))
