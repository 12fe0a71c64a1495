# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels, and the NVIDIA modules that were built for them: several builds for one kernel, each of one driver."""

from __future__ import annotations

from lab.repos import driver, elf
from lab.repos.package import RESTRICTED, Files, Package

FACTORY, LATER = "6.17.0-1032-nvidia", "7.0.0-1019-nvidia"
BUILDS = {FACTORY: "6.17.0-1032.32", LATER: "7.0.0-1019.19~24.04.2"}
HWE = "nvidia-hwe-24.04"
# (kernel, build of the modules, driver). Public reports pair .32 and .32+1; the older builds are made up.
MODULES = (
    (FACTORY, "6.17.0-1032.30", "580.126.09"),
    (FACTORY, "6.17.0-1032.31", "580.159.03"),
    (FACTORY, "6.17.0-1032.32", "580.173.02"),
    (FACTORY, "6.17.0-1032.32+1", "580.178.04"),
    (LATER, BUILDS[LATER], "580.178.04"),
    (FACTORY, "6.17.0-1032.32", driver.LATER_BRANCH),
)
GENERATED = "modules.alias modules.alias.bin modules.builtin.alias.bin modules.builtin.bin modules.dep modules.dep.bin"
GENERATED += " modules.devname modules.softdep modules.symbols modules.symbols.bin modules.weakdep"


def image(kernel: str) -> list[Package]:
    """A kernel and its own modules."""
    build = BUILDS[kernel]
    made = f"update-initramfs -c -k {kernel}\nupdate-grub\n"
    gone = f"rm -f /boot/initrd.img-{kernel}\nupdate-grub\n"
    folder = f"usr/lib/modules/{kernel}"
    lists = {
        f"{folder}/{name}": ("", 0o644) for name in ("modules.builtin", "modules.builtin.modinfo", "modules.order")
    }
    emptied = f"cd /lib/modules/{kernel}\nrm -f {GENERATED}\n"
    return [
        Package(
            f"linux-image-{kernel}",
            build,
            f"linux-modules-{kernel}",
            "Signed kernel image nvidia",
            files={f"boot/vmlinuz-{kernel}": (f"stand-in for Linux {kernel}\n", 0o600)},
            scripts={
                "postinst": f'[ "$1" != configure ] || {{\n{made}}}\n',
                "postrm": f'[ "$1" != remove ] || {{\n{gone}}}\n',
            },
        ),
        Package(
            f"linux-modules-{kernel}",
            build,
            text="Linux kernel extra modules",
            files={f"boot/config-{kernel}": ("", 0o644), **lists},
            scripts={"postinst": f"depmod {kernel}\n", "prerm": f'[ "$1" != remove ] || {{\n{emptied}}}\n'},
        ),
    ]


def modules(kernel: str, build: str, version: str) -> list[Package]:
    """nvidia.ko of one driver for one kernel, and the metapackage that goes along."""
    branch = version.partition(".")[0]
    stem = f"linux-modules-nvidia-{branch}-open"
    depends = f"linux-image-{kernel} | linux-image-unsigned-{kernel}, "
    depends += driver.same_driver(f"nvidia-kernel-common-{branch}", version)
    files: Files = {}
    for name in ("nvidia", "nvidia-modeset", "nvidia-uvm"):
        information = {
            "version": version,
            "license": "Dual MIT/GPL",
            "depends": "" if name == "nvidia" else "nvidia",
            "name": name.replace("-", "_"),
            "vermagic": f"{kernel} SMP preempt mod_unload modversions aarch64",
        }
        files[f"usr/lib/modules/{kernel}/kernel/nvidia-{branch}-open/{name}.ko"] = (elf.module(information), 0o644)
    again = f"[ ! -d /lib/modules/{kernel} ] || depmod {kernel}\n"
    scripts = {"postinst": again, "postrm": again}
    needs = f"{stem}-{kernel}"
    return [
        Package(needs, build, depends, "Linux kernel nvidia modules", RESTRICTED, files=files, scripts=scripts),
        Package(f"{stem}-{HWE}", build, needs, f"Extra drivers for {HWE}", RESTRICTED),
    ]


def metapackages(kernel: str) -> list[Package]:
    build = BUILDS[kernel]
    return [
        Package(f"linux-{HWE}", build, f"linux-image-{HWE} (= {build})", "Complete NVIDIA Linux kernel"),
        Package(f"linux-image-{HWE}", build, f"linux-image-{kernel}", "NVIDIA Linux kernel image"),
    ]


def ubuntu() -> list[Package]:
    kernels = [package for kernel in (FACTORY, LATER) for package in (*image(kernel), *metapackages(kernel))]
    return kernels + [package for entry in MODULES for package in modules(*entry)]
