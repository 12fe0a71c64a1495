# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything of a node that says whether it is fit, read once and fast.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree, integer
from ansible_collections.switchless.spark.plugins.module_utils._driver import dgx, packages, policy, said, version
from ansible_collections.switchless.spark.plugins.module_utils._driver.family import member
from ansible_collections.switchless.spark.plugins.module_utils._nccl import memory
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Runner

from . import disk, ports

SCHEMA = 1
NVIDIA, GB10 = 0x10DE, 0x2E12
PCI = ("sys", "bus", "pci", "devices")
DISPLAY = (0x0300, 0x0302)  # classes of PCI: VGA, 3D controller
SECURE_BOOT = ("sys", "firmware", "efi", "efivars", "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c")
DKMS = ("var", "lib", "dkms")
SESSIONS = ("run", "systemd", "sessions")
MACHINE_ID = re.compile(r"[0-9a-f]{32}")

# Ubuntu's graphical.target is active on machines without a desktop too, so the display manager is asked. The name of
# its unit is an alias, and Id says what is behind it.
DISPLAY_MANAGER = ("systemctl", "show", "--property=Id,ActiveState", "display-manager.service")
SESSION = ("loginctl", "show-session", "--property=Id", "--property=Name", "--property=Type", "--property=Class")
SYNCHRONIZED = ("timedatectl", "show", "--property=NTPSynchronized", "--value")
DRIVERS = (*packages.QUERY, "nvidia-driver-*", "nvidia-open*")
NO_SUCH_PACKAGE = 1  # exit status of dpkg-query


def _blocks(text: str) -> list[dict[str, str]]:
    """C(Key=value) lines in paragraphs, as systemd's tools show several things."""
    return [dict(line.partition("=")[::2] for line in part.splitlines()) for part in text.split("\n\n") if part.strip()]


def gpus(tree: Tree) -> dict[str, Any]:
    """By PCI id: vendor strings and DMI differ between the makers of the same board."""
    if not tree.exists(*PCI):
        return {"gb10": None, "others": None}
    found: dict[str, list[str]] = {"gb10": [], "others": []}
    for name in tree.names(*PCI):
        if integer(tree.read(*PCI, name, "vendor")) != NVIDIA:
            continue
        device = integer(tree.read(*PCI, name, "device"))
        if device == GB10:
            found["gb10"].append(name)
        elif device is not None and (integer(tree.read(*PCI, name, "class")) or 0) >> 8 in DISPLAY:
            found["others"].append(f"{name} {NVIDIA:04x}:{device:04x}")
    return found


def release(tree: Tree, runner: Runner, ota_check: bool) -> dict[str, Any]:
    """NVIDIA's own check runs C(mstflint) on the NIC, so it is asked only when that is wanted."""
    found = dgx.parse(tree.read(*dgx.RELEASE))
    score = None
    if ota_check and tree.exists(*dgx.CHECK):
        score = dgx.torn_score(runner.run(dgx.TORN).stdout)
    return {
        "version": found.version if found else None,
        "platform": found.platform if found else None,
        "torn_score": score,
        "torn_asked": ota_check,
    }


def driver(tree: Tree, runner: Runner) -> dict[str, Any]:
    """Loaded, installed, on offer. Packages that hold no driver, such as nvidia-driver-assistant, are left out."""
    loaded, is_open = said.parse_module(tree.read("proc", "driver", "nvidia", "version"))
    listing = runner.run(DRIVERS)
    known = listing.rc == 0 or (listing.rc == NO_SUCH_PACKAGE and not listing.stdout)
    installed = [
        {
            "name": package.name,
            "version": package.version,
            "held": package.held,
            "driver": version.driver(package.version),
        }
        for package in packages.parse(listing.stdout)
        if package.installed and member(package.name) is not None
    ]
    names = [str(package["name"]) for package in installed]
    offers = policy.parse(runner.run((*policy.POLICY, *names)).stdout) if names else {}
    for package in installed:
        offer = offers.get(str(package["name"]))
        package["candidate"] = offer.candidate if offer else None
    return {
        "loaded": loaded or tree.read("sys", "module", "nvidia", "version") or None,
        "open": is_open,
        "modules_listed": bool(tree.names("sys", "module")),
        "installed": installed if known else None,
    }


