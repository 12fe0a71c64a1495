# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes as network namespaces of one machine with one GPU, joined by veth cables, laid out by the product's own plan.

What a node would be told by Ansible it is told here by the same code: addresses, MTU, routes and sysctl settings from
`_fabric`, environment and channel graph from `_nccl` through the templates of the role `transport`. There is no RDMA:
NCCL runs over sockets, with `net="socket"` (see nccl_settings).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ansible_collections.switchless.spark.plugins.module_utils._fabric.devices import devices
from ansible_collections.switchless.spark.plugins.module_utils._fabric.host import host_to_dict, host_view
from ansible_collections.switchless.spark.plugins.module_utils._fabric.plan import build_plan, plan_to_dict
from ansible_collections.switchless.spark.plugins.module_utils._nccl.proof import ports
from ansible_collections.switchless.spark.plugins.module_utils._nccl.settings import settings

Data = dict[str, Any]
ROLE = Path(__file__).parents[2] / "roles/transport"
PROGRAM = ROLE / "files/nccl_allreduce.py"
PREFIX = "nccl-"
"""Of the names of the namespaces, so that none of anybody else is touched."""
FUNCTIONS = [
    {
        "pci": f"{domain}:01:00.{cage[1]}",
        "root": root,
        "cage": cage,
        "netdev": f"en{slot}s0f{cage[1]}n{cage}",
        "rdma": None,
    }
    for root, domain, slot in (("A", "0000", "p1"), ("B", "0002", "P2p1"))
    for cage in ("p0", "p1")
]
"""The functions of every node, named as on a Spark."""
RINGS = "Connected all rings"
SECONDS = 60
"""Within which a run of all ranks ends, well or badly. A good one takes about ten."""


def ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True).stdout


@dataclass
class Node:
    """One rank's machine."""

    host: str
    plan: Data
    view: Data = field(default_factory=dict)
    functions: list[Data] = field(default_factory=list)
    order: list[str] = field(default_factory=list)

    @property
    def namespace(self) -> str:
        return PREFIX + self.host

    def enter(self) -> None:
        """Bring the calling process into the namespace."""
        with Path("/run/netns", self.namespace).open() as file:
            os.setns(file.fileno(), os.CLONE_NEWNET)

    def ip(self, *arguments: str) -> str:
        return ip("-n", self.namespace, *arguments)

    def address(self) -> None:
        """Lay down what the role fabric would: bound and computed by its code."""
        links = {link["ifname"]: link for link in json.loads(self.ip("-j", "link")) if link["ifname"] != "lo"}
        # As NCCL finds them: by the index of the interface.
        self.order = sorted(links, key=lambda name: int(links[name]["ifindex"]))
        self.functions = [
            item
            | ({"mac": links[item["netdev"]]["address"]} if item["netdev"] in links else {"netdev": None, "mac": None})
            for item in FUNCTIONS
        ]
        told = devices(self.view, self.functions, self.plan["mtu"])
        for port in told["settings"]:
            self.ip("link", "set", port["netdev"], "mtu", str(port["mtu"]), "up")
            if port["address"]:
                self.ip("address", "add", port["address"], "dev", port["netdev"])
        for route in told["routes"]:
            self.ip("route", "add", route["to"], "via", route["via"], "dev", route["netdev"])
        script = "; ".join(f"echo {value} > /proc/sys/{key.replace('.', '/')}" for key, value in told["sysctl"].items())
        subprocess.run(["sh", "-ec", script], check=True, preexec_fn=self.enter)

    def settings(self, channels: int, order: Sequence[str]) -> Data:
        """What the role transport would write, but for sockets. The control plane is the fabric: it has no other."""
        first = self.view["ports"][0]
        return settings(
            self.view,
            self.plan,
            self.functions,
            control={"netdev": netdev_of(first), "address": first["address"]},
            channels=channels,
            net="socket",
            device_order=list(order),
        )


@dataclass(frozen=True)
class Told:
    """What the ranks said in one run: host to the program's JSON, NCCL's log, and what the role wrote for it."""

    results: Mapping[str, Data | None]
    logs: Mapping[str, str]
    graphs: Mapping[str, str]
    settings: Mapping[str, Data]
    seconds: float


