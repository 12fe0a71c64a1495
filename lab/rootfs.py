# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The images: a Debian system built once by mmdebstrap, and over it a factory layer that makes it look like a Spark.

Both are named by what they were made from, built under another name and renamed when complete, and never changed:
a lab goes on with the image that its disks were made from.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lab import mounts
from lab.aptsources import SUITE, Mirror, find_mirror, machine_options, node_sources, read_sources
from lab.common import LabError, command_env, locked, run, say
from lab.repos import catalogue
from lab.site import CACHE, STORE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HERE = Path(__file__).parent
PACKAGES = (HERE / "rootfs-packages").read_text().split()
LISTS_STAY = "--skip=cleanup/apt/lists"
FACTORY_TIME = 1_790_000_000  # September 2026
# in the chroot of the new system, after its packages
CUSTOMISE = (
    "rm -f /etc/ssh/ssh_host_* /etc/machine-id /var/lib/dbus/machine-id /etc/hostname",
    "useradd --create-home --uid 1000 --shell /bin/bash --groups sudo,adm spark",
    "cd /etc/systemd/system/timers.target.wants && rm -f apt-daily* e2scrub_all* fstrim* dpkg-db-backup* man-db*",
    "systemctl --quiet mask systemd-networkd-wait-online.service console-getty.service getty@tty1.service",
    "systemctl --quiet disable unattended-upgrades.service",
    "mkdir -p /var/log/journal",
    "ln -sfn /run/systemd/resolve/stub-resolv.conf /etc/resolv.conf",
    "chmod 755 /",
)  # fmt: skip


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]


def layers() -> list[str]:
    """Names, in STORE, of the present factory layer and its base, built now if they are not there."""
    mirror = find_mirror(read_sources())
    with locked(STORE / "images.lock", message="another lab is building images: waiting for it"):
        base = _base(mirror)
        return [_factory(base), base]


def _base(mirror: Mirror) -> str:
    name = f"rootfs-{SUITE}-{_hash(SUITE, *PACKAGES, *CUSTOMISE, LISTS_STAY, node_sources(mirror))}"
    if not (STORE / name).is_dir():
        say(f"building the nodes' Debian {SUITE} ({len(PACKAGES)} packages and what they need): up to three minutes")
        CACHE.mkdir(parents=True, exist_ok=True)
        with building(STORE / name) as target:
            mmdebstrap(mirror, target, PACKAGES, CUSTOMISE, more=(LISTS_STAY,))
        say("Debian system built")
    return name


@contextmanager
def building(path: Path) -> Iterator[Path]:
    """A folder that gets its name only when it is complete."""
    target = path.with_name(f"{path.name}.new")
    shutil.rmtree(target, ignore_errors=True)
    try:
        yield target
        target.rename(path)
    finally:
        shutil.rmtree(target, ignore_errors=True)


def mmdebstrap(
    mirror: Mirror,
    target: Path,
    packages: Sequence[str],
    customise: Sequence[str],
    *,
    early: Sequence[tuple[Path, str]] = (),
    more: Sequence[str] = (),
) -> None:
    """A Debian system in a folder. `early`: folders copied in before the packages; `customise`: run in its chroot;
    `more`: further options.
    """
    log = target.with_name("mmdebstrap.log")
    options = {**machine_options(), "APT::Install-Recommends": "false", "Acquire::Languages": "none"}
    lines = [f"deb {mirror.archive} {SUITE} main", f"deb {mirror.archive} {SUITE}-updates main"]
    if mirror.security:
        lines.append(f"deb {mirror.security} {SUITE}-security main")
    argv = ["mmdebstrap", "--mode=root", "--variant=minbase", "--components=main", f"--include={','.join(packages)}"]
    argv += more
    argv += [f'--aptopt={key} "{value}"' for key, value in options.items()]
    argv += [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("man", "locale", "doc")]
    argv += ["--dpkgopt=force-unsafe-io"]
    argv += ["--dpkgopt=path-include=/usr/share/doc/*/copyright"]
    for source, goal in early:
        argv.append(f'--essential-hook=mkdir -p "$1"{goal} && cp -R {_quoted(str(source))}/. "$1"{goal}')
    argv += [f'--customize-hook=chroot "$1" sh -c {_quoted(command)}' for command in customise]
    done = run([*argv, SUITE, target, *lines], check=False)
    log.write_text(done.stdout + done.stderr)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if line.startswith("E:")] or done.stderr.splitlines()
        raise LabError(f"mmdebstrap could not build the system, see {log}:\n  " + "\n  ".join(errors[-8:]))
    (target / "etc" / "apt" / "sources.list").write_text(node_sources(mirror))
    settings = "".join(f'{key} "{value}";\n' for key, value in options.items())
    (target / "etc" / "apt" / "apt.conf.d" / "80lab-machine").write_text(settings)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _factory(base: str) -> str:
    sources = [path for name in ("spark", "nvidia", "repos") for path in sorted((HERE / name).rglob("*"))]
    sources.append(Path(__file__))
    contents = [f"{path.relative_to(HERE)}\0{_content(path)}" for path in sources if "__pycache__" not in path.parts]
    name = f"factory-{_hash(base, *contents)}"
    if not (STORE / name).is_dir():
        say("making the factory image: what a Spark has beyond Debian, NVIDIA's packages among it")
        with building(STORE / name) as target:
            work = STORE / "factory.work"
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
            child = os.fork()
            if child == 0:
                _in_child(work, base)
            if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
                raise LabError("the factory image could not be made; the reason stands above")
            (work / "upper").rename(target)
            shutil.rmtree(work)
        _prune()
    return name


