# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The power supply of one node: boots it, boots it again each time it reboots, ends when it is off.

One process a node. Each boot gets a fresh network namespace with fresh ports, a mount namespace that vanishes with
it, a time namespace in which the clocks begin at 0, and systemd-nspawn as the machine.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from lab import cables, faults, inject, mounts, netns, watch
from lab.common import command_env, run, write_atomic
from lab.hardware import CAGES, FUNCTIONS, MANAGEMENT, Identity, board
from lab.machine import MACHINE
from lab.procs import Process
from lab.serving import lab as serving
from lab.site import Site

if TYPE_CHECKING:
    from types import FrameType

REBOOT = 133
CAPABILITIES = "CAP_NET_ADMIN,CAP_NET_RAW,CAP_IPC_LOCK"


class Power:
    """One node while it has power."""

    def __init__(self, site: Site, node: str) -> None:
        self.site = site
        self.node = node
        self.folder = site.node(node)
        self.pid = 0
        self.stopping = threading.Event()
        signal.signal(signal.SIGTERM, self.stop)

    def stop(self, _number: int, _frame: FrameType | None) -> None:
        """SIGTERM: the power button. nspawn passes it on and the node shuts down in order."""
        self.stopping.set()
        if self.pid:
            os.kill(self.pid, signal.SIGTERM)

    def on(self) -> None:
        boot = 0
        while not self.stopping.is_set():
            boot += 1
            print(f"== boot {boot} at {time.strftime('%FT%T')}", flush=True)
            status = self.boot()
            print(f"== ended with status {status} at {time.strftime('%FT%T')}", flush=True)
            if status != REBOOT:
                break
        self.off()

    def boot(self) -> int:
        inject.boots(self.site, self.node)
        self.plug_in()
        write_board(self.site, self.node)
        os.unshare(os.CLONE_NEWTIME)
        since = int(time.clock_gettime(time.CLOCK_BOOTTIME))
        Path("/proc/self/timens_offsets").write_text(f"monotonic -{since} 0\nboottime -{since} 0\n")
        if self.stopping.is_set():
            return 0
        self.pid = os.fork()
        if self.pid == 0:
            try:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                enter(self.site, self.node)
            except BaseException as error:  # noqa: BLE001 - a forked child must end here, whatever happens
                print(f"cannot start: {error!r}", flush=True)
            os._exit(1)
        if process := Process.of(self.pid):
            process.save(self.site.process_file(f"{self.node}.{MACHINE}"))
        if self.stopping.is_set():
            os.kill(self.pid, signal.SIGTERM)
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        # nspawn killed alone leaves the node's systemd running; so does a crash of nspawn
        self.site.node_cgroup(self.node).end()
        self.site.process_file(f"{self.node}.{MACHINE}").unlink(missing_ok=True)
        inject.goes_down(self.site, self.node)
        return os.waitstatus_to_exitcode(status)

    def plug_in(self) -> None:
        """A network namespace that remembers nothing."""
        name, number = self.site.netns(self.node), self.site.wiring.nodes.index(self.node)
        netns.delete(name)
        netns.create(name)
        identity = Identity(self.site.name, self.node)
        far = f"m{number}"
        run(["ip", "-n", self.site.controller, "link", "delete", far], check=False)
        netns.batch(
            self.site.controller,
            [
                f"link add {far} address {identity.mac(16)} type veth "  # noqa: ISC004
                f"peer name {MANAGEMENT} netns {name} address {identity.mac(15)}",
                f"link set {far} master management up",
            ],
        )
        cables.make_ports(self.site, self.node)
        watch.poke(self.site)

    def off(self) -> None:
        """No light on the ports of a node without power."""
        with suppress(Exception):
            ports = [function.netdev for function in FUNCTIONS] + [MANAGEMENT]
            netns.batch(self.site.netns(self.node), [f"link set {port} down" for port in ports])
            watch.poke(self.site)
        self.site.process_file(self.node).unlink(missing_ok=True)


def write_board(site: Site, node: str) -> None:
    """Tell the node what hardware it has at this boot. `overrides` is kept: that is where faults are."""
    seated = () if faults.is_dark(faults.load(site, node)) else inject.seated(site, node)
    cabled = {cage: cage in seated for cage in CAGES}
    write_atomic(site.node(node) / "board" / "board.json", json.dumps(board(site.name, node, cabled), indent=1) + "\n")


def enter(site: Site, node: str) -> None:
    """In the forked child: become the node's systemd-nspawn."""
    folder = site.node(node)
    uuid = (folder / "uuid").read_text().strip()
    layers = (site.folder / "factory").read_text().split()
    site.node_cgroup(node).create()
    site.node_cgroup(node).enter()
    network = os.open(netns.path(site.netns(node)), os.O_RDONLY | os.O_CLOEXEC)
    mounts.private_namespace()
    _cgroup2()
    with suppress(OSError):  # or this node would keep every other node's old network namespace alive
        mounts.detach(netns.FOLDER)
    mounts.overlay([f"../../../{layer}" for layer in layers], folder)
    mounts.mount(str(folder / "board"), folder / "merged" / "var" / "lib" / "spark-lab" / "board", flags=mounts.MS_BIND)
    os.setns(network, os.CLONE_NEWNET)
    argv = [
        "systemd-nspawn", "--quiet", "--boot", f"--directory={folder / 'merged'}", f"--machine={node}",
        f"--hostname={node}", f"--uuid={uuid}", "--register=no", "--keep-unit", "--settings=no", "--link-journal=no",
        "--resolv-conf=off", "--timezone=off", "--network-namespace-path=/proc/self/ns/net", "--console=read-only",
        f"--capability={CAPABILITIES}", "--setenv=SYSTEMD_DEVICE_VERIFY_SYSFS=0", *serving.options(site),
    ]  # fmt: skip
    environ = command_env()
    os.execvpe(argv[0], argv, {"PATH": environ["PATH"], "LC_ALL": "C", "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "network"})  # noqa: S606


def _cgroup2() -> None:
    """systemd in the node wants cgroup version 2 at /sys/fs/cgroup; on a machine with version 1, give it that here."""
    if not Path("/sys/fs/cgroup/cgroup.controllers").exists():
        mounts.detach("/sys/fs/cgroup")
        mounts.mount("cgroup2", "/sys/fs/cgroup", "cgroup2")


def main() -> None:
    site, node = Site(sys.argv[1]), sys.argv[2]
    Power(site, node).on()


if __name__ == "__main__":
    main()
