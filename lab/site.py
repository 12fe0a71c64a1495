# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where one lab keeps its things, and what its namespaces and cgroups are called."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lab.cgroup import TOP, Cgroup
from lab.common import LabError, read_json, write_atomic
from lab.wiring import load_wiring

if TYPE_CHECKING:
    from lab.wiring import Wiring

CHECKOUT = Path(__file__).resolve().parent.parent
STORE = CHECKOUT / ".lab"
CACHE = STORE / "cache" / "apt"
REGISTER = Path("/run/spark-lab")


@dataclass(frozen=True)
class Site:
    """One lab of this checkout, by its name."""

    name: str

    @property
    def folder(self) -> Path:
        return STORE / self.name

    @property
    def run(self) -> Path:
        return self.folder / "run"

    @property
    def logs(self) -> Path:
        return self.folder / "log"

    @property
    def nodes(self) -> Path:
        return self.folder / "nodes"

    def node(self, node: str) -> Path:
        return self.nodes / node

    @property
    def ssh_config(self) -> Path:
        return self.folder / "ssh_config"

    @property
    def wiring_file(self) -> Path:
        return self.folder / "wiring.toml"

    @property
    def factory_file(self) -> Path:
        """Names the image that this lab's disks were made from."""
        return self.folder / "factory"

    @property
    def serving_file(self) -> Path:
        """What this lab serves with, or why it cannot; none if nobody asked it to serve."""
        return self.folder / "serving.json"

    @property
    def cables_file(self) -> Path:
        return self.run / "cables.json"

    @cached_property
    def id(self) -> str:
        """Tells this lab from one of the same name in a checkout that cannot see it (another chroot, another /run)."""
        path = self.folder / "id"
        if not path.exists():
            claim = read_json(self.claim_file)
            ours = isinstance(claim, dict) and claim.get("checkout") == str(CHECKOUT)
            write_atomic(path, claim["id"] if ours else secrets.token_hex(4))
        return path.read_text().strip()

    @property
    def claim_file(self) -> Path:
        return REGISTER / f"{self.name}.json"

    def cgroup(self, part: str = "") -> Cgroup:
        name = f"{TOP}/{self.name}-{self.id}"
        return Cgroup(f"{name}/{part}" if part else name)

    def node_cgroup(self, node: str) -> Cgroup:
        return self.cgroup(f"node-{node}")

    @property
    def prefix(self) -> str:
        return f"lab.{self.name}."

    @property
    def controller(self) -> str:
        return self.prefix + "controller"

    @property
    def wire(self) -> str:
        return self.prefix + "wire"

    def netns(self, node: str) -> str:
        return f"{self.prefix}node.{node}"

    def process_file(self, service: str) -> Path:
        return self.run / f"{service}.pid"

    @cached_property
    def wiring(self) -> Wiring:
        """The wiring that this lab was made with."""
        if not self.wiring_file.exists():
            raise LabError(f"there is no lab {self.name} in {STORE}: lab/spark-lab up makes one")
        return load_wiring(self.wiring_file)


def owner() -> tuple[int, int]:
    """Whose files the lab's are: the user's who called sudo."""
    return int(os.environ.get("SUDO_UID") or os.getuid()), int(os.environ.get("SUDO_GID") or os.getgid())


def give(*paths: Path) -> None:
    """Give files to the user who called sudo."""
    uid, gid = owner()
    for path in paths:
        os.chown(path, uid, gid, follow_symlinks=False)