def _content(path: Path) -> str:
    if path.is_symlink():
        return str(path.readlink())
    return path.read_text() + str(os.access(path, os.X_OK)) if path.is_file() else ""


def _in_child(work: Path, base: str) -> None:
    """In a private mount namespace: the base with a fresh upper layer, into which everything is installed."""
    status = 1
    try:
        mounts.private_namespace()
        mounts.overlay([f"../{base}"], work)
        fill(work / "merged")
        status = 0
    except (LabError, OSError) as error:
        say(f"error: {error}")
    finally:
        os._exit(status)


def fill(root: Path) -> None:
    """Install the stand-in files and packages into a system."""
    copy_tree(HERE / "spark", root)
    catalogue.build(root)
    chroot = ["chroot", str(root), "env", f"PATH={command_env()['PATH']}"]
    run([*chroot, "dpkg", "--install", *(f"/{name}" for name in catalogue.files())])
    run([*chroot, "apt-mark", "auto", *catalogue.automatic()])
    own = ["--option=Dir::Etc::SourceList=/dev/null", "--option=APT::Get::List-Cleanup=false"]
    run([*chroot, "apt-get", *own, "update"])
    run([*chroot, "apt-cache", "gencaches"])
    # Weeks old, as on a Spark that is unpacked: what wants fresh lists has to ask for them.
    os.utime(root / "var" / "lib" / "apt" / "lists", (FACTORY_TIME, FACTORY_TIME))
    run([*chroot, "systemctl", "--quiet", "enable", "spark-hardware", "spark-kernel-log", "spark-ports"])


def copy_tree(source: Path, target: Path) -> None:
    """Copy files as root's, with the modes of a Debian system, whatever umask and owner the checkout has."""
    for path in sorted(source.rglob("*")):
        if "__pycache__" in path.parts:
            continue
        new = target / path.relative_to(source)
        if path.is_symlink():
            new.unlink(missing_ok=True)
            new.symlink_to(path.readlink())
        elif path.is_dir():
            if not new.is_dir():
                new.mkdir(mode=0o755)
        else:
            shutil.copyfile(path, new)
            private = "sudoers.d" in path.parts or "netplan" in path.parts
            new.chmod(
                (0o440 if "sudoers.d" in path.parts else 0o600)
                if private
                else 0o755
                if os.access(path, os.X_OK)
                else 0o644
            )
            os.chown(new, 0, 0)


def _prune() -> None:
    """Remove images that no lab of this checkout uses, but for the newest two of each kind."""
    used = {name for path in STORE.glob("*/factory") if path.is_file() for name in path.read_text().split()}
    for kind in ("factory-*", f"rootfs-{SUITE}-*"):
        images = sorted((path for path in STORE.glob(kind) if path.is_dir()), key=lambda path: path.stat().st_mtime)
        for path in images[:-2]:
            if path.name not in used:
                shutil.rmtree(path, ignore_errors=True)
