# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small stand-ins for NVIDIA's packages, in a signed apt repository on each node's own disk."""

from __future__ import annotations

import gzip
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from lab.common import run

HERE = Path(__file__).parent / "nvidia"
TARGET = "var/lib/spark-lab/nvidia-repo"
KEYRING = "usr/share/keyrings/cuda-archive-keyring.gpg"
REVISION = "0ubuntu0.24.04.1"
DRIVERS = ("580.126.09", "580.173.02")
FACTORY_DRIVER = "580.173.02"
TOOLKITS = (("13.0", "13.0.88", "13.0.2-1"), ("13.3", "13.3.33", "13.3.0-1"))  # name, nvcc's version, package version


@dataclass
class Package:
    """One stand-in package. Files are by path: text and mode."""

    name: str
    version: str
    depends: str = ""
    files: dict[str, tuple[str, int]] = field(default_factory=dict)
    scripts: dict[str, str] = field(default_factory=dict)

    @property
    def file_name(self) -> str:
        return f"{self.name}_{self.version}_all.deb"


def driver(version: str) -> list[Package]:
    full = f"{version}-{REVISION}"
    smi = (HERE / "nvidia-smi").read_text().replace("@VERSION@", version)
    return [
        Package("nvidia-utils-580", full, files={"usr/bin/nvidia-smi": (smi, 0o755)}),
        Package("nvidia-driver-580-open", full, depends=f"nvidia-utils-580 (= {full})"),
    ]


def toolkit(name: str, nvcc: str, version: str) -> Package:
    folder = f"usr/local/cuda-{name}"
    priority = name.replace(".", "")
    text = (HERE / "nvcc").read_text().replace("@RELEASE@", name).replace("@VERSION@", nvcc)
    switch = f"update-alternatives --install /usr/local/cuda cuda /{folder} {priority}\n"
    remove = f'[ "$1" = upgrade ] || update-alternatives --remove cuda /{folder}\n'
    return Package(
        f"cuda-toolkit-{name.replace('.', '-')}",
        version,
        files={f"{folder}/bin/nvcc": (text, 0o755)},
        scripts={"postinst": f"#!/bin/sh\nset -e\n{switch}", "prerm": f"#!/bin/sh\nset -e\n{remove}"},
    )


def packages() -> list[Package]:
    found = [package for version in DRIVERS for package in driver(version)]
    return found + [toolkit(*entry) for entry in TOOLKITS]


def preinstalled() -> list[str]:
    """Files of the packages that a Spark has when it is unpacked."""
    return [package.file_name for package in driver(FACTORY_DRIVER)]


def build_package(package: Package, folder: Path, target: Path) -> None:
    control = folder / "DEBIAN"
    control.mkdir(parents=True)
    lines = [f"Package: {package.name}", f"Version: {package.version}", "Architecture: all", "Section: misc"]
    lines += ["Priority: optional", "Maintainer: spark-lab <lab@localhost>"]
    lines += [f"Depends: {package.depends}"] if package.depends else []
    lines += [f"Description: stand-in for {package.name}"]
    (control / "control").write_text("\n".join(lines) + "\n")
    for name, text in package.scripts.items():
        (control / name).write_text(text)
        (control / name).chmod(0o755)
    for name, (text, mode) in package.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
        (folder / name).chmod(mode)
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
    run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", folder, target / package.file_name])


def build(target: Path, keyring: Path) -> None:
    """Make the repository in `target` and the public key that signs it."""
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="spark-lab-") as scratch:
        for package in packages():
            build_package(package, Path(scratch) / package.file_name, target)
        index = run(["apt-ftparchive", "packages", "."], cwd=target).stdout
        (target / "Packages").write_text(index)
        (target / "Packages.gz").write_bytes(gzip.compress(index.encode(), mtime=0))
        origin = ["-o", "APT::FTPArchive::Release::Origin=NVIDIA", "-o", "APT::FTPArchive::Release::Label=NVIDIA CUDA"]
        release = run(["apt-ftparchive", *origin, "release", "."], cwd=target).stdout
        (target / "Release").write_text(release)
        _sign(target, keyring, Path(scratch) / "gpg")


def _sign(target: Path, keyring: Path, home: Path) -> None:
    home.mkdir(mode=0o700)
    gpg = ["gpg", "--homedir", str(home), "--batch", "--quiet", "--no-tty"]
    run([*gpg, "--passphrase", "", "--quick-gen-key", "spark-lab <lab@localhost>", "ed25519", "sign", "never"])
    run([*gpg, "--yes", "--clearsign", "--output", str(target / "InRelease"), str(target / "Release")])
    keyring.parent.mkdir(parents=True, exist_ok=True)
    run([*gpg, "--yes", "--export", "--output", str(keyring)])
    run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=False)
