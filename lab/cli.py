# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: one verb, one small function."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab import cables, faults, host, inject, lifecycle, machine, watch
from lab.common import LabError, command_env, run
from lab.procs import Process
from lab.serving import lab as serving
from lab.site import STORE, Site
from lab.wiring import DEFAULT, load_wiring

if TYPE_CHECKING:
    from collections.abc import Callable


SWAP_SECONDS = 3


def _site(args: argparse.Namespace) -> Site:
    """The lab that a verb is about: by --name, or by the wiring file's name."""
    return Site(args.name or load_wiring(args.wiring or DEFAULT).name)


def do_up(args: argparse.Namespace) -> None:
    name = args.name
    kept = Site(name).wiring_file if name else None
    wiring = load_wiring(args.wiring or (kept if kept and kept.exists() else DEFAULT))
    wiring = wiring.named(name) if name else wiring
    lifecycle.up(Site(wiring.name), wiring, serve=args.serving)


def do_down(args: argparse.Namespace) -> None:
    lifecycle.down(_site(args))


def do_destroy(args: argparse.Namespace) -> None:
    lifecycle.destroy(_site(args))


def status(site: Site) -> dict[str, Any]:
    wiring = site.wiring
    up = site.cgroup().populated()
    patches = cables.load(site)
    ports = watch.ports_up(site) if up else set()
    return {
        "name": site.name,
        "up": up,
        "ssh_config": str(site.ssh_config),
        "services": {name: Process.load(site.process_file(name)) is not None for name in lifecycle.SERVICES},
        "nodes": [
            {
                "name": node,
                "address": wiring.address(node),
                "power": "on" if machine.supervisor(site, node) else "off",
                "ready": machine.supervisor(site, node) is not None and not lifecycle.state(site, node),
                "faults": [str(fault) for fault in faults.load(site, node)],
            }
            for node in wiring.nodes
        ],
        "cables": [
            {
                "cable": patch.number,
                "ends": [str(end) for end in patch.cable.ends],
                "plugged": patch.plugged,
                "limits": patch.limits,
                "link": {
                    root: up and patch.plugged and all(watch.lit(ports, end, root) for end in patch.cable.ends)
                    for root in ("A", "B")
                },
            }
            for patch in patches
        ],
        **serving.status(site),
    }


def do_status(args: argparse.Namespace) -> None:
    site = _site(args)
    if not site.wiring_file.exists():
        print(
            json.dumps({"name": site.name, "up": False, "nodes": [], "cables": [], **serving.status(site)})
            if args.json
            else _none(site)
        )
        return
    data = status(site)
    if args.json:
        print(json.dumps(data, indent=2))
        return
    config = shlex.quote(os.path.relpath(site.ssh_config))
    print(f"lab {data['name']}: {'up' if data['up'] else 'down'}    ssh -F {config} NODE")
    if data["up"] and (dead := [name for name, alive in data["services"].items() if not alive]):
        print(f"  not running: {', '.join(dead)}; `up` puts that right")
    for node in data["nodes"]:
        word = "ready" if node["ready"] else "on, not ready" if node["power"] == "on" else "off"
        print(f"  node {node['name']:<10} {node['address']:<15} {', '.join([word, *node['faults']])}")
    for cable in data["cables"]:
        words = ["plugged" if cable["plugged"] else "unplugged"]
        words += [f"root {root} {'up' if lit else 'down'}" for root, lit in cable["link"].items()]
        if any(cable["limits"]):
            words.append(f"limited to {' / '.join(limit or 'no limit' for limit in cable['limits'])}")
        print(f"  cable {cable['cable']}  {' - '.join(cable['ends']):<28} {', '.join(words)}")
    if site.serving_file.exists():
        print(f"  serving: {'wheels in ' + data['serving']['wheels'] if data['serving'] else 'no: ' + data['why']}")


def _none(site: Site) -> str:
    return f"lab {site.name}: there is none in {STORE}"


def do_ssh(args: argparse.Namespace) -> None:
    site = _site(args)
    site.wiring.node(args.node)
    os.execvpe("ssh", ["ssh", "-F", str(site.ssh_config), args.node, *args.command], command_env())  # noqa: S606


def do_exec(args: argparse.Namespace) -> None:
    site = _site(args)
    argv = machine.command(site, args.node, [*args.command])
    group = site.cgroup(f"node-{args.node}/exec")  # so that a power cut takes it too
    group.create()
    group.enter()
    os.execvpe(argv[0], argv, command_env())  # noqa: S606


def do_kmsg(args: argparse.Namespace) -> None:
    if not args.priority.isdecimal() or int(args.priority) > 7:
        raise LabError(f"{args.priority!r} is not a priority: 0 (emergency) to 7 (debug); 4 is a warning")
    site = _site(args)
    script = ["/usr/bin/python3", "/usr/local/lib/spark-lab/kernel_log.py", "say", args.priority, " ".join(args.text)]
    run(machine.command(site, args.node, script))


def _running(args: argparse.Namespace) -> Site:
    site = _site(args)
    if not site.wiring_file.exists() or not site.cgroup().populated():
        raise LabError(f"lab {site.name} is not up")
    return site


def _patch(args: argparse.Namespace, numbers: list[str], change: Callable[[list[cables.Patch]], None]) -> None:
    site = _running(args)
    with cables.changing(site) as patches:
        picked = [cables.pick(patches, number) for number in numbers]
        before = [replace(patch) for patch in picked]
        change(picked)
        cables.save(site, patches)
        cables.apply(site, picked)
    watch.poke(site)
    watch.settle(site)
    inject.cables_change(site, before, picked)


def do_plug(args: argparse.Namespace) -> None:
    _patch(args, [args.cable], lambda picked: setattr(picked[0], "plugged", True))


