# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is in the repositories, and what of it a Spark has when it is unpacked."""

from __future__ import annotations

import tempfile
from pathlib import Path

from lab.repos import cuda, driver, kernels, repository
from lab.repos.package import COMMON, MAIN, RESTRICTED, Package
from lab.repos.repository import Repository, Signer

FOLDER = "var/lib/spark-lab/apt"
KEYRINGS = tuple(f"usr/share/keyrings/{name}-archive-keyring.gpg" for name in ("ubuntu", "spark", "cuda"))
# neither NVIDIA's driver nor a kernel: what an upgrade may move (installed, on offer)
ORDINARY = (("ubuntu-pro-client", "34~24.04", "36ubuntu0~24.04", MAIN), ("dgx-dashboard", "0.20.3", "0.21.0", COMMON))


def _ordinary(component: str) -> list[Package]:
    return [
        Package(name, version, component=where)
        for name, *versions, where in ORDINARY
        for version in versions
        if where == component
    ]


def repositories() -> tuple[Repository, ...]:
    """Labels are the real ones, but for that of the spark repository, which no public capture shows."""
    ubuntu = {"Origin": "Ubuntu", "Label": "Ubuntu", "Suite": "noble-updates", "Codename": "noble", "Version": "24.04"}
    spark = {"Origin": "NVIDIA", "Label": "NVIDIA Spark", "Suite": "noble-updates", "Codename": "noble"}
    toolkits = {"Origin": "NVIDIA", "Label": "NVIDIA CUDA"}
    return (
        Repository("ubuntu-ports", ubuntu, (*driver.ubuntu(), *kernels.ubuntu(), *_ordinary(MAIN)), (MAIN, RESTRICTED)),
        Repository("spark", spark, (*driver.spark(), *_ordinary(COMMON)), (COMMON,)),
        Repository("cuda", toolkits, (*driver.cuda(), *cuda.packages())),
    )


def factory() -> list[Package]:
    """What a Spark has when it is unpacked."""
    modules = next(entry for entry in kernels.MODULES if entry[2] == driver.FACTORY)
    old = [Package(name, version, component=where) for name, version, _, where in ORDINARY]
    found = [*driver.family(driver.FACTORY), *driver.spark(), *cuda.container_toolkit(cuda.FACTORY_CONTAINER), *old]
    return [*found, *kernels.image(kernels.FACTORY), *kernels.metapackages(kernels.FACTORY), *kernels.modules(*modules)]


def asked_for() -> set[str]:
    """Names of the factory's packages that are not marked as automatic: the others came as their dependencies."""
    tops = {"nvidia-driver-580-open", f"linux-{kernels.HWE}", f"linux-modules-nvidia-580-open-{kernels.HWE}"}
    tops |= {"nvidia-container-toolkit", *(package.name for package in driver.spark())}
    return tops | {name for name, *_ in ORDINARY}


def automatic() -> list[str]:
    return sorted({package.name for package in factory()} - asked_for())


def files() -> list[str]:
    """The factory's packages as files of the repositories, below the root of a node."""
    found = {
        package.file_name: f"{FOLDER}/{one.folder}/{f'pool/{package.component}/' if one.components else ''}"
        for one in repositories()
        for package in one.packages
    }
    return [found[package.file_name] + package.file_name for package in factory()]


def build(root: Path) -> None:
    """Make the repositories, and the keys that sign them, in a system."""
    with tempfile.TemporaryDirectory(prefix="spark-lab-") as scratch:
        signer = Signer(Path(scratch) / "gpg")
        try:
            for one in repositories():
                repository.build(one, root / FOLDER / one.folder, Path(scratch) / one.folder, signer)
            signer.export(root / name for name in KEYRINGS)
        finally:
            signer.close()
