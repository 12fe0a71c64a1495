# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A change of a node's network that undoes itself unless it is confirmed.

Before anything is touched, what was there goes into ``pending/manifest.json`` beside copies of the files, and a
timer is armed that starts
the roll-back service. Only :func:`commit`, called over a connection made after the change, disarms it. If the node
goes down in between,
the roll-back service runs at the next boot.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import time
import typing as t
from dataclasses import dataclass

from .fabric import sysctl_path
from .ip import Link
from .runner import Runner, run_checked

STATE = pathlib.Path("/var/lib/switchless/fabric")
BACKUPS = pathlib.Path("/var/lib/switchless/backup")
ROLLBACK_TOOL = ("/usr/bin/python3", "/usr/local/lib/switchless/fabric-rollback")
ROLLBACK_UNIT = "switchless-fabric-rollback.service"
DEADLINE_UNIT = "switchless-fabric-deadline"


@dataclass(frozen=True, slots=True)
class File:
    """A file to write; ``content`` None removes it. ``support`` files belong to the tool and are not rolled back."""

    path: str
    content: str | None
    mode: int
    support: bool = False

    def read(self) -> str | None:
        """Read what is there now; None where there is no file."""
        try:
            return pathlib.Path(self.path).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def differs(self) -> bool:
        """Say whether content or mode differ from what is there."""
        try:
            mode = pathlib.Path(self.path).stat().st_mode & 0o7777
        except FileNotFoundError:
            return self.content is not None
        return self.read() != self.content or mode != self.mode


@contextlib.contextmanager
def lock(state: pathlib.Path = STATE) -> t.Iterator[None]:
    """Hold the lock that keeps a change and a roll-back apart."""
    state.mkdir(parents=True, exist_ok=True)
    with (state / "lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def pending(state: pathlib.Path = STATE) -> dict[str, t.Any] | None:
    """Give the manifest of the unconfirmed change, or None."""
    try:
        manifest: dict[str, t.Any] = json.loads((state / "pending" / "manifest.json").read_text())
    except FileNotFoundError:
        return None
    return manifest


def last_rollback(state: pathlib.Path = STATE) -> dict[str, t.Any] | None:
    """Give the report of the last roll-back, or None."""
    try:
        report: dict[str, t.Any] = json.loads((state / "last-rollback.json").read_text())
    except FileNotFoundError:
        return None
    return report


def write(file: File) -> None:
    """Write a file atomically, with its mode from the start, or remove it."""
    path = pathlib.Path(file.path)
    if file.content is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.switchless")
    temporary.unlink(missing_ok=True)  # a crash may have left one, with another mode
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, file.mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
        handle.write(file.content)
        handle.flush()
        os.fsync(handle.fileno())
    temporary.chmod(file.mode)
    temporary.replace(path)


def _copy(source: pathlib.Path, copy: pathlib.Path) -> None:
    """Copy a file with its mode and times to where nobody else may read, and on to the disk: the power may go."""
    copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.copy2(source, copy)
    with copy.open("rb") as handle:
        os.fsync(handle.fileno())


def keep_copy(path: str, backups: pathlib.Path = BACKUPS) -> str | None:
    """Keep a copy of a file that is about to change, in a folder named after the time; gives the path of the copy."""
    source = pathlib.Path(path)
    if not source.exists():
        return None
    folder = backups / time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    copy = folder / path.lstrip("/")
    _copy(source, copy)
    return str(copy)


@dataclass(frozen=True, slots=True)
class Before:
    """What the roll-back has to know beyond the files."""

    links: t.Mapping[str, Link]
    managed: frozenset[str]
    networkd: frozenset[str]
    sysctl: t.Mapping[str, str | None]
    unit: str
    unit_enabled: bool
    relay_loaded: bool
    routes: tuple[tuple[str, ...], ...]


def stage(files: t.Sequence[File], before: Before, state: pathlib.Path = STATE) -> None:
    """Write what a roll-back needs. The manifest comes last: without it there is nothing to roll back."""
    folder = state / "pending"
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(mode=0o700, parents=True)
    entries = []
    for number, file in enumerate(file for file in files if not file.support):
        source = pathlib.Path(file.path)
        entry: dict[str, t.Any] = {"path": file.path, "backup": None}
        if source.exists():
            copy = folder / "files" / str(number)
            _copy(source, copy)
            info = source.stat()
            entry.update(backup=str(copy), uid=info.st_uid, gid=info.st_gid)
        entries.append(entry)
    manifest = {
        "schema": 1,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "files": entries,
        "unit": before.unit,
        "unit_enabled": before.unit_enabled,
        "relay_before": before.relay_loaded,
        "routes": [list(route) for route in before.routes],
        "sysctl": {sysctl_path(key): value for key, value in before.sysctl.items() if value is not None},
        "ports": [
            {
                "netdev": link.name,
                "mtu": link.mtu,
                "up": link.up,
                "addresses": list(link.addresses),
                "networkmanager": link.name in before.managed,
                "networkd": link.name in before.networkd,
            }
            for link in before.links.values()
        ],
    }
    write(File(str(folder / "manifest.json"), json.dumps(manifest, indent=2) + "\n", 0o600))


def disarm(runner: Runner) -> None:
    """Stop the deadline timer; it is no error when there is none."""
    runner.run(["systemctl", "stop", f"{DEADLINE_UNIT}.timer"])
    runner.run(["systemctl", "reset-failed", f"{DEADLINE_UNIT}.timer", f"{DEADLINE_UNIT}.service"])


def arm(runner: Runner, seconds: int) -> None:
    """Let the roll-back start by itself in ``seconds``; an earlier deadline is replaced."""
    disarm(runner)
    timer = [
        "systemd-run",
        "--quiet",
        f"--unit={DEADLINE_UNIT}",
        f"--on-active={seconds}s",
        "--timer-property=AccuracySec=250ms",
    ]
    run_checked(runner, [*timer, "systemctl", "start", ROLLBACK_UNIT])


def commit(runner: Runner, state: pathlib.Path = STATE) -> bool:
    """Confirm the pending change; gives whether there was one. The lock must be held."""
    disarm(runner)
    if pending(state) is None:
        return False
    (state / "pending" / "manifest.json").unlink()  # first: half of the rest is nothing to roll back to
    shutil.rmtree(state / "pending")
    return True
