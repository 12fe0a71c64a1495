# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gives faults to nodes and takes them away: by a verb, and when a node boots or goes down, as in life.

The faults of a node are kept beside its disk, where the node does not see them. What it shows of them goes through
`overrides.json`, its kernel log, the limits of its cables and, of a staged kernel, its disk.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from lab import cables, faults, machine, watch
from lab.common import LabError, locked, read_json, run, wait_for, write_atomic

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from lab.faults import Fault, LogLine
    from lab.site import Site

SHOWN_WITHIN = 10.0  # seconds for a node to show what it was told
KERNEL_LOG = ("/usr/bin/python3", "/usr/local/lib/spark-lab/kernel_log.py", "add")
MARKER = "etc/nvidia/cx7-hotplug-enabled"
GRUB_MENU = "boot/grub/grub.cfg"


def _lock(site: Site) -> AbstractContextManager[None]:
    return locked(site.run / "faults.lock")


def _overrides_file(site: Site, node: str) -> Path:
    return site.node(node) / "board" / "overrides.json"


def cabled(site: Site, node: str) -> dict[str, cables.Patch]:
    """The cables of a node, by cage, in or out."""
    return {end.cage: patch for patch in cables.load(site) for end in patch.cable.ends if end.node == node}


def seated(site: Site, node: str) -> list[str]:
    """The cages of a node whose cable is in."""
    return sorted(cage for cage, patch in cabled(site, node).items() if patch.plugged)


def _far_cages(site: Site, node: str) -> dict[str, list[str]]:
    """The nodes at the other ends of the cables that are in, with their cages."""
    found: dict[str, list[str]] = {}
    for patch in cables.load(site):
        if patch.plugged:
            for here, there in ((patch.near, patch.far), (patch.far, patch.near)):
                if here.node == node:
                    found.setdefault(there.node, []).append(there.cage)
    return found


def mirrored(site: Site, node: str) -> list[Fault]:
    """What a node shows of the faults of cables that are the other ends'."""
    found = []
    dark = {name for name in site.wiring.nodes if faults.is_dark(faults.load(site, name))}
    for patch in cables.load(site):
        for here, there in ((patch.near, patch.far), (patch.far, patch.near)):
            if here.node == node and patch.plugged and not {here.node, there.node} & dark:
                for fault in faults.load(site, there.node):
                    ports = tuple((here.cage, root) for cage, root in fault.ports if cage == there.cage)
                    if fault.kind.both_ends and ports:
                        found.append(replace(fault, ports=ports))
    return found


# --- telling a node ---


def _write(site: Site, node: str) -> bool:
    """Write what a node shows; whether that is something new. A file that somebody wrote by hand is left alone."""
    own = faults.load(site, node)
    if faults.is_dark(own):  # no cable, no fault of a cable
        own = [fault for fault in own if not fault.kind.both_ends]
    present = [*own, *mirrored(site, node)]
    path = _overrides_file(site, node)
    mark = site.node(node) / "overrides.ours"
    if not present and not mark.exists():
        return False
    text = json.dumps(faults.overrides(present), indent=1) + "\n"
    mark.touch()
    if path.exists() and path.read_text() == text:
        return False
    write_atomic(path, text)
    return True


def _booted(site: Site, node: str) -> int | None:
    """PID 1 of a node whose stand-ins are there."""
    init = machine.leader(site, node)
    return init if init is not None and machine.ready_file(init).exists() else None


def _publish(site: Site, nodes: Iterable[str]) -> None:
    """Let nodes show what they have now; those that run show it when this returns."""
    waiting = {}
    for node in nodes:
        if _write(site, node) and (init := _booted(site, node)) is not None:
            run(machine.command(site, node, ["/usr/bin/systemctl", "reload", "spark-ports"]))
            waiting[machine.ready_file(init)] = str(_overrides_file(site, node).stat().st_mtime_ns)

    def shown() -> bool:
        return all(path.read_text().strip() == version for path, version in waiting.items() if path.exists())

    if not wait_for(shown, SHOWN_WITHIN):
        raise LabError(f"not shown within {SHOWN_WITHIN:g} s: look at spark-ports in {', '.join(nodes)}")


