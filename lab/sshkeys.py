# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of the lab and the ssh_config that reaches its nodes from the machine's own network namespace."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from lab.common import command_env, run, write_atomic
from lab.site import give

if TYPE_CHECKING:
    from pathlib import Path

    from lab.site import Site


def make_key(path: Path, comment: str) -> None:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", path])


def user_key(site: Site) -> Path:
    """The key pair of the lab's user; gives the private half's path."""
    path = site.folder / "id_ed25519"
    make_key(path, f"spark-lab-{site.name}")
    give(path, path.with_suffix(".pub"))
    return path


def write_config(site: Site) -> None:
    """Write ssh_config and known_hosts: every node by name and by address, host keys known from the start."""
    wiring = site.wiring
    known = []
    for node in wiring.nodes:
        key = (site.node(node) / "upper" / "etc" / "ssh" / "ssh_host_ed25519_key.pub").read_text().split()
        known.append(f"{node},{wiring.address(node)} {key[0]} {key[1]}\n")
    write_atomic(site.folder / "known_hosts", "".join(known))
    path = command_env()["PATH"]
    ip, socat = (shutil.which(name, path=path) or name for name in ("ip", "socat"))
    sudo = "sudo -n " if os.environ.get("SUDO_UID", "0") != "0" else ""
    blocks = [
        f"Host {node} {wiring.address(node)}\n  HostName {wiring.address(node)}\n  HostKeyAlias {node}\n"
        for node in wiring.nodes
    ]
    blocks.append(
        "Host *\n"
        "  User spark\n"
        f'  IdentityFile "{site.folder}/id_ed25519"\n'
        "  IdentitiesOnly yes\n"
        "  StrictHostKeyChecking yes\n"
        f'  UserKnownHostsFile "{site.folder}/known_hosts"\n'
        "  GlobalKnownHostsFile /dev/null\n"
        "  LogLevel ERROR\n"
        f"  ProxyCommand {sudo}{ip} netns exec {site.controller} {socat} - TCP:%h:%p\n"
    )
    write_atomic(site.ssh_config, "".join(blocks))
    give(site.ssh_config, site.folder / "known_hosts")