def do_unplug(args: argparse.Namespace) -> None:
    _patch(args, [args.cable], lambda picked: setattr(picked[0], "plugged", False))


def do_swap(args: argparse.Namespace) -> None:
    numbers = [args.cable, args.other]
    plugged: list[bool] = []

    def pull(picked: list[cables.Patch]) -> None:
        if picked[0] is picked[1]:
            raise LabError("swap needs two different cables")
        for patch in picked:
            plugged.append(patch.plugged)
            patch.plugged = False

    def exchange(picked: list[cables.Patch]) -> None:
        one, other = picked
        one.far, other.far = other.far, one.far
        one.plugged, other.plugged = plugged

    # Pulled first, and for as long as a hand takes: both ends see their link go, which is what makes lldpd forget its
    # neighbour. It looks at its interfaces a second after they changed.
    _patch(args, numbers, pull)
    time.sleep(SWAP_SECONDS)
    _patch(args, numbers, exchange)


def do_limit(args: argparse.Namespace) -> None:
    cables.parse_rate(args.rate)
    _patch(args, [args.cable], lambda picked: setattr(picked[0], "limits", [args.rate, args.rate]))


def do_unlimit(args: argparse.Namespace) -> None:
    _patch(args, [args.cable], lambda picked: setattr(picked[0], "limits", [None, None]))


def do_poweroff(args: argparse.Namespace) -> None:
    site = _running(args)
    lifecycle.power_off(site, site.wiring.node(args.node))


def do_powercut(args: argparse.Namespace) -> None:
    site = _running(args)
    lifecycle.power_cut(site, site.wiring.node(args.node))
    inject.loses_power(site, args.node)


def do_poweron(args: argparse.Namespace) -> None:
    site = _running(args)
    lifecycle.power_on(site, site.wiring.node(args.node))


def do_fault(args: argparse.Namespace) -> None:
    site = _running(args)
    nodes = [site.wiring.node(args.node)] if args.node else list(site.wiring.nodes)
    if args.fault is None:
        print("\n".join(inject.listing(site, nodes)) or f"{', '.join(nodes)}: no fault")
        if not args.node:
            print(f"faults that a node can have:\n{faults.catalogue()}")
    elif args.fault == "clear":
        if len(args.words) > 1:
            raise LabError(f"clear takes the name of one fault, or none for all of {args.node}'s")
        print("\n".join(inject.clear(site, args.node, *args.words)) or f"{args.node}: no fault")
    else:
        fault = faults.parse(args.fault, args.words, inject.seated(site, args.node))
        print(inject.give(site, args.node, fault))


def do_packages(_args: argparse.Namespace) -> None:
    print(" ".join(host.packages()))


def do_selftest(args: argparse.Namespace) -> None:
    from lab import selftest  # noqa: PLC0415 - it drives this command line and imports it

    sys.exit(selftest.main(args.keep))


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="spark-lab", description="Virtual DGX Sparks. See lab/README.md.")
    top.add_argument("--wiring", type=Path, metavar="FILE", help="nodes and cables (default: the ring of four)")
    top.add_argument("--name", help="name of the lab, if not the wiring file's")
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(
        name: str, function: Callable[[argparse.Namespace], None], text: str, *names: str
    ) -> argparse.ArgumentParser:
        sub = verbs.add_parser(name, help=text, description=text)
        sub.set_defaults(function=function)
        for argument in names:
            sub.add_argument(argument, metavar=argument.upper())
        return sub

    start = verb("up", do_up, "start the lab, or put right what does not run")
    start.add_argument(
        "--serving", action="store_true", help="with what a node needs to serve a model: see lab/README.md"
    )
    verb("down", do_down, "stop it and leave nothing running; disks stay")
    verb("destroy", do_destroy, "the same, and remove its disks")
    verb("status", do_status, "nodes and cables").add_argument("--json", action="store_true")
    verb("ssh", do_ssh, "log in as spark, or run a command", "node").add_argument("command", nargs=argparse.REMAINDER)
    verb("exec", do_exec, "run a command in a node as root", "node").add_argument("command", nargs=argparse.REMAINDER)
    verb("plug", do_plug, "put a cable in", "cable")
    verb("unplug", do_unplug, "pull a cable out", "cable")
    verb("swap", do_swap, "exchange the far ends of two cables", "cable", "other")
    verb("limit", do_limit, "slow a cable down, e.g. to 13gbit", "cable", "rate")
    verb("unlimit", do_unlimit, "take the limit away", "cable")
    verb("poweroff", do_poweroff, "shut a node down in order", "node")
    verb("powercut", do_powercut, "take a node's power away", "node")
    verb("poweron", do_poweron, "switch a node on and wait until it is ready", "node")
    kmsg = verb("kmsg", do_kmsg, "let a node's kernel say something", "node", "priority")
    kmsg.add_argument("text", nargs="+")
    text = "give a node a fault, take its faults away (clear), or list them"
    fault = verb("fault", do_fault, f"{text}; without a node, all that there are")
    fault.add_argument("node", metavar="NODE", nargs="?")
    fault.add_argument("fault", metavar="FAULT|clear", nargs="?")
    fault.add_argument("words", metavar="WORD", nargs="*", help="p0, p1, A, B, in, out, both: where, if not everywhere")
    verb("packages", do_packages, "print the packages that the machine needs")
    verb("selftest", do_selftest, "prove the lab on a lab of its own").add_argument("--keep", action="store_true")
    return top


def main() -> int:
    args = parser().parse_args()
    try:
        if args.verb != "packages":
            host.become_root()
        args.function(args)
    except LabError as error:
        print(f"spark-lab: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0
