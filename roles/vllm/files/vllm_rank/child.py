# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""vLLM as a child: started, ended with all that came from it, and known to be gone."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from .config import Config
from .notify import environment

PR_SET_CHILD_SUBREAPER = 36
LAST_WORDS_SECONDS = 2.0  # for what a child that was told to end has left behind, before it is killed
HELPER_SECONDS = 20.0  # for a command of the container runtime
AGAIN_SECONDS = 0.5


def become_subreaper() -> None:
    """Orphans among the descendants become children of this process, also those that made a session of their own."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, f"descendants cannot be adopted: prctl said {os.strerror(number)}")


def parents() -> Iterator[tuple[int, int]]:
    """(process, parent) of everything in /proc."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError, ValueError):
                stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")
                yield int(entry.name), int(stat.rpartition(")")[2].split()[1])


def descendants(root: int, without: int | None = None) -> list[int]:
    """All that came from a process, without one of them and what came from that."""
    below: dict[int, list[int]] = {}
    for pid, parent in parents():
        below.setdefault(parent, []).append(pid)
    found: list[int] = []
    ahead = [root]
    while ahead:
        next_ones = [pid for pid in below.get(ahead.pop(), []) if pid != without]
        found += next_ones
        ahead += next_ones
    return found


def words(status: int) -> str:
    """A wait status, for people."""
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


class Child:
    """Nothing here waits: `poll` is called again and again, and reaps whatever ended."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.pid: int | None = None
        self.status: int | None = None
        self.gone = False  # nothing is left; true only between an end and a start
        self._main: subprocess.Popen[bytes] | None = None
        self._kill_from: float | None = None  # the time from which all is killed
        self._helper: subprocess.Popen[bytes] | None = None
        self._helper_asks = False
        self._helper_said = -1  # a file in memory for what it prints
        self._helper_at = 0.0
        self._container_gone = not config.gone_argv

    def start(self) -> str:
        """The answer is why it cannot be run, or nothing."""
        self.gone, self._kill_from, self._container_gone = False, None, not self.config.gone_argv
        try:
            self._main = subprocess.Popen(
                self.config.argv, stdin=subprocess.DEVNULL, env=environment(), start_new_session=True
            )
        except OSError as error:
            return f"{self.config.argv[0]} cannot be run: {error.strerror}"
        self.pid = self._main.pid
        return ""

    def end(self, graceful: bool, now: float) -> None:
        """Ends it and all that came from it."""
        self._kill_from = now
        if graceful and self.pid is not None:
            self._kill_from = now + self.config.limits.stop_seconds
            os.kill(self.pid, signal.SIGTERM)  # it was not reaped yet, so the number is still its own

    def poll(self, now: float) -> bool:
        """Reap, kill what is to be killed. True when the main process has just ended; its status is in `status`."""
        ended, some = self._reap(now)
        if self._kill_from is not None and not self.gone and now >= self._kill_from:
            helper = self._helper.pid if self._helper else None
            if some:
                for pid in descendants(os.getpid(), helper):
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(pid, signal.SIGKILL)
            self._ask_runtime(now)
        if self._kill_from is not None and not some and self._container_gone and self._helper is None:
            self.gone = True
        return ended

    def _reap(self, now: float) -> tuple[bool, bool]:
        """Whether the main process ended, and whether there is any child left."""
        ended = False
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return ended, False
            if pid == 0:
                return ended, True
            if self._helper and pid == self._helper.pid:
                self._helper.returncode = os.waitstatus_to_exitcode(status)
                self._heard_helper()
            elif self._main and pid == self.pid:
                self._main.returncode = os.waitstatus_to_exitcode(status)
                self.pid, self.status, ended = None, status, True
                if self._kill_from is not None:
                    self._kill_from = min(self._kill_from, now + LAST_WORDS_SECONDS)

    def _ask_runtime(self, now: float) -> None:
        """Kill the container by name, then ask whether it is gone, until it is."""
        if self._container_gone:
            return
        if self._helper:
            if now - self._helper_at > HELPER_SECONDS:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._helper.pid, signal.SIGKILL)
            return
        if now - self._helper_at < AGAIN_SECONDS and not self._helper_asks:
            return
        argv = self.config.gone_argv if self._helper_asks else self.config.kill_argv or self.config.gone_argv
        self._helper_at = now
        self._helper_said = os.memfd_create("said")
        try:
            self._helper = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=self._helper_said, stderr=subprocess.DEVNULL, env=environment()
            )
        except OSError:
            os.close(self._helper_said)

    def _heard_helper(self) -> None:
        helper, self._helper = self._helper, None
        said = os.pread(self._helper_said, 4096, 0).strip()
        os.close(self._helper_said)
        if not self._helper_asks and self.config.kill_argv:
            self._helper_asks = True  # how a kill exits says little: there may have been nothing to kill
            return
        self._helper_asks = False
        self._container_gone = helper is not None and helper.returncode == 0 and not said
