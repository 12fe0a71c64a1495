# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node boots into, and who watches its memory and its clock.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

from .look import CLOCKS, DESKTOP, EARLYOOM, SWAP
from .work import Work

HEADLESS = "multi-user.target"
TIME_PACKAGE, TIME_UNIT = "systemd-timesyncd", "systemd-timesyncd.service"
SPARE_KIB = 1048576
"""What has to stay free when swapped pages come back into memory."""


def desktop(work: Work) -> None:
    now, before = work.seen.default_target, work.memory.get("default_target")
    if work.wanted.headless:
        if now not in ("", HEADLESS):
            work.memory.setdefault("default_target", now)
            work.add("default_target", HEADLESS, f"the node boots into {now}, not {HEADLESS}")
        runs = work.seen.unit(DESKTOP).runs
        if runs and work.wanted.stop_desktop:
            work.add("stop", DESKTOP, f"{DESKTOP} runs")
        elif runs:
            work.add(
                "notes",
                "the desktop still runs, and takes memory from the model until the next boot; "
                "host_stop_desktop=true ends it and its sessions now",
            )
    elif before is not None:
        del work.memory["default_target"]
        if now == HEADLESS:
            work.add("default_target", before, f"the node booted into {before} before this role, now into {now}")


def swap(work: Work) -> None:
    masked = work.seen.unit(SWAP).load == "masked"
    used, free = sum(one.used_kib for one in work.seen.swaps), work.seen.available_kib or 0
    if work.wanted.swap_off:
        if masked and not work.seen.swaps:
            return
        if not masked:
            work.memory["swap"] = "masked"
            work.add("swap", "off", "swap comes back at the next boot")
        for one in work.seen.swaps:
            work.add("swap", "off", f"swap on {one.path}, {one.used_kib // 1024} of {one.size_kib // 1024} MiB in use")
        if used and used + SPARE_KIB > free:
            work.add(
                "refusals",
                f"{used // 1024} MiB are swapped out and {free // 1024} MiB of memory are available, too little to "
                "take them back: stop what uses the memory (the model) and run again, or set host_swap to keep",
            )
    elif work.memory.pop("swap", None) and masked:
        work.add("swap", "on", "swap was turned off by this role")


def time(work: Work) -> None:
    if not work.wanted.time_sync or any(work.seen.unit(name).runs for name in CLOCKS):
        return
    installed = [name for name in CLOCKS if work.seen.unit(name).installed]
    if not installed and work.seen.unit(TIME_UNIT).load == "masked":
        work.add("refusals", f"{TIME_UNIT} is masked: systemctl unmask {TIME_UNIT}, or set host_time_sync to false")
    elif not installed:
        work.add("install", TIME_PACKAGE, "nothing keeps the clock right")
        work.add("start", TIME_UNIT)
    else:
        work.add("start", installed[0], f"{installed[0]} is installed, and does not run")


def oom(work: Work) -> None:
    unit = work.seen.unit(EARLYOOM)
    contained = bool(work.seen.container)
    changed = any(EARLYOOM in path for path in (*(w.path for w in work.all("write")), *work.all("remove")))
    if not work.wanted.earlyoom:
        if work.memory.pop("earlyoom", None):
            work.add("uninstall", "earlyoom", "earlyoom was installed by this role")
        elif changed and unit.runs:
            work.add("restart", EARLYOOM)
        return
    if unit.load == "masked":
        work.add("refusals", f"{EARLYOOM} is masked: systemctl unmask {EARLYOOM}, or set host_oom to none")
        return
    if not unit.installed:
        work.memory["earlyoom"] = "installed"
        work.add("install", "earlyoom", "earlyoom is not installed")
    if not contained and changed and unit.runs:
        work.add("restart", EARLYOOM)
    elif not contained and not (unit.runs and unit.enabled == "enabled"):
        work.add("start", EARLYOOM, f"{EARLYOOM} does not run, or not at boot" if unit.installed else "")
