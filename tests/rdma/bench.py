# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The product's own code run on the two guests: its modules by Ansible, its schedule and its judgement here."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.switchless.spark.plugins.filter.fabric_plan import fabric_plan
from ansible_collections.switchless.spark.plugins.module_utils._fabric.model import dotted
from ansible_collections.switchless.spark.plugins.module_utils._fabric.plan import plan_from_dict
from ansible_collections.switchless.spark.plugins.module_utils._link.results import results
from ansible_collections.switchless.spark.plugins.module_utils._link.schedule import schedule
from lab.rdma.pair import DEVICES, NAMES, NETDEVS, ROOTS, Pair

CHECKOUT = Path(__file__).parents[2]
ONE, TWO = NAMES
SECONDS = 10
"""By the guests' clocks. A message of 1 MiB on each of 4 queue pairs takes half a second there, the first one more."""
MEET_SECONDS = 60
"""How much earlier one end may start than the other."""
VAIN_SECONDS, VAIN_WAIT = 4, 5
"""The same where one end waits for the other in vain."""
MODULE_SECONDS = 300
PREFIX = "0000:0000:0000:0000:0000:ffff"
"""Of a GID that is an IPv4 address."""


@dataclass(frozen=True, slots=True)
class Leg:
    """One measurement, judged: a root and the guest that sends."""

    verdict: str
    gbps: float | None
    detail: str
    sent: Mapping[str, Any]
    received: Mapping[str, Any]

    @property
    def raw(self) -> str:
        """What the tool printed at the end that sends."""
        return str(self.sent.get("raw", ""))


class Bench:
    """The two guests, with the addresses that the plan gives them."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.plan: Any = fabric_plan([{"ends": [f"{name}:p0" for name in NAMES]}], hosts=list(NAMES), head=ONE)
        self.cable = plan_from_dict(self.plan).cables[0]
        self.env = os.environ | {
            "ANSIBLE_LOAD_CALLBACK_PLUGINS": "1",
            "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json",
            "ANSIBLE_CALLBACKS_ENABLED": "ansible.posix.json",  # and not those of ansible.cfg
            "ANSIBLE_NOCOLOR": "1",
        }
        self._readiness: dict[str, Any] = {}
        self._runs = 0

    def address(self, name: str, root: str) -> str:
        """Give the address of a guest's port."""
        return dotted(self.cable.address(NAMES.index(name), ROOTS.index(root)))

    def module(self, name: str, hosts: str = "sparks", /, **options: Any) -> dict[str, dict[str, Any]]:
        """Run a module of the collection; gives what it returned on each guest. An option may be a template."""
        self._runs += 1
        log = self.pair.folder / f"ansible-{self._runs}.json"
        argv = ["ansible", hosts, "-i", str(self.pair.inventory), "-m", f"switchless.spark.{name}"]
        done = subprocess.run(
            [*argv, "-a", json.dumps(options)],
            capture_output=True,
            text=True,
            check=False,
            timeout=MODULE_SECONDS,
            cwd=CHECKOUT,
            env=self.env,
            stdin=subprocess.DEVNULL,
        )
        log.write_text(done.stdout + done.stderr)
        assert done.returncode == 0, done.stdout + done.stderr
        found: dict[str, dict[str, Any]] = json.loads(done.stdout)["plays"][0]["tasks"][0]["hosts"]
        return found

    @property
    def readiness(self) -> dict[str, Any]:
        """What each guest has for measuring."""
        if not self._readiness:
            self._readiness = {
                name: said["readiness"] for name, said in self.module("link_bandwidth", measurements=[]).items()
            }
        return self._readiness

    def measure(
        self, *wanted: tuple[str, str], seconds: int = SECONDS, wait: int = MEET_SECONDS, without: str = ""
    ) -> dict[tuple[str, str], Leg]:
        """Measure what is wanted, (root, sender) each, as the role does. `without`: a guest that takes no part."""
        functions = [
            {"cage": "p0", "root": root, "netdev": NETDEVS[root], "rdma": DEVICES[root], "carrier": True}
            for root in ROOTS
        ]
        nodes = {name: {"functions": functions, "readiness": self.readiness[name]} for name in NAMES}
        planned = schedule(self.plan, nodes)
        assert planned["reasons"] == planned["refusals"] == []
        (items,) = planned["rounds"]
        taken = {
            name: [item for item in items[name] if _key(name, item) in wanted] if name != without else []
            for name in NAMES
        }
        assert sum(map(len, taken.values())) == len(wanted) * (1 if without else 2)
        said = self.module(
            "link_bandwidth",
            ",".join(name for name in NAMES if taken[name]),
            measurements=f"{{{{ {json.dumps(taken)}[inventory_hostname] }}}}",
            seconds=seconds,
            wait_seconds=wait,
        )
        measured = {name: said[name]["measured"] if name in said else [] for name in NAMES}
        judged = results(planned, measured)
        ends = {(*_key(name, run), run["side"]): run for name, runs in measured.items() for run in runs}
        return {
            (root, name): Leg(
                row["verdict"],
                row["gbps"],
                row["detail"],
                ends.get((root, name, "client"), {}),
                ends.get((root, name, "server"), {}),
            )
            for name, rows in judged["hosts"].items()
            for row in rows
            if row["direction"] == "out" and (root := row["root"], name) in wanted
        }


def _key(name: str, item: Mapping[str, Any]) -> tuple[str, str]:
    """Root and sender of a measurement that a guest takes part in."""
    return str(item["root"]), name if item["direction"] == "out" else str(item["peer"]).partition(":")[0]
