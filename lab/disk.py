# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The disk of a node: an overlay's upper layer, seeded with what makes one Spark differ from the next."""

from __future__ import annotations

import os
import shutil
import uuid
from typing import TYPE_CHECKING

from lab import sshkeys
from lab.hardware import MANAGEMENT

if TYPE_CHECKING:
    from pathlib import Path

    from lab.site import Site

PROXY_PORT = 3142
SPARK_UID = 1000
NETPLAN = """\
# The management port. On a Spark it has an address by DHCP; the lab gives it a fixed one.
network:
  version: 2
  ethernets:
    {port}:
      addresses: [{address}]
"""


def prepare(site: Site, node: str) -> None:
    """Make the disk unless it is there."""
    folder = site.node(node)
    if (folder / "ready").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    upper = folder / "upper"
    (folder / "board").mkdir(parents=True)
    identity = str(uuid.uuid4())
    (folder / "uuid").write_text(identity + "\n")
    for name, (text, mode) in _files(site, node, identity).items():
        _put(upper / name, text, mode)
    sshkeys.make_key(upper / "etc" / "ssh" / "ssh_host_ed25519_key", f"root@{node}")
    public = sshkeys.user_key(site).with_suffix(".pub").read_text()
    for home, uid in ((upper / "root", 0), (upper / "home" / "spark", SPARK_UID)):
        _put(home / ".ssh" / "authorized_keys", public, 0o600)
        for path in (home, home / ".ssh", home / ".ssh" / "authorized_keys"):
            os.chown(path, uid, uid)
        home.chmod(0o700)
        (home / ".ssh").chmod(0o700)
    (folder / "ready").touch()


def _put(path: Path, text: str, mode: int) -> None:
    """Write a file of the node; folders on the way get the mode that they have on every Debian."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def _files(site: Site, node: str, identity: str) -> dict[str, tuple[str, int]]:
    wiring = site.wiring
    hosts = "".join(f"{wiring.address(name)} {name}\n" for name in wiring.nodes)
    return {
        "etc/machine-id": (identity.replace("-", "") + "\n", 0o444),
        "etc/hostname": (f"{node}\n", 0o644),
        "etc/hosts": (f"127.0.0.1 localhost\n127.0.1.1 {node}\n::1 localhost ip6-localhost\n{hosts}", 0o644),
        "etc/apt/apt.conf.d/90lab-proxy": (f'Acquire::http::Proxy "http://{wiring.controller}:{PROXY_PORT}";\n', 0o644),
        "etc/netplan/50-management.yaml": (
            NETPLAN.format(port=MANAGEMENT, address=f"{wiring.address(node)}/{wiring.management.prefixlen}"),
            0o600,
        ),
    }
