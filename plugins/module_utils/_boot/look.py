# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node shows of its next boot: kernels, boot loader, driver, packages.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Runner

from . import grub

GRUB_FOLDERS = (("boot", "grub"), ("boot", "grub2"))
DEFAULTS = ("etc", "default", "grub")
DEFAULTS_FOLDER = ("etc", "default", "grub.d")
SYMLINKS = (("boot", "vmlinuz"), ("vmlinuz",))
IMAGE, INITRD = "vmlinuz-", "initrd.img-"
DRIVER = "nvidia"
_IMAGE_PACKAGE = re.compile(r"linux-image-(?:unsigned-)?(?P<kernel>\d\S*)")
PACKAGES = ("dpkg-query", "-W", "-f", r"${db:Status-Abbrev}\t${Package}\t${Version}\n", "linux-image-*")

SOURCE_GRUB, SOURCE_SYMLINK, SOURCE_ONLY = "grub", "symlink", "only_kernel"


@dataclass(frozen=True, slots=True)
class Package:
    """A kernel package; C(configured) is false when dpkg was interrupted."""

    name: str
    version: str
    kernel: str
    status: str
    configured: bool


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of which there is a trace below /boot or /lib/modules."""

    version: str
    image: bool
    initrd: bool
    modules: bool


@dataclass(frozen=True, slots=True)
class Driver:
    """The NVIDIA module of one kernel. The version is null when the module is there and modinfo is not."""

    present: bool
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Loader:
    """What the boot loader says; without one, all of it is empty."""

    grub_cfg: bool = False  # the file is there
    readable: bool = True
    wanted: str | None = None
    one_time: bool = False
    found: bool = True
    title: str | None = None
    image: str | None = None
    initrds: tuple[str, ...] = ()
    configured_default: str | None = None  # GRUB_DEFAULT: what the next update-grub makes the default


@dataclass(frozen=True, slots=True)
class Seen:
    """All of it."""

    boot_id: str | None
    running_kernel: str | None
    next_kernel: str | None
    next_source: str | None
    container: str | None
    kernels: tuple[Kernel, ...]
    packages: tuple[Package, ...]
    loader: Loader
    driver_loaded: str | None
    driver_now: Driver | None
    driver_next: Driver | None
    reboot_required: bool
    reboot_required_packages: tuple[str, ...] = field(default=())

    def kernel(self, version: str) -> Kernel:
        """One kernel; nothing of it is there when it has no trace."""
        absent = Kernel(version, image=False, initrd=False, modules=False)
        return next((kernel for kernel in self.kernels if kernel.version == version), absent)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def _line(runner: Runner, *argv: str) -> str | None:
    """What a command says, if it succeeds and says something."""
    result = runner.run(argv)
    return result.stdout.strip() or None if result.rc == 0 else None


def natural(version: str) -> tuple[tuple[int, int | str], ...]:
    """Sorts 6.17.0-1014 behind 6.17.0-1004 and 6.8."""
    return tuple((0, int(part)) if part.isdecimal() else (1, part) for part in re.findall(r"\d+|\D+", version))


def parse_packages(text: str) -> tuple[Package, ...]:
    """The output of C(PACKAGES), without those of which only a configuration file is left."""
    found = []
    for line in text.splitlines():
        status, name, version = [*line.split("\t"), "", ""][:3]
        match = _IMAGE_PACKAGE.fullmatch(name)
        if match is not None and status[1:2] not in ("n", "c"):
            found.append(Package(name, version, match["kernel"], status.strip(), configured=status[1:2] == "i"))
    return tuple(sorted(found, key=lambda package: (natural(package.kernel), package.name)))


def _is_filled(root: Tree, *parts: str) -> bool:
    """A file that is there and is not empty, as an initrd is after a full disk."""
    try:
        return root.path(*parts).stat().st_size > 0
    except OSError:
        return False


def _kernels(root: Tree) -> tuple[Kernel, ...]:
    boot, modules = root.names("boot"), root.names("lib", "modules")
    versions = {name.removeprefix(IMAGE) for name in boot if name.startswith(IMAGE)} | set(modules)
    return tuple(
        Kernel(
            version,
            image=_is_filled(root, "boot", IMAGE + version),
            initrd=_is_filled(root, "boot", INITRD + version),
            modules=version in modules,
        )
        for version in sorted(versions, key=natural)
    )


def _grub(root: Tree) -> Loader:
    for folder in GRUB_FOLDERS:
        if root.exists(*folder, "grub.cfg"):
            break
    else:
        return Loader()
    settings = [DEFAULTS, *((*DEFAULTS_FOLDER, name) for name in root.names(*DEFAULTS_FOLDER) if name.endswith(".cfg"))]
    defaults: dict[str, str] = {}
    for path in settings:
        defaults |= grub.parse_defaults(root.read(*path) or "")
    configured = defaults.get("GRUB_DEFAULT")
    text = root.read(*folder, "grub.cfg")
    if text is None:
        return Loader(grub_cfg=True, readable=False, configured_default=configured)
    choice = grub.choose(grub.parse(text), grub.parse_environment(root.read(*folder, "grubenv") or ""))
    return Loader(
        grub_cfg=True,
        wanted=choice.wanted,
        one_time=choice.one_time,
        found=choice.found,
        title=choice.entry.title if choice.entry is not None else None,
        image=choice.entry.image if choice.entry is not None else None,
        initrds=choice.entry.initrds if choice.entry is not None else (),
        configured_default=configured,
    )


def _linked(root: Tree) -> str | None:
    """The kernel behind /boot/vmlinuz or /vmlinuz."""
    for parts in SYMLINKS:
        try:
            name = root.path(*parts).readlink().name
        except OSError:
            continue
        if name.startswith(IMAGE):
            return name.removeprefix(IMAGE)
    return None


def _next(root: Tree, loader: Loader, kernels: Iterable[Kernel]) -> tuple[str | None, str | None]:
    """The kernel of the next boot and who says so. A menu that leads to no kernel is no answer."""
    linked = _linked(root)
    if loader.grub_cfg:
        if loader.image is not None and loader.image.startswith(IMAGE):
            return loader.image.removeprefix(IMAGE), SOURCE_GRUB
        if loader.image == "vmlinuz" and linked is not None:
            return linked, SOURCE_GRUB
        return None, None
    if linked is not None:
        return linked, SOURCE_SYMLINK
    images = [kernel.version for kernel in kernels if kernel.image]
    return (images[0], SOURCE_ONLY) if len(images) == 1 else (None, None)


def _driver(root: Tree, runner: Runner, version: str) -> Driver:
    """By modinfo; by the file when there is no modinfo, or when it knows nothing."""
    base = () if root.root == "/" else ("-b", root.root)
    said = _line(runner, "modinfo", *base, "-F", "version", "-k", version, DRIVER)
    if said is not None:
        return Driver(present=True, version=said.splitlines()[0])
    files = root.path("lib", "modules", version).rglob(f"{DRIVER}.ko*")
    return Driver(present=any(path.name.split(".")[0] == DRIVER for path in files))


def look(root: Tree, runner: Runner) -> Seen:
    """Everything that bears on the next boot, once."""
    kernels, loader = _kernels(root), _grub(root)
    running = _line(runner, "uname", "-r")
    upcoming, source = _next(root, loader, kernels)
    packages = runner.run(PACKAGES)
    required = root.read("run", "reboot-required.pkgs") or ""
    known = {kernel.version for kernel in kernels if kernel.modules}
    drivers = {version: _driver(root, runner, version) for version in (running, upcoming) if version in known}
    return Seen(
        boot_id=root.read("proc", "sys", "kernel", "random", "boot_id"),
        running_kernel=running,
        next_kernel=upcoming,
        next_source=source,
        container=_line(runner, "systemd-detect-virt", "--container"),
        kernels=kernels,
        packages=parse_packages(packages.stdout),
        loader=loader,
        driver_loaded=root.read("sys", "module", DRIVER, "version"),
        driver_now=drivers.get(running or ""),
        driver_next=drivers.get(upcoming or ""),
        reboot_required=root.exists("run", "reboot-required"),
        reboot_required_packages=tuple(sorted(set(required.split()))),
    )
