# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node that runs, seen from the machine: its processes, and a command in it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from lab.common import LabError
from lab.procs import Process, children, init_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.site import Site

MACHINE = "machine"  # suffix of the file that names the node's systemd-nspawn
NODE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def supervisor(site: Site, node: str) -> Process | None:
    """The process that is the node's power supply."""
    return Process.load(site.process_file(node))


def leader(site: Site, node: str) -> int | None:
    """Pid, seen from here, of the node's PID 1."""
    machine = Process.load(site.process_file(f"{node}.{MACHINE}"))
    return init_of(children(machine.pid)) if machine else None


def ready_file(init: int) -> Path:
    """What the stand-ins of a running node write when /sys shows its ports."""
    return root(init) / "run" / "spark-lab" / "ready"


def root(init: int) -> Path:
    """The root folder of a running node."""
    return Path(f"/proc/{init}/root")


def command(site: Site, node: str, argv: Sequence[str]) -> list[str]:
    """How to run a command in a node, as its root and in all its namespaces."""
    site.wiring.node(node)
    init = leader(site, node)
    if init is None:
        raise LabError(f"{node} is off")
    term = os.environ.get("TERM", "dumb")
    variables = [f"PATH={NODE_PATH}", "HOME=/root", "LANG=C.UTF-8", "SYSTEMD_DEVICE_VERIFY_SYSFS=0", f"TERM={term}"]
    return ["nsenter", "--target", str(init), "--all", "--", "/usr/bin/env", "-i", "-C", "/", *variables, *argv]
