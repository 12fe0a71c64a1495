# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guests' system: Debian with its stock kernel on a disk image that both boot and none changes.

It is named by what it was made of, built under another name and renamed when complete.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lab.aptsources import SUITE, Mirror, find_mirror, node_sources, read_sources
from lab.common import LabError, command_env, locked, run, say
from lab.rootfs import building, copy_tree, mmdebstrap
from lab.site import STORE, give
from lab.sshkeys import make_key

HERE = Path(__file__).parent
HOME = STORE / "rdma"
PACKAGES = (HERE / "guest-packages").read_text().split()
FORMAT = "1"  # to be changed together with what _fill does
DISK_BYTES = 2 * 1024**3
# Of guest/, what decides about the initrd: there before the kernel is installed, so that it is made once, and small.
EARLY = ("etc/initramfs-tools", "usr/share/initramfs-tools")
CUSTOMISE = ("rm -f /etc/ssh/ssh_host_* && : > /etc/fstab",)


@dataclass(frozen=True)
class Image:
    """What QEMU and ssh need; the guests' host key is made with the image."""

    folder: Path

    @property
    def kernel(self) -> Path:
        return self.folder / "vmlinuz"

    @property
    def initrd(self) -> Path:
        return self.folder / "initrd.img"

    @property
    def disk(self) -> Path:
        return self.folder / "disk.img"

    @property
    def user_key(self) -> Path:
        return self.folder / "id_ed25519"

    @property
    def host_key(self) -> Path:
        return self.folder / "ssh_host_ed25519_key"


def _name(mirror: Mirror) -> str:
    made_of = [FORMAT, SUITE, *PACKAGES, *CUSTOMISE, node_sources(mirror)]
    made_of += [path.read_text() for path in sorted((HERE / "guest").rglob("*")) if path.is_file()]
    return f"guest-{SUITE}-{hashlib.sha256('\0'.join(made_of).encode()).hexdigest()[:8]}"


def find() -> Image | None:
    """The present image if it has been built."""
    folder = HOME / _name(find_mirror(read_sources()))
    return Image(folder) if folder.is_dir() else None


def check() -> None:
    """Raise one LabError that names what the machine lacks."""
    if platform.machine() != "x86_64":
        raise LabError(f"the guests are x86_64 and this machine is {platform.machine()}")
    path = command_env()["PATH"]
    needed = ("mkfs.ext4", "mmdebstrap", "qemu-system-x86_64", "setpriv", "ssh", "ssh-keygen")
    if missing := [name for name in needed if not shutil.which(name, path=path)]:
        packages = " ".join((HERE / "packages").read_text().split())
        raise LabError(f"missing: {', '.join(missing)}; apt-get install -y --no-install-recommends {packages}")


def build() -> Image:
    """Build the image unless it is there. Needs root."""
    mirror = find_mirror(read_sources())
    folder = HOME / _name(mirror)
    with locked(HOME / "image.lock", message="another run is building the guests' image: waiting for it"):
        if not folder.is_dir():
            say(f"building the guests' image: Debian {SUITE} with its kernel; two to five minutes")
            with building(folder) as target:
                target.mkdir()
                _fill(mirror, Image(target))
            _prune(folder)
            say(f"image built: {folder.name}, {sum(path.stat().st_blocks for path in folder.iterdir()) // 2048} MiB")
    return Image(folder)


def _fill(mirror: Mirror, image: Image) -> None:
    root = image.folder / "root"
    try:
        mmdebstrap(mirror, root, PACKAGES, CUSTOMISE, early=[(HERE / "guest" / name, f"/{name}") for name in EARLY])
        say("Debian system built; making its disk")
        copy_tree(HERE / "guest", root)
        make_key(image.user_key, "lab-rdma")
        make_key(image.host_key, "lab-rdma-guest")
        give(image.folder, image.user_key, image.user_key.with_suffix(".pub"))
        _put(image.host_key, root / "etc" / "ssh" / image.host_key.name, 0o600)
        _put(image.user_key.with_suffix(".pub"), root / "root" / ".ssh" / "authorized_keys", 0o600)
        for name, file in (("vmlinuz", image.kernel), ("initrd.img", image.initrd)):
            shutil.copyfile(next((root / "boot").glob(f"{name}-*")), file)
        with image.disk.open("wb") as disk:
            disk.truncate(DISK_BYTES)
        run(["mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-d", root, image.disk])
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _put(source: Path, target: Path, mode: int) -> None:
    target.parent.mkdir(mode=0o700, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)
    os.chown(target, 0, 0)


def _prune(kept: Path) -> None:
    """Remove the images that this one takes the place of."""
    for path in HOME.glob(f"guest-{SUITE}-*"):
        if path != kept and path.is_dir():
            shutil.rmtree(path, ignore_errors=True)


def qemu_version() -> str:
    done = subprocess.run(
        ["qemu-system-x86_64", "--version"], check=False, capture_output=True, text=True, env=command_env()
    )
    return done.stdout.splitlines()[0] if done.stdout else "unknown"