def _relay(site: Site, node: str) -> None:
    """Set the limits and the light of a node's cables again."""
    with cables.changing(site):
        cables.apply(site, list(cabled(site, node).values()))
    watch.poke(site)


def _say(site: Site, node: str, lines: Sequence[LogLine]) -> None:
    if lines and _booted(site, node) is not None:
        run(machine.command(site, node, KERNEL_LOG), text=json.dumps(lines))


def _neighbours(site: Site, node: str) -> list[str]:
    return sorted({end.node for patch in cabled(site, node).values() for end in patch.cable.ends} | {node})


# --- the verb ---


def give(site: Site, node: str, fault: Fault) -> str:
    """Give a fault to a node; gives what to know about it. One of the same name is replaced."""
    runs = _booted(site, node) is not None
    if machine.leader(site, node) is not None and not runs:
        raise LabError(f"{node} is still booting: wait until `status` says ready")
    if fault.kind.running and not runs:
        raise LabError(f"{fault.name} is of a node that runs, and {node} is off")
    fault = replace(fault, shown=True, gone=runs and faults.is_dark([fault]))
    with _lock(site):
        present = [old for old in faults.load(site, node) if old.name != fault.name]
        faults.save(site, node, [*present, fault])
    if fault.name in ("late-cable", "stuck"):
        _arm(site, node)
    if fault.name == "staged-kernel":
        _stage(site, node)
    _publish(site, _neighbours(site, node) if fault.kind.both_ends else [node])
    _say(site, node, faults.lines_now(fault))
    if fault.kind.both_ends:
        for far in _neighbours(site, node):
            for other in mirrored(site, far):
                if other.name == fault.name:
                    _say(site, far, faults.lines_now(other))
    _relay(site, node)
    when = "now" if fault.kind.at_once else "from the next boot on"
    return f"{node}: {fault}, {when}; ended by {fault.kind.ended_by}"


def clear(site: Site, node: str, name: str = "") -> list[str]:
    """Take a node's faults away; gives what to know about each."""
    with _lock(site):
        present = faults.load(site, node)
        gone = [fault for fault in present if not name or fault.name == name]
        if name and not gone:
            had = ", ".join(str(fault) for fault in present) or "none"
            raise LabError(f"{node} has no fault {name!r}; it has: {had}")
        faults.save(site, node, [fault for fault in present if fault not in gone])
    for fault in gone:
        if fault.name == "staged-kernel":
            _unstage(site, node)
    both = any(fault.kind.both_ends for fault in gone)
    _publish(site, _neighbours(site, node) if both else [node])
    _relay(site, node)
    return [f"{node}: {fault} is cleared{_left(fault)}" for fault in gone]


def _left(fault: Fault) -> str:
    """What of a cleared fault stays until the node boots."""
    if fault.name in ("late-cable", "stuck", "flap"):
        return "; its lines stay in the log of this boot"
    if fault.name in ("fault-retraining", "no-cable") or fault.gone:
        return "; functions that are gone come back with the next boot"
    return ""


# --- the node's disk ---


def _disk(site: Site, node: str) -> Path:
    """Where to write so that the node sees it, whether it runs or not."""
    init = machine.leader(site, node)
    return machine.root(init) if init is not None else site.node(node) / "upper"


def _arm(site: Site, node: str) -> None:
    """Only an armed hot-plug driver sees a cable come."""
    if (init := machine.leader(site, node)) is not None:
        (machine.root(init) / MARKER).touch()


def _staged(site: Site, node: str) -> Path:
    """Keeps the menu of GRUB as it was before."""
    return site.node(node) / "staged.json"


