# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's own cgroups (version 2): what runs in them can be counted and killed without knowing a single pid."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from lab.common import LabError, wait_for

TOP = "spark-lab"


def parse_cgroup2_mount(mountinfo: str) -> Path | None:
    """Where cgroup version 2 is mounted, by the text of /proc/self/mountinfo."""
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        if right.split(" ", 1)[0] == "cgroup2":
            return Path(left.split()[4])
    return None


def hierarchy() -> Path:
    found = parse_cgroup2_mount(Path("/proc/self/mountinfo").read_text())
    if found is None:
        raise LabError("no cgroup version 2 hierarchy is mounted: mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified")
    return found


class Cgroup:
    """One cgroup, by its path below the root of the hierarchy."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.path = hierarchy() / name

    def create(self) -> None:
        """Create it and hand it the controllers that its parents have to give."""
        path = hierarchy()
        for part in Path(self.name).parts:
            path /= part
            path.mkdir(exist_ok=True)
            if path != self.path:
                with suppress(OSError):
                    names = (path / "cgroup.controllers").read_text().split()
                    (path / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in names))

    def enter(self, pid: int = 0) -> None:
        (self.path / "cgroup.procs").write_text(str(pid or os.getpid()))

    def exists(self) -> bool:
        return self.path.is_dir()

    def populated(self) -> bool:
        with suppress(OSError):
            return "populated 1" in (self.path / "cgroup.events").read_text()
        return False

    def end(self) -> None:
        """SIGKILL everything in it and below, wait until it is gone, and remove it.

        A cgroup that was killed is never used again: Linux 6.15 and newer kill what is cloned from such a cgroup into a
        new one below it, which is how systemd starts services.
        """
        with suppress(FileNotFoundError):
            (self.path / "cgroup.kill").write_text("1")
            if not wait_for(lambda: not self.populated(), 10):
                raise LabError(f"processes in cgroup {self.path} do not die")
        if not wait_for(self._remove, 5):
            raise LabError(f"cgroup {self.path} cannot be removed")

    def _remove(self) -> bool:
        for folder, _, _ in os.walk(self.path, topdown=False):
            with suppress(OSError):
                Path(folder).rmdir()
        return not self.path.exists()


def remove_top() -> None:
    """Remove the parent of all labs' cgroups if this was the last."""
    with suppress(OSError):
        (hierarchy() / TOP).rmdir()
