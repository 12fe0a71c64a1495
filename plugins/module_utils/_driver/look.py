# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything a node shows of its driver, read once.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from ansible_collections.switchless.spark.plugins.module_utils._boot import look as boot_look
from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Runner

from . import dgx, history, packages, policy, said, simulate, unattended
from .family import member, of_branch
from .verdicts import Pin

JOURNAL = ("journalctl", "-k", "-b", "-o", "cat", "--no-pager")
DKMS = ("dkms", "status")
DPKG_UPDATES = ("var", "lib", "dpkg", "updates")
PREBUILT, BUILT, FOREIGN = "prebuilt", "dkms", "foreign"


@dataclass(frozen=True, slots=True)
class OnDisk:
    """nvidia.ko and nvidia-modeset.ko of one kernel, as modinfo knows them."""

    path: str | None = None
    license: str | None = None
    version: str | None = None
    modeset: str | None = None

    @property
    def source(self) -> str | None:
        """Who put it there: linux-modules-nvidia, DKMS, or NVIDIA's .run file. Null for another place."""
        if self.path is None:
            return None
        if "/updates/" in self.path:
            return BUILT
        if "/kernel/nvidia-" in self.path:
            return PREBUILT
        return FOREIGN if "/kernel/drivers/video/" in self.path else None

    @property
    def open(self) -> bool | None:
        return None if self.license is None else self.license != "NVIDIA"


@dataclass(frozen=True, slots=True)
class Seen:
    """All of it. Null is what could not be read."""

    boot: boot_look.Seen
    packages: tuple[packages.Package, ...] | None
    unfinished_updates: bool  # dpkg was stopped before it could write down what it had done
    policies: Mapping[str, policy.Policy] | None
    repositories: Mapping[str, policy.Repository] | None
    auto: frozenset[str] | None
    plan: simulate.Plan | None
    phased_plan: simulate.Plan | None  # the same with what still waits for its phase
    unattended: unattended.Unattended | None
    loaded: str | None
    loaded_open: bool | None
    modules_listed: bool  # /sys/module can be read, so that what it lacks is not loaded
    on_disk: Mapping[str, OnDisk]  # by kernel
    smi: said.Smi | None
    log: tuple[str, ...] | None
    dkms: tuple[str, ...] | None
    history: tuple[history.Transaction, ...]
    release: dgx.Release | None


def _text(runner: Runner, *argv: str) -> str | None:
    result = runner.run(argv)
    return result.stdout if result.rc == 0 else None


def _tail(root: Tree) -> str:
    """The end of apt's history."""
    try:
        with root.path(*history.LOG).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - history.TAIL_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _on_disk(root: Tree, runner: Runner, kernel: str) -> OnDisk:
    base = () if root.root == "/" else ("-b", root.root)

    def ask(field: str, module: str = boot_look.DRIVER) -> str | None:
        said_text = _text(runner, "modinfo", *base, "-F", field, "-k", kernel, module)
        return said_text.strip().splitlines()[0] if said_text and said_text.strip() else None

    path = ask("filename")
    if path is None:
        return OnDisk()
    return OnDisk(path, ask("license"), ask("version"), ask("version", "nvidia-modeset"))


def _simulations(runner: Runner) -> tuple[simulate.Plan | None, simulate.Plan | None]:
    result = runner.run(simulate.SIMULATE)
    if result.missing:
        return None, None
    plan = simulate.parse(result)
    if plan.rc != 0 or not plan.deferred:
        return plan, plan
    later = runner.run(simulate.WITH_PHASED)
    return plan, None if later.missing else simulate.parse(later)


def _policies(
    runner: Runner, listed: tuple[packages.Package, ...] | None, pin: Pin
) -> tuple[Mapping[str, policy.Policy] | None, Mapping[str, policy.Repository] | None]:
    installed = {package.name for package in listed or () if package.installed and member(package.name)}
    if not installed:
        return None, None
    names = sorted(installed | {of_branch(name, pin.branch) for name in installed})
    text, repositories = _text(runner, *policy.POLICY, *names), _text(runner, *policy.POLICY)
    return (
        policy.parse(text) if text is not None else None,
        policy.parse_repositories(repositories) if repositories is not None else None,
    )


def look(root: Tree, runner: Runner, pin: Pin) -> Seen:
    """Everything that bears on the driver, once. nvidia-smi would load it, so it is asked of a loaded one only."""
    boot = boot_look.look(root, runner)
    listing = _text(runner, *packages.QUERY)
    listed = packages.parse(listing) if listing else None
    policies, repositories = _policies(runner, listed, pin)
    plan, phased = _simulations(runner)
    auto, config = _text(runner, *packages.AUTO), _text(runner, *unattended.CONFIG)
    log, dkms = _text(runner, *JOURNAL), _text(runner, *DKMS)
    version, is_open = said.parse_module(root.read("proc", "driver", boot_look.DRIVER, "version"))
    loaded = version or boot.driver_loaded
    kernels = dict.fromkeys(kernel for kernel in (boot.running_kernel, boot.next_kernel) if kernel is not None)
    on_disk = {kernel: _on_disk(root, runner, kernel) for kernel in kernels}
    if is_open is None and loaded is not None:
        running = on_disk.get(boot.running_kernel or "", OnDisk())
        is_open = running.open if running.version == loaded else None
    return Seen(
        boot=boot,
        packages=listed,
        unfinished_updates=any(name.isdecimal() for name in root.names(*DPKG_UPDATES)),
        policies=policies,
        repositories=repositories,
        auto=packages.parse_names(auto) if auto is not None else None,
        plan=plan,
        phased_plan=phased,
        unattended=unattended.parse(config) if config else None,
        loaded=loaded,
        loaded_open=is_open,
        modules_listed=bool(root.names("sys", "module")),
        on_disk=on_disk,
        smi=said.parse_smi(runner.run(said.SMI)) if loaded is not None else None,
        log=said.driver_lines(log) if log else None,
        dkms=said.parse_dkms(dkms) if dkms is not None else None,
        history=history.parse(_tail(root)),
        release=dgx.parse(root.read(*dgx.RELEASE)),
    )