def _stage(site: Site, node: str) -> None:
    """What an upgrade leaves that was never booted. A kernel that is there already is left."""
    if (init := machine.leader(site, node)) is None:
        raise LabError(f"{node} is off: staged-kernel needs the driver and the GRUB of a node that runs")
    disk = machine.root(init)
    if any((disk / name).exists() for name in faults.staged_files()):
        return
    menu = disk / GRUB_MENU
    write_atomic(_staged(site, node), json.dumps(menu.read_text() if menu.exists() else "") + "\n")
    for name, text in faults.staged_files().items():
        path = disk / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    run(machine.command(site, node, ["/bin/sh", "-c", faults.STAGE]))


def _unstage(site: Site, node: str) -> None:
    """Take it away again, unless a package has put its own in its place."""
    disk, before = _disk(site, node), read_json(_staged(site, node))
    _staged(site, node).unlink(missing_ok=True)
    image, initrd, *_ = faults.staged_files()
    try:
        ours = (disk / image).read_text() == faults.STAGED_MARK
    except OSError:
        ours = False
    if not ours:
        return
    for name in (image, initrd):
        (disk / name).unlink(missing_ok=True)
    shutil.rmtree(disk / faults.STAGED_FOLDER, ignore_errors=True)
    if machine.leader(site, node) is not None:
        run(machine.command(site, node, ["update-grub"]))
    elif before:
        (disk / GRUB_MENU).write_text(before)


# --- what happens in life ---


def boots(site: Site, node: str) -> None:
    """A node is about to boot: some faults are over, of this node and of those that its cap slowed down."""
    with _lock(site):
        here = faults.load(site, node)
        if here:
            faults.save(site, node, faults.rebooted(here, seated(site, node)))
        for far, cages in _far_cages(site, node).items():
            if there := faults.load(site, far):
                faults.save(site, far, faults.peer_rebooted(there, cages))
        _write(site, node)


def goes_down(site: Site, node: str) -> None:
    """A node has gone down: neighbours with peer-drops-nic lose their NIC, unless they are rebooting too."""
    for far in _far_cages(site, node):
        with _lock(site):
            present = faults.load(site, far)
            drops = any(fault.name == "peer-drops-nic" for fault in present) and _up_for(site, far) > faults.DROP_UPTIME
            if drops:
                told = [replace(fault, gone=True) if fault.name == "peer-drops-nic" else fault for fault in present]
                faults.save(site, far, told)
        if drops:
            with suppress(LabError, OSError):
                _publish(site, [far])


def _up_for(site: Site, node: str) -> float:
    """Seconds since a node that runs was booted; 0 for one that does not run."""
    try:
        return time.time() - (site.node(node) / "board" / "board.json").stat().st_mtime if _booted(site, node) else 0.0
    except OSError:
        return 0.0


def loses_power(site: Site, node: str) -> None:
    """The plug was pulled: a power drain."""
    with _lock(site):
        if present := faults.load(site, node):
            faults.save(site, node, faults.drained(present))


def cables_change(site: Site, before: Sequence[cables.Patch], patches: Sequence[cables.Patch]) -> None:
    """Cables were plugged, pulled or exchanged: one that was seated anew no longer flaps, a late one is late now."""
    nodes = {end.node for patch in [*before, *patches] for end in patch.cable.ends}
    if not any(faults.load(site, node) for node in nodes):
        return
    out = {patch.number for patch in before if not patch.plugged}
    for patch in patches:
        if patch.plugged and patch.number in out:
            for end in patch.cable.ends:
                with _lock(site):
                    present = faults.reseated(faults.load(site, end.node), end.cage)
                    late = [fault for fault in present if fault.name == "late-cable" and not fault.shown]
                    faults.save(site, end.node, [replace(fault, shown=True) for fault in present])
                for fault in late:
                    _say(site, end.node, faults.lines_now(fault))
    _publish(site, sorted(nodes))


def listing(site: Site, nodes: Sequence[str]) -> list[str]:
    """The faults of nodes, one a line."""
    return [f"{node}: {fault}" for node in nodes for fault in faults.load(site, node)]
