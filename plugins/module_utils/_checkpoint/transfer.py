# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""The agent as a transient unit: how it is started, and what became of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Runner, run_checked

UNIT = "switchless-checkpoint.service"
ABSENT, RUNNING, COMPLETE, FAILED, STOPPED = "absent", "running", "complete", "failed", "stopped"
LIVING = ("active", "activating", "deactivating", "reloading")
JOURNAL_LINES = "20"


def identified(job: Mapping[str, Any]) -> dict[str, Any]:
    """The job and what it is known by: the same for the same job."""
    text = json.dumps(job, sort_keys=True)
    return dict(job) | {"id": hashlib.sha256(text.encode()).hexdigest()[:16]}


@dataclass(frozen=True, slots=True)
class Unit:
    """What systemd says of the agent."""

    active: str
    pid: int

    @property
    def lives(self) -> bool:
        return self.active in LIVING


def unit(runner: Runner) -> Unit:
    argv = ["systemctl", "show", UNIT, "--property=ActiveState", "--property=MainPID"]
    lines = run_checked(runner, argv).stdout.splitlines()
    said = dict(line.split("=", 1) for line in lines if "=" in line)
    pid = said.get("MainPID", "0")
    return Unit(said.get("ActiveState", ""), int(pid) if pid.isdecimal() else 0)


def start(runner: Runner, program: str, job_file: str, writable: Sequence[str]) -> None:
    """Start it for good: it outlives the ssh connection, and systemd kills all of it at once."""
    run_checked(
        runner,
        [
            "systemd-run",
            "--quiet",
            f"--unit={UNIT}",
            "--description=Gets a checkpoint from the neighbours and gives it to them",
            "--property=Nice=10",
            "--property=NoNewPrivileges=yes",
            "--property=ProtectSystem=strict",
            *(f"--property=ReadWritePaths={path}" for path in writable),
            "--property=PrivateTmp=yes",
            "--property=RestrictAddressFamilies=AF_INET AF_UNIX",
            "--property=CapabilityBoundingSet=CAP_DAC_OVERRIDE CAP_FOWNER CAP_CHOWN",
            "--property=LimitNOFILE=4096",
            "--property=TimeoutStopSec=20",
            "/usr/bin/python3",
            program,
            job_file,
        ],
    )


def stop(runner: Runner) -> None:
    """Stop it and let systemd forget how it ended; it is no error when there is none."""
    runner.run(["systemctl", "stop", UNIT])
    runner.run(["systemctl", "reset-failed", UNIT])


def journal(runner: Runner) -> str:
    argv = ["journalctl", "-u", UNIT, "-o", "cat", "-n", JOURNAL_LINES, "--no-pager"]
    return runner.run(argv).stdout.strip()


def state_of(seen: Unit, status: Mapping[str, Any] | None, job: Mapping[str, Any]) -> dict[str, Any]:
    """What became of this job. A status that says running while nothing runs is that of an agent that was killed."""
    own = status if status and status.get("job") == job["id"] else None
    if own is None:
        return {"state": RUNNING if seen.lives else ABSENT, "error": None}
    if own["state"] == RUNNING and not seen.lives:
        return dict(own) | {
            "state": FAILED,
            "error": "the agent ended without a word: it was killed, or the node was off",
        }
    return dict(own)


def fits(seen: Unit, found: Mapping[str, Any], job: Mapping[str, Any], on_disk: Mapping[str, Any] | None) -> bool:
    """Whether nothing is to be started: this job runs, or it is done and has nobody to serve.

    What an earlier run completed may have been harmed since, so that it is done again: what is still right is not taken
    a second time.
    """
    there = on_disk or {}
    if found["state"] == COMPLETE and there.get("run") != job.get("run"):
        return False
    if seen.lives:
        return bool(there.get("id") == job["id"])
    return found["state"] == COMPLETE and not job.get("serve")
