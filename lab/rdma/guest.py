# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One guest: a QEMU process that lives and dies with the process that started it."""

from __future__ import annotations

import socket
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lab.common import LabError, command_env
from lab.rdma.qmp import Qmp

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lab.rdma.image import Image

MEBIBYTES = 768
END_SECONDS = 10
# The guest's clocks count its instructions, 4 ns each, while it works. On a busy machine it is slow then, and cannot
# tell: with clocks of real time the kernel took its TSC for 15 times too slow, and ib_write_bw its figure for 0.
ICOUNT = "shift=2,sleep=on"
KERNEL = (
    "root=/dev/vda rw console=ttyS0 net.ifnames=0 mitigations=off quiet tsc=reliable i8042.noaux i8042.nokbd "
    "fsck.mode=skip hostname={name} init=/usr/local/sbin/guest"
)


def free_port() -> int:
    """A TCP port of the loopback address that nobody has at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(frozen=True)
class Plug:
    """Where one end of a cable goes in: QEMU's name of it, and the socket that is the cable."""

    name: str
    end: socket.socket


def argv(image: Image, name: str, number: int, port: int, plugs: Sequence[Plug], control: int) -> list[str]:
    """QEMU's command line. The guest reaches nothing but its cables; ssh reaches it through the loopback address."""
    words = ["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", "-name", name]
    words += ["-machine", "q35,accel=tcg,sata=off,smbus=off,vmport=off", "-icount", ICOUNT]
    words += ["-cpu", "qemu64", "-smp", "1", "-m", str(MEBIBYTES)]
    words += ["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-serial", f"file:{name}.console"]
    words += ["-kernel", str(image.kernel), "-initrd", str(image.initrd)]
    words += ["-append", KERNEL.format(name=name)]
    words += ["-drive", f"if=none,id=disk,file={str(image.disk).replace(',', ',,')},format=raw,snapshot=on"]
    words += ["-device", "virtio-blk-pci,drive=disk", "-device", "virtio-rng-pci"]
    words += ["-netdev", f"user,id=management,restrict=on,hostfwd=tcp:127.0.0.1:{port}-10.0.2.15:22"]
    words += ["-device", "virtio-net-pci,netdev=management,romfile="]
    for index, plug in enumerate(plugs, 1):
        words += ["-netdev", f"stream,id={plug.name},addr.type=fd,addr.str={plug.end.fileno()}"]
        mac = f"52:54:00:00:{index:02x}:{number:02x}"
        words += ["-device", f"virtio-net-pci,netdev={plug.name},mac={mac},host_mtu=9000,romfile="]
    words += ["-chardev", f"socket,id=control,fd={control}", "-mon", "chardev=control,mode=control"]
    return words


class Guest:
    """A running guest. End it with stop()."""

    def __init__(self, image: Image, name: str, number: int, plugs: Sequence[Plug], folder: Path) -> None:
        self.name = name
        self.port = free_port()
        self.console = folder / f"{name}.console"
        self._log = folder / f"{name}.qemu"
        ours, theirs = socket.socketpair()
        handed = [theirs, *(plug.end for plug in plugs)]
        with self._log.open("w") as log, theirs:
            self._process = subprocess.Popen(
                argv(image, name, number, self.port, plugs, theirs.fileno()),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder,
                env={**command_env(), "TMPDIR": str(folder)}, pass_fds=[end.fileno() for end in handed],
            )  # fmt: skip
        self.qmp = Qmp(ours)

    @property
    def pid(self) -> int:
        return self._process.pid

    def check(self) -> None:
        """Raise with QEMU's words when it has ended."""
        status = self._process.poll()
        if status is not None:
            raise LabError(
                f"{self.name}: QEMU ended with {status}: {self._log.read_text().strip() or 'it said nothing'}"
            )

    def listens(self, seconds: float) -> bool:
        """Whether the guest's ssh server greets within so many seconds."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as connection:
                return connection.recv(8).startswith(b"SSH-2.0-")
        except OSError:
            return False

    def last_words(self) -> str:
        """The last line of its console that says something."""
        with suppress(OSError):
            lines = [line.strip() for line in self.console.read_text(errors="replace").splitlines()]
            return next((line for line in reversed(lines) if line), "nothing yet")
        return "nothing yet"

    def stop(self) -> None:
        """End it as pulling the plug does, and see that it has ended. Its disk was never written."""
        if self._process.poll() is None:
            with suppress(LabError):
                self.qmp.command("quit")
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.qmp.close()
