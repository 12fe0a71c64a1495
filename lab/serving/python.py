# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python that the nodes' server runs with: one of this machine's, shown to the nodes at a path of their own.

PyTorch's wheel for CPUs is there for CPython 3.11 only, and the nodes' Debian has a newer one. A node sees the folder
of an interpreter of this machine, read-only, at /opt/python3.11: where it lies on the machine may be a folder that the
server's user cannot enter.
"""

from __future__ import annotations

import json
import os
import platform
import pwd
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lab import mounts
from lab.common import LabError, run
from lab.serving.wheels import UnavailableError
from lab.site import STORE, owner

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

VERSION = "3.11"
NAME = f"python{VERSION}"
MACHINES = ("x86_64",)
IN_NODE = Path("/opt") / NAME
PROGRAM = Path("/usr/local/bin") / NAME
LIBRARIES = Path("usr/lib")
USER = 1000
TRIAL = "/home/spark/trial"
PROBE = (
    "import json, platform, sys; "
    "print(json.dumps([sys.implementation.name, '%d.%d' % sys.version_info[:2], platform.machine(), sys.base_prefix]))"
)
# What the server and pip load, and what the lab's Debian has to bring for the server's own code.
IMPORTS = "bz2, ctypes, hashlib, lzma, multiprocessing, sqlite3, ssl, uuid, venv, zlib"
USE = f"import {IMPORTS}; ctypes.CDLL('libnuma.so.1'); ctypes.CDLL('libgomp.so.1'); ctypes.CDLL('libstdc++.so.6')"


@dataclass(frozen=True)
class Interpreter:
    """A CPython 3.11 of this machine."""

    prefix: Path

    @property
    def program(self) -> Path:
        return self.prefix / "bin" / NAME

    def libraries(self) -> dict[Path, Path]:
        """Links that a node needs, by their path below its root: the program has the machine's path of its library."""
        return {
            LIBRARIES / library.name: IN_NODE / "lib" / library.name
            for library in sorted((self.prefix / "lib").glob(f"lib{NAME}.so*"))
        }


def homes() -> list[Path]:
    """Home folders in which a user may have interpreters: root's, and the one's who called sudo."""
    found = [Path.home()]
    with suppress(KeyError):
        found.append(Path(pwd.getpwuid(owner()[0]).pw_dir))
    return list(dict.fromkeys(found))


def candidates(environ: Mapping[str, str], folders: Sequence[Path]) -> Iterator[Path]:
    """Programs that may be one: in PATH, of pyenv, of uv."""
    for folder in environ.get("PATH", "").split(os.pathsep):
        if folder:
            yield Path(folder) / NAME
    roots = [Path(environ["PYENV_ROOT"])] if environ.get("PYENV_ROOT") else []
    for root in [*roots, *(home / ".pyenv" for home in folders)]:
        yield from sorted((root / "versions").glob(f"{VERSION}.*/bin/{NAME}"), reverse=True)
    for home in folders:
        yield from sorted((home / ".local/share/uv/python").glob(f"cpython-{VERSION}.*/bin/{NAME}"), reverse=True)


def judge(answer: str) -> Interpreter | str:
    """An interpreter by what it said of itself, or why it will not do."""
    try:
        implementation, version, machine, prefix = json.loads(answer)
    except ValueError:
        return "does not run"
    if implementation != "cpython" or version != VERSION:
        return f"is {implementation} {version}"
    if machine not in MACHINES:
        return f"is for {machine}"
    return Interpreter(Path(prefix))


def find(layers: Sequence[str]) -> Interpreter:
    """The first that works in a node with these images."""
    if platform.machine() not in MACHINES:
        raise UnavailableError(
            f"this machine is {platform.machine()}, and the wheels of the lab's server are for {', '.join(MACHINES)}"
        )
    seen: dict[str, str] = {}
    tried: set[Path] = set()
    for program in candidates(os.environ, homes()):
        if not os.access(program, os.X_OK):
            continue
        found = judge(run([program, "-I", "-c", PROBE], check=False).stdout)
        if isinstance(found, str):
            seen[str(program)] = found
        elif found.prefix not in tried:
            tried.add(found.prefix)
            if not (problem := trial(found, layers)):
                return found
            seen[str(found.prefix)] = problem
    words = "; ".join(f"{path} {problem}" for path, problem in seen.items()) or "none"
    raise UnavailableError(
        f"no CPython {VERSION} of this machine works in a node (seen: {words}); the CPU build of PyTorch needs one: "
        f"`pyenv install {VERSION}` brings it"
    )


def trial(interpreter: Interpreter, layers: Sequence[str]) -> str:
    """Use it as a node's server will: as a user, in the node's Debian, to make a virtual environment. Why it fails."""
    work = STORE / "serving.work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    out = work / "problem"
    child = os.fork()
    if child == 0:
        status = 1
        try:
            out.write_text(_in_child(interpreter, layers, work))
            status = 0
        except (LabError, OSError) as error:
            out.write_text(str(error))
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    problem = out.read_text() if out.exists() else f"ended with status {status}"
    shutil.rmtree(work, ignore_errors=True)
    return problem


def _in_child(interpreter: Interpreter, layers: Sequence[str], work: Path) -> str:
    mounts.private_namespace()
    mounts.overlay([f"../{layer}" for layer in layers], work)
    root = work / "merged"
    place(interpreter, work / "merged")
    (root / IN_NODE.relative_to("/")).mkdir(parents=True)
    mounts.mount(str(interpreter.prefix), root / IN_NODE.relative_to("/"), flags=mounts.MS_BIND)
    mounts.mount("/dev", root / "dev", flags=mounts.MS_BIND)
    chroot: list[str | Path] = [
        "chroot",
        f"--userspec={USER}:{USER}",
        root,
        "env",
        "-i",
        "HOME=/home/spark",
        "PATH=/usr/bin:/bin",
    ]
    commands: tuple[list[str | Path], ...] = (
        [PROGRAM, "-I", "-c", USE],
        [PROGRAM, "-I", "-m", "venv", TRIAL],
        [f"{TRIAL}/bin/python", "-I", "-m", "pip", "--version"],
    )
    for argv in commands:
        done = run([*chroot, *argv], check=False)
        if done.returncode:
            said = done.stderr.strip() or done.stdout.strip()
            return f"fails in a node: {said.splitlines()[-1] if said else f'status {done.returncode}'}"
    return ""


def place(interpreter: Interpreter, root: Path) -> None:
    """Put what is needed beside the interpreter's folder into a system, or into a disk's upper layer."""
    for name, target in interpreter.libraries().items():
        link = root / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(target)
    program = root / PROGRAM.relative_to("/")
    program.parent.mkdir(parents=True, exist_ok=True)
    # No link: a virtual environment looks for the library beside the path by which its interpreter was called.
    program.write_text(f'#!/bin/sh\nexec {IN_NODE}/bin/{NAME} "$@"\n')
    program.chmod(0o755)
