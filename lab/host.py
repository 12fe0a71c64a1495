# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the machine must have before a lab can run, checked at once and said in one message."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from lab.cgroup import hierarchy
from lab.common import LabError, command_env, say

# command that must be there -> Debian and Ubuntu package that has it
NEEDED = {
    "systemd-nspawn": "systemd-container",
    "mmdebstrap": "mmdebstrap",
    "ip": "iproute2",
    "tc": "iproute2",
    "rsync": "rsync",  # by which Ansible brings wheels to the nodes
    "socat": "socat",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "nsenter": "util-linux",
    "apt-ftparchive": "apt-utils",
    "dpkg-deb": "dpkg",
    "gpg": "gnupg",
    "gpgv": "gpgv",
}
EXTRA = ("ca-certificates", "debian-archive-keyring")
INOTIFY = 2048
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "time", "uts")


def packages() -> list[str]:
    return sorted({*NEEDED.values(), *EXTRA})


def check() -> None:
    """Raise one LabError that names everything that is missing."""
    problems = []
    path = command_env()["PATH"]
    missing = sorted({package for name, package in NEEDED.items() if not shutil.which(name, path=path)})
    if missing:
        problems.append(f"packages are missing: apt-get install -y --no-install-recommends {' '.join(missing)}")
    if absent := [name for name in NAMESPACES if not Path(f"/proc/self/ns/{name}").exists()]:
        problems.append(f"this kernel has no {', '.join(absent)} namespaces")
    if "overlay" not in Path("/proc/filesystems").read_text() and not shutil.which("modprobe", path=path):
        problems.append("this kernel has no overlay file system")
    try:
        if not os.access(hierarchy(), os.W_OK):
            problems.append(f"{hierarchy()} is read-only: the lab needs a real root, not a container's")
    except LabError as error:
        problems.append(str(error))
    if problems:
        raise LabError("this machine cannot run the lab yet:\n  " + "\n  ".join(problems))


def raise_limits() -> None:
    """All nodes share the machine's inotify instances: the kernel's default of 128 is enough for about six nodes."""
    path = Path("/proc/sys/fs/inotify/max_user_instances")
    present = int(path.read_text())
    if present < INOTIFY:
        say(f"raising fs.inotify.max_user_instances of this machine from {present} to {INOTIFY} (until its next boot)")
        try:
            path.write_text(str(INOTIFY))
        except OSError as error:
            say(f"could not: {error.strerror}; more than about six nodes will not start")


def become_root(module: str = "lab") -> None:
    """Start this module again through sudo unless root already."""
    if os.geteuid() == 0:
        return
    sudo = shutil.which("sudo")
    if sudo is None:
        raise LabError("this needs root (namespaces, mounts, cgroups), and there is no sudo on this machine")
    kept = (
        "PYTHONPATH",
        "PYTHONPYCACHEPREFIX",
        "PYTHONSAFEPATH",
        "http_proxy",
        "https_proxy",
        "no_proxy",
        "SSL_CERT_FILE",
    )
    passed = [f"{name}={os.environ[name]}" for name in kept if name in os.environ]
    os.execv(sudo, [sudo, "env", *passed, sys.executable, "-m", module, *sys.argv[1:]])  # noqa: S606
