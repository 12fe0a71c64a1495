# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A signed apt repository in a folder: one with suites and components as Ubuntu's, or a flat one as CUDA's."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from lab.common import run
from lab.repos import package

if TYPE_CHECKING:
    from pathlib import Path

    from lab.repos.package import Package

ARCHITECTURES = ("amd64", "arm64")  # of the machines that a lab may run on; the packages are of none
BUILDERS = 4


@dataclass(frozen=True)
class Repository:
    """`release` are fields of its Release file. Without a suite it is flat."""

    folder: str
    release: dict[str, str]
    packages: tuple[Package, ...]
    components: tuple[str, ...] = field(default=())

    @property
    def suite(self) -> str:
        return self.release.get("Suite", "")


def build(repository: Repository, root: Path, scratch: Path, signer: Signer) -> None:
    """Make the repository in `root`."""
    pools = {name: root / "pool" / name for name in repository.components} or {package.MAIN: root}
    for pool in pools.values():
        pool.mkdir(parents=True, exist_ok=True)
    numbers = count()
    jobs = [(one, scratch / str(next(numbers)), pools[one.component]) for one in repository.packages]
    with ThreadPoolExecutor(BUILDERS) as threads:
        list(threads.map(lambda job: package.build(*job), jobs))
    folder = root / "dists" / repository.suite if repository.suite else root
    for component in repository.components:
        index = run(["apt-ftparchive", "packages", f"pool/{component}"], cwd=root).stdout
        for architecture in ARCHITECTURES:
            _index(folder / component / f"binary-{architecture}", index)
    if not repository.components:
        _index(root, run(["apt-ftparchive", "packages", "."], cwd=root).stdout)
    about = dict(repository.release)
    if repository.components:
        about |= {"Architectures": " ".join(ARCHITECTURES), "Components": " ".join(repository.components)}
    options = [f"--option=APT::FTPArchive::Release::{key}={value}" for key, value in about.items()]
    (folder / "Release").write_text(run(["apt-ftparchive", *options, "release", "."], cwd=folder).stdout)
    signer.sign(folder)


def _index(folder: Path, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Packages").write_text(text)
    (folder / "Packages.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


class Signer:
    """One key, made anew for each image, that signs all repositories."""

    def __init__(self, home: Path) -> None:
        home.mkdir(mode=0o700)
        self.home = home
        self._gpg("--passphrase", "", "--quick-gen-key", "spark-lab <lab@localhost>", "ed25519", "sign", "never")

    def _gpg(self, *arguments: str) -> None:
        run(["gpg", "--homedir", self.home, "--batch", "--quiet", "--no-tty", "--yes", *arguments])

    def sign(self, folder: Path) -> None:
        self._gpg("--clearsign", "--output", str(folder / "InRelease"), str(folder / "Release"))

    def export(self, paths: Iterable[Path]) -> None:
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._gpg("--export", "--output", str(path))

    def close(self) -> None:
        run(["gpgconf", "--homedir", self.home, "--kill", "all"], check=False)
