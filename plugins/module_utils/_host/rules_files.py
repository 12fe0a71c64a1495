# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of the role, and what follows from them: limits, kernel settings, names.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

from .model import BEGIN, END, HOSTS, OURS, WantedFile
from .work import Work

JOURNAL = "/etc/systemd/journald.conf.d/"
MODE = "0644"


def after(work: Work, file: WantedFile) -> None:
    """What has to read a file that changed."""
    if file.reload:
        work.add("reload", True)
    if file.path.startswith(JOURNAL):
        work.add("restart", "systemd-journald.service")


def files(work: Work) -> None:
    for file in work.wanted.files:
        there = work.seen.file(file.path)
        if file.wanted and (there.content != file.content or there.mode != MODE):
            work.write(file.path, file.content)
            after(work, file)
        elif not file.wanted and there.content is not None and OURS in there.content:
            work.add("remove", file.path, f"{file.path} is there and not wanted")
            after(work, file)


def limits(work: Work) -> None:
    """The file may be right and systemd not have read it, or another file of its folder say something else."""
    for name, value in work.wanted.defaults.items():
        now = work.seen.defaults.get(name, "unknown")
        if now != value:
            work.add("reload", True, f"systemd's {name} is {now}, not {value}")


def kernel(work: Work) -> None:
    before: dict[str, str] = work.memory.pop("sysctl", {})
    kept: dict[str, str] = {}
    for key, value in work.wanted.sysctl.items():
        now = work.seen.sysctl.get(key)
        if key.replace("/", ".").startswith("net.ipv4."):
            work.add("refusals", f"host_sysctl has {key}, but net.ipv4 is the role fabric's: leave it out")
        elif now is None:
            work.add("refusals", f"host_sysctl has {key}, which this kernel does not have: leave it out")
        else:
            if key in before or now != value:
                kept[key] = before.get(key, now)
            if now != value:
                work.add("sysctl", f"{key}={value}", f"{key} is {now}, not {value}")
    for key, value in before.items():
        if key not in work.wanted.sysctl:
            work.add("sysctl", f"{key}={value}", f"{key} was {value} before this role")
    if kept:
        work.memory["sysctl"] = kept


def hosts(work: Work) -> None:
    text = work.seen.file(HOSTS).content or ""
    lines = work.wanted.hosts
    if lines and "\n".join((BEGIN, *lines, END)) + "\n" not in text:
        work.add("hosts", "present", f"{HOSTS} lacks the names of the control plane")
    elif not lines and BEGIN in text:
        work.add("hosts", "absent", f"{HOSTS} has the names of the control plane")
