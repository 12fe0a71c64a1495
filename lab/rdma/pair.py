# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two guests and one cable between them: two ports a guest, as one cage of a Spark has on its two PCIe roots."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from lab.common import LabError, command_env, locked, say, write_atomic
from lab.rdma.guest import Guest, Plug
from lab.rdma.image import HOME

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lab.rdma.image import Image

NAMES = ("rdma1", "rdma2")
ROOTS = ("A", "B")
NETDEVS = {"A": "enp1s0f0np0", "B": "enP2p1s0f0np0"}
DEVICES = {"A": "rocep1s0f0", "B": "roceP2p1s0f0"}
BOOT_SECONDS = 400
EVERY_SECONDS = 10
SSH_SECONDS = 120


class Pair:
    """The two guests as tests use them."""

    def __init__(self, image: Image, folder: Path) -> None:
        self.folder = folder
        self.ssh_config = folder / "ssh_config"
        self.inventory = folder / "inventory.json"
        self._image = image
        self.guests: dict[str, Guest] = {}

    def start(self) -> None:
        """Start both and wait until both can be logged in to."""
        cables = [socket.socketpair() for _root in ROOTS]
        for number, name in enumerate(NAMES):
            plugs = [Plug(f"cable{root}", ends[number]) for root, ends in zip(ROOTS, cables, strict=True)]
            self.guests[name] = Guest(self._image, name, number + 1, plugs, self.folder)
        for end in (end for ends in cables for end in ends):
            end.close()
        self._write_files()
        self._wait()
        for name in NAMES:
            found = self.ssh(name, "ls /dev/infiniband | grep -c uverbs; cat /run/devices", check=False).strip()
            if found != str(len(ROOTS)):
                raise LabError(f"{name} has not its soft-RoCE devices: {found}")

    def _wait(self) -> None:
        began = said = time.monotonic()
        waiting = list(self.guests.values())
        while waiting:
            for guest in list(waiting):
                guest.check()
                if guest.listens(2.0):
                    say(f"{guest.name} answers, {time.monotonic() - began:.0f} s after its start")
                    waiting.remove(guest)
            now = time.monotonic()
            if now - began > BOOT_SECONDS:
                words = "; ".join(f"{guest.name}: {guest.last_words()}" for guest in waiting)
                raise LabError(f"no ssh server within {BOOT_SECONDS} s, last words of the console: {words}")
            if waiting and now - said > EVERY_SECONDS:
                said = now
                say(f"waiting for {', '.join(guest.name for guest in waiting)} to boot, {now - began:.0f} s")
            time.sleep(0.5)

    def _write_files(self) -> None:
        key = self._image.host_key.with_suffix(".pub").read_text().split()
        known = self.folder / "known_hosts"
        write_atomic(known, f"guest {key[0]} {key[1]}\n")
        hosts = "".join(f"Host {guest.name}\n  Port {guest.port}\n\n" for guest in self.guests.values())
        common = (
            "Host *\n  HostName 127.0.0.1\n  User root\n  HostKeyAlias guest\n  StrictHostKeyChecking yes\n"
            f'  IdentityFile "{self._image.user_key}"\n  IdentitiesOnly yes\n  BatchMode yes\n'
            f'  UserKnownHostsFile "{known}"\n  GlobalKnownHostsFile /dev/null\n  LogLevel ERROR\n'
            "  KexAlgorithms curve25519-sha256\n  Ciphers chacha20-poly1305@openssh.com\n"  # the cheapest to emulate
            "  ConnectTimeout 60\n  ServerAliveInterval 20\n  ServerAliveCountMax 6\n"
        )
        write_atomic(self.ssh_config, hosts + common)
        every = {
            "ansible_ssh_args": f'-F "{self.ssh_config}" -o ControlMaster=auto -o ControlPersist=60s',
            "fabric_head": NAMES[0],
            "fabric_cables": [{"ends": [f"{name}:p0" for name in NAMES]}],
        }
        data = {"sparks": {"hosts": {name: {} for name in NAMES}, "vars": every}}
        write_atomic(self.inventory, json.dumps(data, indent=2) + "\n")

    def ssh(self, name: str, command: str, *, check: bool = True, seconds: float = SSH_SECONDS) -> str:
        """Run a shell command as root of a guest; gives what it printed."""
        argv = ["ssh", "-F", str(self.ssh_config), name, command]
        try:
            done = subprocess.run(
                argv, check=False, capture_output=True, text=True, env=command_env(), stdin=subprocess.DEVNULL,
                timeout=seconds,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise LabError(f"{name}: no answer to {command!r} in {seconds:.0f} s") from error
        if check and done.returncode != 0:
            raise LabError(f"{name}: {command!r} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def plug(self, root: str, *, plugged: bool) -> None:
        """Put the cable of a root in, or pull it out: both ends see it."""
        for guest in self.guests.values():
            guest.qmp.command("set_link", name=f"cable{root}", up=plugged)

    def stop(self) -> None:
        for guest in self.guests.values():
            guest.stop()


@contextmanager
def running(image: Image) -> Iterator[Pair]:
    """The two guests, from start to end. One pair at a time in a checkout; consoles stay for reading."""
    with locked(HOME / "run.lock", message="another run has the guests of this checkout: waiting for it"):
        folder = HOME / "run"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        pair = Pair(image, folder)
        say("starting two guests under software emulation; about a minute on two idle cores")
        try:
            pair.start()
            yield pair
        finally:
            with suppress(KeyboardInterrupt):
                pair.stop()
            say("both guests have ended")
