# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Up, down and destroy: each may be called at any time, in any state, and leaves what its name says."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from lab import disk, host, machine, netns, rootfs, sshkeys
from lab.cgroup import TOP, Cgroup, remove_top
from lab.common import LabError, command_env, locked, read_json, run, say, wait_for, write_atomic
from lab.procs import Process
from lab.serving import lab as serving
from lab.site import CHECKOUT, REGISTER, STORE, Site, give

if TYPE_CHECKING:
    from collections.abc import Callable

    from lab.wiring import Wiring

BOOT_SECONDS = 120
SHUTDOWN_SECONDS = 30
SSHD = re.compile(r" [0-9A-F]+:0016 [0-9A-F]+:0000 0A ")  # in /proc/net/tcp: port 22, listening
SERVICES = {"watch": "lab.watch", "aptproxy": "lab.aptproxy"}


def lock_of(site: Site) -> Path:
    return STORE / f"{site.name}.lock"


def up(site: Site, wiring: Wiring, *, serve: bool = False) -> None:
    """Everything runs afterwards; what runs already is left alone, what died is put right."""
    host.check()
    STORE.mkdir(exist_ok=True)
    give(STORE)
    with locked(lock_of(site), message=f"another command is busy with lab {site.name}: waiting for it"):
        claim(site)
        _adopt_wiring(site, wiring)
        layers = _layers(site)
        if _broken(site):
            say(f"lab {site.name} was killed or lost its namespaces: cleaning up before it starts again")
            _stop(site)
        for node in wiring.nodes:
            disk.prepare(site, node)
        missing = [node for node in wiring.nodes if machine.supervisor(site, node) is None]
        running = [node for node in wiring.nodes if node not in missing]
        equipment = serving.arrange(site, layers, running, asked=serve)
        for node in missing:
            serving.equip(site, node, equipment)
        write_atomic(site.factory_file, " ".join(layers) + "\n")
        sshkeys.write_config(site)
        _network(site)
        _services(site)
        host.raise_limits()
        if missing:
            say(f"switching on {', '.join(missing)}")
        for node in missing:
            start_node(site, node)
        wait_ready(site, list(wiring.nodes))
        if missing:
            say(f"lab {site.name} is up: ssh -F {shlex.quote(os.path.relpath(site.ssh_config))} {wiring.nodes[0]}")


def down(site: Site) -> None:
    """Nothing runs afterwards: no process, namespace, mount or cgroup. Disks stay."""
    with locked(lock_of(site), message=f"another command is busy with lab {site.name}: waiting for it"):
        _stop(site)


def destroy(site: Site) -> None:
    """The same, and the disks, keys and logs go too. The images stay for the next lab."""
    down(site)
    with locked(lock_of(site)):
        shutil.rmtree(site.folder, ignore_errors=True)
        if site.folder.exists():
            raise LabError(f"{site.folder} could not be removed")
    lock_of(site).unlink(missing_ok=True)


def claim(site: Site) -> None:
    """One name, one lab on a machine: say whose it is if it is somebody else's."""
    data = read_json(site.claim_file)
    if isinstance(data, dict) and data.get("checkout") != str(CHECKOUT):
        theirs = Cgroup(f"{TOP}/{site.name}-{data.get('id')}")
        if theirs.populated() or netns.names(site.prefix):
            raise LabError(
                f"the name {site.name} is in use by the lab of {data['checkout']}: "
                f"run `lab/spark-lab --name {site.name} down` there, or give this one another --name"
            )
    elif isinstance(data, dict) and data.get("id") != site.id:
        Cgroup(f"{TOP}/{site.name}-{data.get('id')}").end()  # this checkout's .lab was removed under a running lab
    elif data is None and netns.names(site.prefix) and not site.cgroup().exists():
        say(f"removing network namespaces that a lab {site.name} left behind")
        for name in netns.names(site.prefix):
            netns.delete(name)
    REGISTER.mkdir(exist_ok=True)
    write_atomic(site.claim_file, json.dumps({"checkout": str(CHECKOUT), "id": site.id}) + "\n")


def _adopt_wiring(site: Site, wiring: Wiring) -> None:
    """Keep the wiring with the lab. Cables may change while it is down; nodes only with a new lab."""
    if site.wiring_file.exists():
        present = site.wiring
        if present == wiring:
            return
        if (present.nodes, present.management) != (wiring.nodes, wiring.management):
            raise LabError(f"lab {site.name} exists with other nodes ({', '.join(present.nodes)}): destroy it first")
        if site.cgroup().populated():
            raise LabError(f"lab {site.name} is up with other cables: take it down first")
    write_atomic(site.wiring_file, wiring.dump())
    site.__dict__.pop("wiring", None)
    give(site.folder, site.wiring_file)


def _layers(site: Site) -> list[str]:
    """The image of the lab's disks; for new disks, the present one."""
    if site.factory_file.exists():
        layers = site.factory_file.read_text().split()
        if all((STORE / layer).is_dir() for layer in layers):
            return layers
        if any(site.nodes.glob("*/ready")):
            raise LabError(f"the image that the disks of lab {site.name} were made from is gone: destroy the lab first")
    return rootfs.layers()


def _broken(site: Site) -> bool:
    """Whether something of the lab is left that cannot go on."""
    there = [netns.exists(name) for name in (site.controller, site.wire)]
    if not any(there) and not site.cgroup().populated():
        return False
    services = [Process.load(site.process_file(name)) for name in SERVICES]
    unsupervised = [
        node
        for node in site.wiring.nodes
        if site.node_cgroup(node).populated() and machine.supervisor(site, node) is None
    ]
    return not all(there) or not all(services) or bool(unsupervised)


