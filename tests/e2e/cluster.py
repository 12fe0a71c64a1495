# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab and the playbooks run on it, as a person would from the checkout."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import machine
from lab.common import LabError, command_env
from lab.site import Site

CHECKOUT = Path(__file__).parents[2]
RECAP = re.compile(r"^(\S+)\s+: ok=(\d+)\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)", re.MULTILINE)
PLAY_SECONDS = 900  # a limit for a run that hangs: shared machines are slow at times


@dataclass(frozen=True, slots=True)
class Played:
    """How a run of a playbook ended; counts by host."""

    rc: int
    text: str

    @property
    def changed(self) -> dict[str, int]:
        """Give the number of changed tasks by host."""
        return {match[0]: int(match[2]) for match in RECAP.findall(self.text)}

    @property
    def failed(self) -> dict[str, int]:
        """Give the number of failed tasks by host."""
        return {match[0]: int(match[4]) for match in RECAP.findall(self.text)}

    def said(self, *words: str) -> bool:
        """Say whether all the words stand in the output, whatever the line breaks."""
        flat = " ".join(self.text.split())
        missing = [word for word in words if " ".join(word.split()) not in flat]
        assert not missing, f"{missing} not in:\n{self.text}"
        return True


def _run(argv: list[str], env: Mapping[str, str], timeout: int = PLAY_SECONDS) -> subprocess.CompletedProcess[str]:
    """Run a command in the checkout, without anybody to ask."""
    return subprocess.run(
        argv,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
        cwd=CHECKOUT,
        env=env,
        stdin=subprocess.DEVNULL,
    )


class Cluster:
    """A lab of one wiring, under a name of its own. ``used``: not as `up` left it; something was done to it."""

    def __init__(self, name: str, wiring: str, inventory: str) -> None:
        self.name = name
        self.wiring = CHECKOUT / "lab" / "wiring" / f"{wiring}.toml"
        self.inventory = CHECKOUT / inventory
        self.used = False
        self.env = os.environ | {"SPARK_LAB": name, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_DISPLAY_FAILED_STDERR": "0"}

    def lab(self, *words: str, check: bool = True) -> str:
        """Run one verb of the lab; gives what it printed."""
        self.used = True
        argv = [
            sys.executable,
            str(CHECKOUT / "lab" / "spark-lab"),
            "--name",
            self.name,
            "--wiring",
            str(self.wiring),
            *words,
        ]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=PLAY_SECONDS, cwd=CHECKOUT)
        assert not (check and done.returncode), f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def node(self, node: str, command: str, *, check: bool = True) -> str:
        """Run a shell command as root on a node; gives what it printed. As `exec` does, without its 0.4 s to start."""
        self.used = True
        if os.geteuid() != 0:
            return self.lab("exec", node, "sh", "-c", command, check=check)
        site = Site(self.name)
        group = site.cgroup(f"node-{node}/exec")
        try:
            inside = machine.command(site, node, ["sh", "-c", command])
            group.create()
        except (LabError, OSError) as error:  # it is off, or goes down or comes up at this moment
            if check:
                raise AssertionError(f"{node}: {command}: {error}") from error
            return ""
        argv = ["sh", "-c", 'echo $$ >"$0" && exec "$@"', str(group.path / "cgroup.procs"), *inside]
        done = _run(argv, command_env())
        assert not (check and done.returncode), f"{node}: {command}: {done.stdout}{done.stderr}"
        return done.stdout

    def nodes(self, command: str) -> dict[str, str]:
        """Run a shell command as root on every node."""
        return {node: self.node(node, command) for node in self.names}

    @property
    def names(self) -> list[str]:
        """Names of the nodes, from the wiring."""
        names: list[str] = tomllib.loads(self.wiring.read_text())["nodes"]
        return names

    def up_for(self, seconds: float) -> None:
        """Wait until every node has been up for longer than that."""
        for node in self.names:
            while (left := seconds - float(self.node(node, "cut -d. -f1 /proc/uptime"))) >= 0:
                time.sleep(left + 1)

    def fabric(self, *words: str) -> Played:
        """Run the plays of the fabric alone."""
        return self.play("--tags", "fabric", *words)

    def play(self, *words: str, playbook: str = "site.yml", timeout: int = PLAY_SECONDS) -> Played:
        """Run a playbook with further arguments."""
        self.used = True
        argv = ["ansible-playbook", "-i", str(self.inventory), playbook, *words]
        done = _run(argv, self.env, timeout)
        return Played(done.returncode, done.stdout + done.stderr)

    def asked_from_outside(self, *roles: str) -> str:
        """The post-checks of roles, as a user runs them on a cluster."""
        folders = [str(CHECKOUT / "tests" / "testinfra" / role) for role in roles]
        argv = [sys.executable, "-m", "pytest", "-q", *folders, "--inventory", str(self.inventory)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=CHECKOUT, env=self.env)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def addresses(self, node: str) -> dict[str, list[str]]:
        """Give the global IPv4 addresses of a node by device."""
        found: list[dict[str, Any]] = json.loads(self.node(node, "ip -j -4 address show scope global"))
        return {link["ifname"]: [a["local"] for a in link["addr_info"]] for link in found if link}