class Fabric:
    """All nodes of one plan."""

    def __init__(self, plan: Data, nodes: Sequence[Node], folder: Path) -> None:
        self.plan, self.nodes, self.folder = plan, {node.host: node for node in nodes}, folder
        templates = FileSystemLoader(ROLE / "templates")
        self.jinja = Environment(  # noqa: S701 - as Ansible renders: no HTML
            loader=templates, undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True
        )

    def write(self, node: Node, told: Data) -> tuple[Path, Path]:
        """Both files of the role, rendered by its templates."""
        values = {"fabric_node": node.view, "__transport": told}
        paths = []
        for name in ("nccl.env", "nccl-graph.xml"):
            path = self.folder / f"{node.host}.{name}"
            path.write_text(self.jinja.get_template(f"{name}.j2").render(values))
            paths.append(path)
        return paths[0], paths[1]

    def unplug(self, cable: int) -> None:
        """Take both roots of a cable out, at both ends."""
        for node in self.nodes.values():
            for port in node.view["ports"]:
                if port["cable"] == cable:
                    node.ip("link", "set", netdev_of(port), "down")

    def run(
        self,
        *,
        ranks: Sequence[str] | None = None,
        channels: int = 2,
        sizes: Sequence[int] = (1, 4, 16, 64),
        order: Callable[[Node], Sequence[str]] = lambda node: node.order,
        connected: Callable[[], None] | None = None,
    ) -> Told:
        """Start all ranks and wait for them.

        ``ranks`` may be in another order than the plan's, and ``order`` another than NCCL's, to see what happens.
        ``connected`` is called once all rings are.
        """
        by_rank = list(ranks or self.plan["order"])
        head = self.nodes[by_rank[0]].view["ports"][0]["address"]
        began, running, all_settings = time.monotonic(), {}, {}
        for rank, host in enumerate(by_rank):
            node = self.nodes[host]
            all_settings[host] = told = node.settings(channels, order(node))
            environment_file, graph = self.write(node, told)
            lines = [line for line in environment_file.read_text().splitlines() if line and not line.startswith("#")]
            program = [
                sys.executable,
                str(PROGRAM),
                "--timeout",
                str(SECONDS),
                "--ports",
                json.dumps(ports(told["devices"])),
            ]
            running[host] = subprocess.Popen(
                [*program, "--iterations", "3", "--sizes", *map(str, sizes)],
                env=os.environ
                | dict(line.split("=", 1) for line in lines)
                | {"NCCL_GRAPH_FILE": str(graph), "NCCL_DEBUG_FILE": str(self.folder / f"{host}.log")}
                | {
                    "NCCL_GRAPH_DUMP_FILE": str(self.folder / f"{host}.dump.xml"),
                    "NCCL_GRAPH_DUMP_FILE_RANK": str(rank),
                }
                | {"RANK": str(rank), "WORLD_SIZE": str(len(by_rank)), "MASTER_ADDR": head, "MASTER_PORT": "29500"}
                # The ranks share a machine and a GPU, which NCCL must not see; four threads a rank are enough.
                | {"NCCL_HOSTID": host, "NCCL_SOCKET_NTHREADS": "1", "NCCL_NSOCKS_PERTHREAD": "1"}
                | {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,GRAPH,NET,ENV"},
                stdout=subprocess.PIPE,
                stderr=(self.folder / f"{host}.stderr").open("w"),
                text=True,
                preexec_fn=node.enter,  # noqa: PLW1509 - the child has one thread
            )
        if connected:
            deadline = time.monotonic() + SECONDS
            while not all(RINGS in read(self.folder / f"{host}.log") for host in running):
                assert time.monotonic() < deadline, "the rings were not connected in time"
                time.sleep(0.2)
            connected()
        return Told(
            results={host: answer(process) for host, process in running.items()},
            logs={host: read(self.folder / f"{host}.log") for host in running},
            graphs={host: read(self.folder / f"{host}.dump.xml") for host in running},
            settings=all_settings,
            seconds=time.monotonic() - began,
        )


def netdev_of(port: Mapping[str, Any]) -> str:
    """The netdev of a (cage, root), which has the same name on every node."""
    return next(
        str(item["netdev"]) for item in FUNCTIONS if (item["cage"], item["root"]) == (port["cage"], port["root"])
    )


def read(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def answer(process: subprocess.Popen[str]) -> Data | None:
    """The program's line, or nothing if it had to be killed."""
    try:
        output, _nothing = process.communicate(timeout=SECONDS + 30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None
    lines = [line for line in output.splitlines() if line.startswith("{")]
    found: Data | None = json.loads(lines[-1]) if lines else None
    return found


@contextmanager
def fabric(cables: Sequence[Sequence[str]], hosts: Sequence[str], folder: Path) -> Iterator[Fabric]:
    """The nodes of a plan, wired and addressed; gone at the end."""
    planned = build_plan([{"ends": list(ends)} for ends in cables], hosts=list(hosts), control_plane="fabric")
    plan = plan_to_dict(planned)
    nodes = [Node(host, plan, host_to_dict(host_view(planned, host))) for host in hosts]
    made: list[Node] = []
    try:
        for node in nodes:
            ip("netns", "add", node.namespace)
            made.append(node)
            node.ip("link", "set", "lo", "up")
        for number, ends in enumerate(cables):
            for function in range(2):
                names = [f"nc{number}{function}{side}" for side in "ab"]
                ip("link", "add", names[0], "type", "veth", "peer", "name", names[1])
                for name, end in zip(names, ends, strict=True):
                    host, cage = end.split(":")
                    netdev = netdev_of({"cage": cage, "root": "AB"[function]})
                    ip("link", "set", name, "netns", PREFIX + host, "name", netdev)
        for node in nodes:
            node.address()
        yield Fabric(plan, nodes, folder)
    finally:
        for node in made:
            ip("netns", "delete", node.namespace)