def _network(site: Site) -> None:
    """The namespace of the controller with the management bridge, and that of the wires."""
    if netns.exists(site.controller) and netns.exists(site.wire):
        return
    site.cables_file.unlink(missing_ok=True)
    netns.create(site.controller)
    wiring = site.wiring
    netns.batch(
        site.controller,
        [
            "link add management type bridge",
            f"address add {wiring.controller}/{wiring.management.prefixlen} dev management",
            "link set management up",
        ],
    )
    netns.create(site.wire)
    keys = [f"net.ipv6.conf.{name}.disable_ipv6=1" for name in ("all", "default")]
    run(["ip", "netns", "exec", site.wire, "sysctl", "-qw", *keys], check=False)  # a jack must say nothing of its own


def _services(site: Site) -> None:
    for name, module in SERVICES.items():
        if Process.load(site.process_file(name)) is None:
            spawn(site, name, module)


def spawn(site: Site, name: str, module: str, *arguments: str) -> None:
    """Start a process of the lab that outlives this one, in the lab's cgroup from its first instruction."""
    site.logs.mkdir(parents=True, exist_ok=True)
    group = site.cgroup("services")
    group.create()
    with (site.logs / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", module, site.name, *arguments],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/",
            env={**command_env(), "PYTHONPATH": str(CHECKOUT), "PYTHONPYCACHEPREFIX": str(STORE / "pycache")},
        )  # fmt: skip
    group.enter(process.pid)
    if found := Process.of(process.pid):
        found.save(site.process_file(name))


def start_node(site: Site, node: str) -> None:
    site.node_cgroup(node).end()
    spawn(site, node, "lab.power", node)


def wait_ready(site: Site, nodes: list[str]) -> None:
    """Until each node takes logins, and shows the state of its ports."""
    waiting = dict.fromkeys(nodes, "its system has not started")

    def done() -> bool:
        for node in list(waiting):
            waiting[node] = state(site, node)
            if not waiting[node]:
                del waiting[node]
            elif machine.supervisor(site, node) is None:
                raise LabError(f"{node} went off while it started; see {site.logs / node}.log")
        return not waiting

    if not wait_for(done, BOOT_SECONDS, step=0.1):
        problems = "\n".join(f"  {node}: {problem}{_errors(site, node)}" for node, problem in waiting.items())
        raise LabError(f"not up after {BOOT_SECONDS} s; consoles are in {site.logs}:\n{problems}")


def _errors(site: Site, node: str) -> str:
    """The last errors in a node's journal, for a node that does not come up."""
    init = machine.leader(site, node)
    if init is None:
        return ""
    enter = ["timeout", "10", "nsenter", "--target", str(init), "--all", "--"]
    lines = run([*enter, "journalctl", "-b", "-p", "4", "-n", "12", "-o", "cat", "--no-pager"], check=False).stdout
    jobs = run([*enter, "systemctl", "list-jobs", "--no-pager", "--no-legend"], check=False).stdout
    return "".join(f"\n    {line}" for line in (lines + jobs).splitlines())


def state(site: Site, node: str) -> str:
    """What a node still waits for; nothing when it is ready."""
    init = machine.leader(site, node)
    if init is None:
        return "its system has not started"
    root = Path(f"/proc/{init}/root")
    if not (root / "run" / "spark-lab" / "ready").exists():
        return "it is still booting"
    if (root / "run" / "nologin").exists():
        return "it takes no logins yet"
    network = Path(f"/proc/{init}/net")  # looked at rather than connected to, which sshd would log as an error
    try:
        if site.wiring.address(node) not in (network / "fib_trie").read_text():
            return "its management port has no address"
        listening = (network / "tcp").read_text() + (network / "tcp6").read_text()
    except OSError:
        return "it went off"
    return "" if SSHD.search(listening) else "its sshd does not listen"


def power_off(site: Site, node: str) -> None:
    """Press the button and wait; pull the plug on a node that does not go down."""
    supervisor = machine.supervisor(site, node)
    if supervisor is not None:
        supervisor.signal(signal.SIGTERM)
        if not wait_for(lambda: not supervisor.alive(), SHUTDOWN_SECONDS):
            say(f"{node} does not shut down within {SHUTDOWN_SECONDS} s: cutting its power")
    power_cut(site, node)


def power_cut(site: Site, node: str) -> None:
    """Everything in the node is dead at once; nothing is written or said any more."""
    supervisor = machine.supervisor(site, node)
    site.node_cgroup(node).end()
    if supervisor is not None and not wait_for(lambda: not supervisor.alive(), 10):
        supervisor.signal(signal.SIGKILL)


def power_on(site: Site, node: str) -> None:
    if machine.supervisor(site, node) is None:
        start_node(site, node)
    wait_ready(site, [node])


def _stop(site: Site) -> None:
    """Down to nothing, whatever is left of the lab."""
    if not site.folder.is_dir() and not site.claim_file.exists() and not netns.names(site.prefix):
        return
    data = read_json(site.claim_file)
    if isinstance(data, dict) and data.get("checkout") != str(CHECKOUT):
        return  # another checkout's lab of this name
    if site.wiring_file.exists():
        running = [node for node in site.wiring.nodes if machine.supervisor(site, node)]
        if running:
            say(f"shutting down {', '.join(running)}")
            _each(running, lambda node: power_off(site, node))
    group = site.cgroup()
    if group.exists():
        group.end()
    for name in netns.names(site.prefix):
        netns.delete(name)
    remove_top()
    shutil.rmtree(site.run, ignore_errors=True)
    site.claim_file.unlink(missing_ok=True)
    with suppress(OSError):
        REGISTER.rmdir()


def _each(nodes: list[str], action: Callable[[str], None]) -> None:
    with ThreadPoolExecutor(len(nodes)) as pool:
        list(pool.map(action, nodes))
