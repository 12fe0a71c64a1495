# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Three ranks on the loopback: real keepers, a stand-in for vLLM, and the little of systemd that they need."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

KEEPER = Path(__file__).resolve().parents[3] / "roles/vllm/files/vllm_rank"
FAKE = Path(__file__).with_name("fake_vllm.py")
PATIENCE = 30.0  # how long a test waits before it fails; what passes is much faster
KEY, API_KEY = "control-secret-0123456789", "api-secret-0123456789"
# Long enough for a machine that is busy with other things; a test of a limit makes that one short.
LIMITS = {
    "boot_seconds": 20,
    "stall_seconds": 30,
    "beat_seconds": 0.1,
    "silence_seconds": 20,
    "stop_seconds": 0.5,
    "probe_seconds": 0.2,
}


def until(what: str, seen: Callable[[], Any]) -> Any:
    """Wait for a condition."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = seen()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"not within {PATIENCE:g} s: {what}")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


class World:
    def __init__(self, folder: Path, size: int = 3) -> None:
        self.folder, self.size = folder, size
        self.control, self.api = free_port(), free_port()
        self.keepers: dict[int, subprocess.Popen[bytes]] = {}
        self.limits: dict[str, float] = dict(LIMITS)
        self.environment: dict[str, str] = {}  # more of it
        self.hosts = [f"spark{rank + 1}" for rank in range(size)]
        (folder / "group.key").write_text(KEY)
        (folder / "api.key").write_text(API_KEY)

    # settings

    def config(self, rank: int, **changed: Any) -> dict[str, Any]:
        folder = self.folder
        return {
            "schema": 1,
            "recipe": "lab",
            "rank": rank,
            "host": self.hosts[rank],
            "ranks": [{"rank": number, "host": host} for number, host in enumerate(self.hosts)],
            "group": "e3b0c442",
            "control": {"address": "127.0.0.1", "port": self.control},
            "key_file": str(folder / "group.key"),
            "argv": [sys.executable, "-B", "-S", str(FAKE), str(folder), str(rank), str(0 if rank else self.api)],
            "kill_argv": [],
            "gone_argv": [],
            "api": None
            if rank
            else {"url": f"http://127.0.0.1:{self.api}", "model": "copy", "key_file": str(folder / "api.key")},
            "limits": self.limits,
            "state_file": str(folder / f"run.{rank}/state.json"),
            "end_file": str(folder / f"lib.{rank}/last_end.json"),
        } | changed

    def switch(self, name: str, on: bool = True) -> None:
        if on:
            (self.folder / name).touch()
        else:
            (self.folder / name).unlink()

    # what systemd does

    def write(self, rank: int, **changed: Any) -> Path:
        path = self.folder / f"rank.{rank}.json"
        path.with_suffix(".new").write_text(json.dumps(self.config(rank, **changed)))
        return path.with_suffix(".new").replace(path)

    def start(self, rank: int, **changed: Any) -> None:
        path = self.write(rank, **changed)
        (self.folder / f"pid.{rank}").unlink(missing_ok=True)
        environment = {name: value for name, value in os.environ.items() if name != "NOTIFY_SOCKET"}
        with (self.folder / f"journal.{rank}").open("ab") as journal:
            self.keepers[rank] = subprocess.Popen(
                [sys.executable, "-I", "-B", str(KEEPER), str(path)],
                stdin=subprocess.DEVNULL,
                stdout=journal,
                stderr=journal,
                env=environment
                | {"RANK_UNIT": f"{self.folder}:{rank}", "http_proxy": "http://127.0.0.1:9"}
                | self.environment,
            )
        if rank == 0:
            until("the head listens", self.listens)

    def start_all(self) -> None:
        for rank in range(self.size):
            self.start(rank)

    def serve(self) -> dict[str, Any]:
        """A life, up to its first token."""
        self.start_all()
        return self.serving()

    def serving(self) -> dict[str, Any]:
        state = self.reaches(0, "serving")
        for rank in range(1, self.size):
            until(f"rank {rank} runs", (self.folder / f"pid.{rank}").exists)
        return state

    def exits(self, rank: int) -> int:
        """The exit code of a keeper that ended by itself: it has left nothing behind."""
        keeper = self.keepers.pop(rank)
        code = keeper.wait(PATIENCE)
        assert self.left(rank) == []
        return code

    def all_but(self, stays: int) -> list[int]:
        return [self.exits(rank) for rank in sorted(self.keepers) if rank != stays]

    def all_exit(self) -> list[int]:
        return [self.exits(rank) for rank in sorted(self.keepers)]

    def kill_keeper(self, rank: int) -> None:
        """SIGKILL, then what systemd does to the cgroup of a main process that is dead."""
        keeper = self.keepers.pop(rank)
        keeper.kill()
        keeper.wait()
        until("the cgroup is empty", lambda: not self.kill_left(rank))

    def kill_left(self, rank: int) -> list[int]:
        found = self.left(rank)
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return found

    def left(self, rank: int) -> list[int]:
        """Processes of a unit. Dead ones have no environment any more."""
        mark = f"RANK_UNIT={self.folder}:{rank}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdecimal() and mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def clear(self) -> None:
        """Nothing outlives a test, however it ended."""
        for rank in range(self.size):
            self.kill_left(rank)
        for keeper in self.keepers.values():
            keeper.wait()

    # what is seen

    def listens(self) -> bool:
        with socket.socket() as asked:
            return asked.connect_ex(("127.0.0.1", self.control)) == 0

    def child(self, rank: int) -> int:
        return int((self.folder / f"pid.{rank}").read_text())

    def state(self, rank: int) -> dict[str, Any]:
        return self.read(f"run.{rank}/state.json")

    def reaches(self, rank: int, name: str) -> dict[str, Any]:
        def seen() -> dict[str, Any]:
            state = self.state(rank)
            current = rank not in self.keepers or self.keepers[rank].poll() is None
            return state if state.get("state") == name and current else {}

        found: dict[str, Any] = until(f"rank {rank} is {name}; journal: {self.journal(rank)[-2000:]}", seen)
        return found

    def end(self) -> tuple[str, int]:
        """Why the last life ended."""
        record = self.read("lib.0/last_end.json")
        return record["reason"], record["rank"]

    def read(self, name: str) -> dict[str, Any]:
        try:
            data: dict[str, Any] = json.loads((self.folder / name).read_text())
        except FileNotFoundError:
            return {}
        return data

    def journal(self, rank: int) -> str:
        path = self.folder / f"journal.{rank}"
        return path.read_text() if path.exists() else ""