def memories(tree: Tree) -> dict[str, Any]:
    """In kB, as the kernel counts."""
    sizes = memory.meminfo(tree.read("proc", "meminfo"))
    names = ("MemTotal", "MemAvailable", "SwapTotal", "SwapFree", "CmaTotal", "CmaFree")
    keys = ("total_kb", "available_kb", "swap_total_kb", "swap_free_kb", "cma_total_kb", "cma_free_kb")
    options = tree.read("proc", "cmdline")
    return dict(zip(keys, map(sizes.get, names), strict=True)) | {
        "kho_off": None if options is None else "kho=off" in options.split()
    }


def desktop(tree: Tree, runner: Runner) -> dict[str, Any]:
    """Sessions with windows, also those of a remote desktop, and the unit that shows the login screen."""
    unit = runner.run(DISPLAY_MANAGER)
    shown = _blocks(unit.stdout) if unit.rc == 0 else []
    names = [name for name in tree.names(*SESSIONS) if "." not in name]
    sessions = _blocks(runner.run((*SESSION, *names)).stdout) if names else []
    active = shown[0].get("ActiveState") in ("active", "activating", "reloading") if shown else None
    return {
        "active": active,
        "display_manager": shown[0].get("Id") if active else None,
        "sessions": [
            {"user": session.get("Name"), "type": session["Type"], "class": session.get("Class")}
            for session in sessions
            if session.get("Type") in ("x11", "wayland", "mir")
        ],
    }


def secure_boot(tree: Tree) -> bool | None:
    """The fifth byte, behind four of attributes. Null without UEFI."""
    said_bytes = tree.read(*SECURE_BOOT) or ""
    return {"\x01": True, "\x00": False}.get(said_bytes[4:])


def built(tree: Tree, runner: Runner) -> list[str] | None:
    """NVIDIA's modules under DKMS, a slow program that is asked only where it has one. A stock Spark has none."""
    if not any(name.startswith("nvidia") for name in tree.names(*DKMS)):
        return []
    result = runner.run(("dkms", "status"))
    return list(said.parse_dkms(result.stdout)) if result.rc == 0 else None


def _machine_id(text: str | None) -> str | None:
    """Null too while it is to be made by the next boot."""
    return text if text is not None and MACHINE_ID.fullmatch(text) else None


def look(
    tree: Tree,
    runner: Runner,
    *,
    disks: Collection[disk.Ask] = (),
    wanted_ports: Collection[int] = (),
    ota_check: bool = False,
    asked: float | None = None,
    now: Callable[[], float] = time.time,
) -> Mapping[str, Any]:
    """All of it, plain. Null is what could not be read."""
    synchronized = runner.run(SYNCHRONIZED)
    found = ports.look(tree, frozenset(wanted_ports))
    return {
        "schema": SCHEMA,
        "uid": os.geteuid(),
        "hostname": tree.read("proc", "sys", "kernel", "hostname") or None,
        "machine_id": _machine_id(tree.read("etc", "machine-id")),
        "boot_id": tree.read("proc", "sys", "kernel", "random", "boot_id") or None,
        "uptime_seconds": _seconds(tree.read("proc", "uptime")),
        "kernel": tree.read("proc", "sys", "kernel", "osrelease") or None,
        "gpu": gpus(tree),
        "dgx": release(tree, runner, ota_check),
        "driver": driver(tree, runner),
        "memory": memories(tree),
        "disk": [disk.look(tree, ask).as_dict() for ask in disks],
        "desktop": desktop(tree, runner),
        "clock": {
            "epoch": now(),
            "asked": asked,
            "ntp_synchronized": {"yes": True, "no": False}.get(synchronized.stdout.strip()),
        },
        "ports": {
            "wanted": sorted(set(wanted_ports)),
            "taken": None if found is None else [listener.as_dict() for listener in found],
        },
        "secure_boot": secure_boot(tree),
        "dkms": built(tree, runner),
    }


def _seconds(text: str | None) -> float | None:
    match = re.match(r"\d+(?:\.\d+)?", text or "")
    return float(match[0]) if match else None
