#!/usr/bin/python
# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: fabric_network
short_description: Lay the network of a switchless fabric on a node, and undo it unless it is confirmed
version_added: 0.1.0
author:
  - The switchless.spark founders (@switchless)
description:
  - Brings the ConnectX-7 ports of a node to a stated condition - addresses, MTU, routes, sysctl settings, relay
    rules - in one step.
  - A change that could cut a path arms a timer first. Unless the change is confirmed with O(state=confirmed) before
    the timer ends, everything
    that was there before comes back by itself. A node that goes down in between is put back at its next boot.
  - Only the ports in O(ports) are reconfigured; C(netplan apply), which interrupts the management network for about
    a second, is not used.
  - Other people's netplan files that define the same ports are an error that names file and line, unless
    O(take_over=true).
  - Meant for the role P(switchless.spark.fabric#role), which fills in the options from the plan.
options:
  state:
    description:
      - V(present) makes the node be as stated.
      - V(confirmed) keeps a change made by V(present); it fails when the change was already rolled back.
      - V(restored) rolls an unconfirmed change back at once.
      - V(absent) removes O(files), gives the ports that were laid back to NetworkManager, and puts other people's
        netplan files back out of which they were cut, unless those were changed since.
    type: str
    choices: [present, confirmed, restored, absent]
    default: present
  ports:
    description: All ConnectX-7 ports of the node, those without a cable too.
    type: list
    elements: dict
    default: []
    suboptions:
      netdev:
        description: Name of the network device.
        type: str
        required: true
      mac:
        description: Its MAC address, with which other netplan files may match it.
        type: str
        default: ""
      address:
        description: IPv4 address with prefix, such as V(192.0.2.1/24). Without it the port gets none.
        type: str
      mtu:
        description: MTU in bytes.
        type: int
        required: true
  routes:
    description:
      - Routes to subnets that the node is not on.
      - Any other IPv4 route through a gateway over one of O(ports) is taken away.
    type: list
    elements: dict
    default: []
    suboptions:
      to:
        description: Destination in prefix notation.
        type: str
        required: true
      via:
        description: Address of the neighbour.
        type: str
        required: true
      netdev:
        description: Port that leads to the neighbour.
        type: str
        required: true
  subnets:
    description: Every subnet of the fabric. None may overlap a network that the node has elsewhere.
    type: list
    elements: str
    default: []
  sysctl:
    description: Kernel settings by dotted key, as they must read at run time.
    type: dict
    default: {}
  files:
    description:
      - Files to write, in order. A file that is replaced is kept under C(/var/lib/switchless/backup).
      - With O(state=absent) the files to remove. Those of the tool itself are written before that, as they do it.
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description: Absolute path.
        type: path
        required: true
      content:
        description: Whole content. Required, but with O(state=absent) for files that are only removed.
        type: str
      mode:
        description: Permissions, octal, as a string.
        type: str
        default: "0644"
      support:
        description: The file belongs to the tool itself; it is written before the timer is armed and is not rolled
          back.
        type: bool
        default: false
  unit:
    description: Unit that restores the relay at boot and after Docker or nftables started.
    type: str
    default: switchless-fabric.service
  relay_command:
    description: Program that loads (C(apply)) and checks (C(check)) the relay rules.
    type: path
    default: /usr/local/lib/switchless/fabric-relay
  management_address:
    description: Address by which the controller reaches the node. A fabric port that holds it is not taken away.
    type: str
  take_over:
    description: Cut the ports out of other people's netplan files; a copy of each file is kept.
    type: bool
    default: false
  rollback_seconds:
    description: Time, in seconds, until an unconfirmed change is undone.
    type: int
    default: 45
notes:
  - In check mode everything is read and judged, and nothing is written.
seealso:
  - module: switchless.spark.cx7_info
  - module: switchless.spark.fabric_probe_info
extends_documentation_fragment:
  - switchless.spark.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
  platform:
    platforms: posix
"""

EXAMPLES = r"""
- name: One port of a pair, undone after 45 seconds unless confirmed
  switchless.spark.fabric_network:
    ports:
      - netdev: enp1s0f0np0
        address: 198.18.0.1/24
        mtu: 9000
    subnets: [198.18.0.0/24]

- name: Keep it
  switchless.spark.fabric_network:
    state: confirmed
"""

RETURN = r"""
changes:
  description: What differed, in words; empty when the node was as stated.
  type: list
  elements: str
  returned: always
armed:
  description: Whether a change waits to be confirmed.
  type: bool
  returned: always
pending:
  description: Whether there is anything to do - the node differs, or a change of an earlier run waits to be
    confirmed.
  type: bool
  returned: always
backups:
  description: Copies kept of files that were replaced or reduced.
  type: list
  elements: str
  returned: always
left:
  description: Other people's netplan files that V(absent) could not put back, each with its copy.
  type: list
  elements: str
  returned: with O(state=absent)
last_rollback:
  description: Report of the last roll-back on this node, with C(time), C(reason) and C(failed); null if there never
    was one.
  type: dict
  returned: always
"""

import contextlib
import pathlib
import time
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.switchless.spark.plugins.module_utils._node import change, fabric, netplan, undo
from ansible_collections.switchless.spark.plugins.module_utils._node.ip import Route, parse_links, parse_routes
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import (
    CommandError,
    ModuleRunner,
    Runner,
    run_checked,
)

PROC_SYS = pathlib.Path("/proc/sys")
SYS_NET = pathlib.Path("/sys/class/net")
NETPLAN = ("/etc/netplan", "/run/netplan")
SETTLE_SECONDS = 15  # networkd configures a port within a second or two; a loaded node takes longer


def read_sysctl(key: str) -> str | None:
    """Read a kernel setting; None when this kernel does not have it."""
    try:
        return (PROC_SYS / fabric.sysctl_path(key)).read_text(encoding="ascii").strip()
    except OSError:
        return None


def driver(netdev: str) -> str:
    """Name of a device's driver; empty when it has none."""
    link = SYS_NET / netdev / "device" / "driver"
    return link.resolve().name if link.exists() else ""


class Node:
    """The node: reads its state through commands and files."""

    def __init__(self, runner: Runner, params: dict[str, t.Any]) -> None:
        self.runner = runner
        self.params = params
        self.files = [
            change.File(f["path"], f["content"] or "", int(f["mode"], 8), f["support"]) for f in params["files"]
        ]
        self.wanted = fabric.Wanted(
            ports=tuple(fabric.WantedPort(p["netdev"], p["mtu"], p["address"]) for p in params["ports"]),
            routes=tuple(Route(r["to"], r["via"], r["netdev"]) for r in params["routes"]),
            sysctl={key: str(value) for key, value in params["sysctl"].items()},
            subnets=tuple(params["subnets"]),
        )

    def managed(self) -> frozenset[str]:
        """Devices that NetworkManager holds, those without a carrier ("unavailable") too; none when it does not run."""
        result = self.runner.run(["nmcli", "-t", "-f", "DEVICE,STATE", "device"])
        pairs = (line.rsplit(":", 1) for line in result.stdout.splitlines() if ":" in line)
        return frozenset(name for name, state in pairs if state != "unmanaged") if result.rc == 0 else frozenset()

    def relay(self) -> str:
        """What the relay check complains of; empty when all is there."""
        command = self.params["relay_command"]
        if not pathlib.Path(command).exists():
            return "the relay is not installed"
        result = self.runner.run([command, "check"])
        if result.rc:
            return result.stdout.strip() or result.stderr.strip() or "the relay check failed"
        if not self.unit_enabled():
            return f"{self.params['unit']} is not enabled"
        return ""

    def unit_enabled(self) -> bool:
        """Whether the unit starts at boot."""
        return self.runner.run(["systemctl", "is-enabled", "--quiet", self.params["unit"]]).rc == 0

    def routes(self) -> tuple[Route, ...]:
        """IPv4 routes of the main table."""
        return parse_routes(run_checked(self.runner, ["ip", "-j", "-4", "route", "show"]).stdout)

    def seen(self) -> fabric.Seen:
        """Read the whole state."""
        return fabric.Seen(
            links=parse_links(run_checked(self.runner, ["ip", "-j", "address", "show"]).stdout),
            routes=self.routes(),
            managed=self.managed(),
            sysctl={key: read_sysctl(key) for key in self.wanted.sysctl},
            relay=self.relay(),
        )

    def foreign(self, seen: fabric.Seen) -> dict[str, tuple[str, tuple[netplan.Definition, ...]]]:
        """Other people's netplan files that define one of the ports, with their text."""
        own = {file.path for file in self.files}
        ports = [netplan.Port(p["netdev"], p["mac"], "mlx5_core") for p in self.params["ports"]]
        others = [netplan.Port(name, "", driver(name)) for name in seen.links if name not in self.wanted.netdevs]
        found = {}
        for path in sorted(str(path) for folder in NETPLAN for path in pathlib.Path(folder).glob("*.yaml")):
            if path in own:
                continue
            try:
                text = pathlib.Path(path).read_text(encoding="utf-8")
            except UnicodeDecodeError as exc:
                raise netplan.NetplanSyntaxError(f"{path} is not UTF-8: {exc}") from exc
            definitions = netplan.definitions(path, text, ports, others)
            if definitions:
                found[path] = (text, definitions)
        return found

    def networkd(self) -> frozenset[str]:
        """Devices that systemd-networkd configures."""
        lines = self.runner.run(["networkctl", "list", "--no-legend", "--no-pager"]).stdout.splitlines()
        fields = (line.split() for line in lines)
        return frozenset(f[1] for f in fields if len(f) >= 5 and f[4] != "unmanaged")

    def before(self, seen: fabric.Seen) -> change.Before:
        """What a roll-back needs to know."""
        routes = [r for r in seen.routes if r.dev in self.wanted.netdevs and r.via is not None]
        return change.Before(
            links={name: link for name, link in seen.links.items() if name in self.wanted.netdevs},
            managed=seen.managed,
            networkd=self.networkd(),
            sysctl=seen.sysctl,
            unit=self.params["unit"],
            unit_enabled=self.unit_enabled(),
            relay_loaded=self.runner.run(["nft", "list", "table", "inet", "switchless_fabric"]).rc == 0,
            routes=tuple((r.to, "via", str(r.via), "dev", r.dev) for r in routes),
        )

    def apply(self, files: list[change.File]) -> None:
        """Write the files and make the running system follow them."""
        for file in files:
            change.write(file)
        netdevs = sorted(self.wanted.netdevs)
        run_checked(self.runner, ["systemctl", "daemon-reload"])
        if self.runner.run(["nmcli", "general", "reload", "conf"]).rc == 0:
            for netdev in netdevs:
                self.runner.run(["nmcli", "device", "set", netdev, "managed", "no"])
        run_checked(self.runner, ["netplan", "generate"])
        run_checked(self.runner, ["systemctl", "start", "systemd-networkd.service"])
        run_checked(self.runner, ["networkctl", "reload"])
        for netdev in netdevs:
            run_checked(self.runner, ["networkctl", "reconfigure", netdev])
        # networkd takes away what it does not know, unless it was told to leave that alone (ManageForeignRoutes=no).
        for route in fabric.unplanned(self.wanted, self.routes()):
            via = ["via", route.via] if route.via else []
            self.runner.run(["ip", "-4", "route", "delete", route.to, *via, "dev", route.dev])
        run_checked(self.runner, ["systemctl", "enable", "--quiet", self.params["unit"]])
        run_checked(self.runner, ["systemctl", "start", self.params["unit"]])

    def settle(self) -> list[str]:
        """Wait until nothing differs any more; gives what still does after the time is up."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while True:
            left = fabric.differences(self.wanted, self.seen())
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(0.5)


def present(module: AnsibleModule, node: Node) -> dict[str, t.Any]:
    """Make the node be as stated; gives the result of the module. The lock must be held, unless in check mode."""
    seen = node.seen()
    foreign = node.foreign(seen)
    definitions = [d for _text, found in foreign.values() for d in found]
    problems = fabric.refusals(node.wanted, seen, module.params["management_address"])
    for definition in definitions:
        if definition.shared:
            problems.append(f"{definition}, and {definition.shared}: move the fabric's ports out of it by hand")
        elif not module.params["take_over"]:
            problems.append(
                f"{definition}: remove it, or set fabric_take_over to true to have it cut out (a copy is kept)"
            )
    if problems:
        module.fail_json(msg="Nothing was changed.\n" + "\n".join(f"- {problem}" for problem in problems))

    files = node.files + [
        change.File(path, netplan.without(text, found), 0o600) for path, (text, found) in foreign.items()
    ]
    differing = [file for file in files if file.differs()]
    changes = [f"{file.path} {'goes' if file.content is None else 'differs'}" for file in differing]
    changes += fabric.differences(node.wanted, seen)
    diff = [
        {
            "before": file.read() or "",
            "after": file.content or "",
            "before_header": file.path,
            "after_header": file.path,
        }
        for file in differing
    ]
    diff.insert(0, {"prepared": "".join(f"{line}\n" for line in changes)})
    result: dict[str, t.Any] = {"changed": bool(changes), "changes": changes, "diff": diff, "backups": []}
    waiting = change.pending() is not None
    if module.check_mode or not (changes or waiting):
        return result | {"armed": waiting}

    for file in differing:
        copy = change.keep_copy(file.path)
        if copy:
            result["backups"].append(copy)
    for file in differing:
        if file.support:
            change.write(file)
    if not waiting:
        change.stage(files, node.before(seen))
    run_checked(node.runner, ["systemctl", "daemon-reload"])
    run_checked(node.runner, ["systemctl", "enable", "--quiet", change.ROLLBACK_UNIT])  # the node may go down from here
    change.arm(node.runner, module.params["rollback_seconds"])
    node.apply([file for file in differing if not file.support])
    left = node.settle()
    if left:
        module.fail_json(
            msg="The change was made, but the node is not as stated; it will be rolled back:\n"
            + "\n".join(f"- {x}" for x in left)
        )
    return result | {"armed": True}


def confirmed(module: AnsibleModule, node: Node) -> dict[str, t.Any]:
    """Keep a change; gives the result of the module."""
    if module.check_mode:
        return {
            "changed": change.pending() is not None,
            "changes": [],
            "armed": change.pending() is not None,
            "backups": [],
        }
    with change.lock():
        kept = change.commit(node.runner)
    if not kept:
        report = change.last_rollback() or {}
        module.fail_json(
            msg=f"There is no change left to keep: it was rolled back at {report.get('time', 'an unknown time')} "
            f"because {report.get('reason', 'of an unknown reason')}. Run the play again; raise "
            "fabric_rollback_seconds if the nodes are slow."
        )
    return {"changed": True, "changes": [], "armed": False, "backups": []}


def restored(module: AnsibleModule, node: Node) -> dict[str, t.Any]:
    """Roll an unconfirmed change back; gives the result of the module."""
    waiting = change.pending() is not None
    if waiting and not module.check_mode:
        change.disarm(node.runner)
        run_checked(node.runner, [*change.ROLLBACK_TOOL, "the play asked for it: a node or a path failed the proof"])
    return {"changed": waiting, "changes": [], "armed": False, "backups": []}


def address_of(netdev: str) -> str:
    """MAC address of a device; empty when it has none."""
    try:
        return (SYS_NET / netdev / "address").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def content_of(files: list[change.File], ending: str) -> str:
    """What is in the file of ours with this ending; empty when it is not there."""
    return next((file.read() or "" for file in files if file.path.endswith(ending)), "")


def absent(module: AnsibleModule, node: Node) -> dict[str, t.Any]:
    """Take the fabric away; gives the result of the module."""
    address = module.params["management_address"]
    links = parse_links(run_checked(node.runner, ["ip", "-j", "address", "show"]).stdout)
    netdevs = undo.ports(content_of(node.files, ".yaml"))
    held = [name for name in netdevs if name in links and address in {a.split("/")[0] for a in links[name].addresses}]
    if held:
        module.fail_json(
            msg=f"Nothing was changed. This node is managed at {address}, an address of the fabric port {held[0]}, "
            "which would go: set ansible_host to an address on the management network"
        )
    if restored(module, node)["changed"] and module.check_mode:
        return {"changed": True, "changes": ["an unconfirmed change goes"], "armed": True, "backups": []}

    there = [file for file in node.files if file.read() is not None]
    netdevs = tuple(name for name in undo.ports(content_of(node.files, ".yaml")) if name in links)
    ports = [netplan.Port(name, address_of(name), driver(name)) for name in netdevs]
    others = [netplan.Port(name, "", driver(name)) for name in links if name not in netdevs]
    back, edited = undo.reduced(NETPLAN[0], {file.path for file in node.files}, ports, others, change.BACKUPS)
    changes = [f"{file.path} goes" for file in there] + [f"{path} comes back" for path in back]
    left = [
        f"{path} was changed since the ports were cut out of it; as it was: {copy}" for path, copy in edited.items()
    ]
    result: dict[str, t.Any] = {
        "changed": bool(changes),
        "changes": changes,
        "armed": False,
        "backups": [],
        "left": left,
    }
    if module.check_mode or not changes:
        return result

    result["backups"] = [kept for file in there if not file.support and (kept := change.keep_copy(file.path))]
    defaults = undo.settings(content_of(node.files, "sysctl.d/90-switchless-fabric.conf"))
    sysctl = {key: value for key, default in defaults.items() if read_sysctl(key) and (value := read_sysctl(default))}
    for file in node.files:
        if file.support:
            change.write(file)
    unit = module.params["unit"]
    node.runner.run(["systemctl", "disable", "--quiet", unit])  # while its file is there
    undo.stage(undo.manifest([file.path for file in there if not file.support], back, netdevs, sysctl, unit))
    run_checked(node.runner, [*change.ROLLBACK_TOOL, "the fabric was taken away"])
    if node.runner.run(["nmcli", "connection", "reload"]).rc == 0:
        for netdev in netdevs:
            run_checked(node.runner, ["nmcli", "device", "set", netdev, "managed", "yes"])
    node.runner.run(["systemctl", "disable", "--quiet", change.ROLLBACK_UNIT])
    for file in node.files:
        change.write(change.File(file.path, None, 0))
    undo.forget()
    run_checked(node.runner, ["systemctl", "daemon-reload"])
    if node.runner.run(["nft", "list", "table", "inet", "switchless_fabric"]).rc == 0:
        module.fail_json(
            msg="The files are gone, but the relay's rules are still loaded: nft delete table inet switchless_fabric"
        )
    return result


def main() -> None:
    """Run the module."""
    port = {
        "netdev": {"type": "str", "required": True},
        "mac": {"type": "str", "default": ""},
        "address": {"type": "str"},
    }
    port["mtu"] = {"type": "int", "required": True}
    route = {name: {"type": "str", "required": True} for name in ("to", "via", "netdev")}
    file = {
        "path": {"type": "path", "required": True},
        "content": {"type": "str"},
        "mode": {"type": "str", "default": "0644"},
        "support": {"type": "bool", "default": False},
    }
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "confirmed", "restored", "absent"], "default": "present"},
            "ports": {"type": "list", "elements": "dict", "default": [], "options": port},
            "routes": {"type": "list", "elements": "dict", "default": [], "options": route},
            "subnets": {"type": "list", "elements": "str", "default": []},
            "sysctl": {"type": "dict", "default": {}},
            "files": {"type": "list", "elements": "dict", "default": [], "options": file},
            "unit": {"type": "str", "default": "switchless-fabric.service"},
            "relay_command": {"type": "path", "default": "/usr/local/lib/switchless/fabric-relay"},
            "management_address": {"type": "str"},
            "take_over": {"type": "bool", "default": False},
            "rollback_seconds": {"type": "int", "default": 45},
        },
        supports_check_mode=True,
    )
    state = module.params["state"]
    for entry in module.params["files"]:
        if entry["content"] is None and (state != "absent" or entry["support"]):
            module.fail_json(
                msg=f"files: {entry['path']} has no content, which is needed: give it, empty if it is to be"
            )
    node = Node(ModuleRunner(module), module.params)
    states = {"present": present, "confirmed": confirmed, "restored": restored, "absent": absent}
    # From the first look on: a roll-back in between would leave a change that nothing undoes.
    locked = module.params["state"] == "present" and not module.check_mode
    try:
        with change.lock() if locked else contextlib.nullcontext():
            result = states[module.params["state"]](module, node)
    except (CommandError, netplan.NetplanSyntaxError) as exc:
        module.fail_json(msg=str(exc))
    result["pending"] = bool(result["changes"]) or result["armed"]
    module.exit_json(**result, last_rollback=change.last_rollback())


if __name__ == "__main__":
    main()
