# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver's user space: Ubuntu's family of each branch, and what the CUDA repository offers beside it."""

from __future__ import annotations

from pathlib import Path

from lab.repos.package import COMMON, MAIN, RESTRICTED, Files, Package

HERE = Path(__file__).parent.parent / "nvidia"
UBUNTU, CUDA = "0ubuntu0.24.04.1", "1ubuntu1"
FACTORY = "580.173.02"
VERSIONS = ("580.126.09", "580.159.03", FACTORY, "580.178.04")
LATER_BRANCH = "590.48.01"
UNNUMBERED = (LATER_BRANCH, "610.43.02")  # in the CUDA repository, whose packages have no branch in their names
TOOLS = "580.95.05-1"
LATER_TOOL = "610.43.02-1ubuntu1"
LIBRARIES = "usr/lib/aarch64-linux-gnu"


def same_driver(name: str, version: str) -> str:
    return f"{name} (>= {version}), {name} (<= {version}-1)"


def alone(name: str) -> dict[str, str]:
    """One of a kind: no other branch's beside it."""
    return {"Provides": name, "Conflicts": name, "Replaces": name}


def family(version: str, revision: str = UBUNTU, component: str = RESTRICTED) -> list[Package]:
    """All packages of one version that have it as theirs."""
    branch, full = version.partition(".")[0], f"{version}-{revision}"
    smi = (HERE / "nvidia-smi").read_text().replace("@VERSION@", version)
    programs: Files = {"usr/bin/nvidia-smi": (smi, 0o755)}
    libraries: Files = {
        f"{LIBRARIES}/{name}.so.{version}": (f"stand-in for {name} {version}\n", 0o644)
        for name in ("libcuda", "libnvidia-ml", "libnvidia-ptxjitcompiler")
    }

    def made(
        name: str,
        depends: str = "",
        text: str = "",
        fields: dict[str, str] | None = None,
        files: Files | None = None,
    ) -> Package:
        return Package(name, full, depends, text, component, fields or {}, files or {})

    def equal(*names: str) -> str:
        return ", ".join(f"{name} (= {full})" for name in names)

    source, common = f"nvidia-kernel-source-{branch}-open", f"nvidia-kernel-common-{branch}"
    compute, utils = f"libnvidia-compute-{branch}", f"nvidia-utils-{branch}"
    dkms, firmware = f"nvidia-dkms-{branch}-open", f"nvidia-firmware-{branch}-{version}"
    parts = equal(source, compute, f"nvidia-compute-utils-{branch}", utils)
    tied = f"{same_driver(dkms, version)}, {same_driver(common, version)}, {parts}"
    packages = [
        made(f"nvidia-driver-{branch}-open", tied, "NVIDIA driver (open kernel) metapackage"),
        made(dkms, equal(source, common), "NVIDIA DKMS package (open kernel module)"),
        made(source, "", "NVIDIA kernel source package (open kernel module)"),
        made(utils, equal(compute), "NVIDIA driver support binaries", alone("nvidia-utils"), programs),
        made(f"nvidia-compute-utils-{branch}", equal(compute), "NVIDIA compute utilities"),
        made(compute, "", "NVIDIA libcompute package", alone("libnvidia-compute"), libraries),
    ]
    shared, about = "Shared files used with the kernel module", alone("nvidia-kernel-common")
    if revision == CUDA:
        return [*packages, made(common, "", shared, about)]
    gsp: Files = {f"usr/lib/firmware/nvidia/{version}/gsp_ga10x.bin": (version, 0o644)}
    blob = made(firmware, "", "Firmware files used by the kernel module", files=gsp)
    return [*packages, made(common, equal(firmware), shared, about), blob]


def unnumbered(version: str) -> list[Package]:
    """The family since branch 590, as the CUDA repository has it, without the packages in which nothing is."""
    full = f"{version}-{CUDA}"
    smi = (HERE / "nvidia-smi").read_text().replace("@VERSION@", version)
    libraries: Files = {f"{LIBRARIES}/libcuda.so.{version}": (version, 0o644)}
    programs: Files = {"usr/bin/nvidia-smi": (smi, 0o755)}
    parts = ("nvidia-kernel-common", "nvidia-utils", "libnvidia-compute")
    needs = ", ".join(f"{name} (= {full})" for name in parts)
    return [
        Package("libnvidia-compute", full, fields=_apart("libnvidia-compute"), files=libraries),
        Package("nvidia-utils", full, fields=_apart("nvidia-utils"), files=programs),
        Package("nvidia-kernel-common", full, "nvidia-modprobe (>= 580)", fields=_apart("nvidia-kernel-common")),
        Package("nvidia-driver-open", full, needs),
        Package("nvidia-open", full, f"nvidia-driver-open (= {full})"),
        Package("cuda-drivers", full, f"nvidia-driver-open (= {full})"),
    ]


def _apart(name: str) -> dict[str, str]:
    branches = ", ".join(f"{name}-{branch}" for branch in ("580", "590"))
    return {"Conflicts": branches, "Replaces": branches}


def ubuntu() -> list[Package]:
    return [package for version in (*VERSIONS, LATER_BRANCH) for package in family(version)]


def spark() -> list[Package]:
    """Tools of the driver's branch, which have versions of their own."""
    return [Package(name, TOOLS, component=COMMON) for name in ("nvidia-modprobe", "nvidia-persistenced")]


def cuda() -> list[Package]:
    """The newest driver of the branch once more, under a higher version; newer branches; a tool of one of them."""
    beside = family(VERSIONS[-1], CUDA, MAIN)
    later = [package for version in UNNUMBERED for package in unnumbered(version)]
    return [*beside, *later, Package("nvidia-modprobe", LATER_TOOL)]
