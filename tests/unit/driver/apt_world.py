# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Repositories and a system that are a few files, of which apt and dpkg themselves are asked.

Only an installation is not theirs: what apt simulates for it is written into dpkg's list.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ansible_collections.switchless.spark.plugins.module_utils._driver import simulate
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import C_LOCALE, COMMAND_NOT_FOUND, Result
from tests.unit.boot.boot_world import BAD, DRIVER, LATER_DRIVER, NEW
from tests.unit.driver.driver_world import (
    BLACKLIST,
    DRIVER_NAMES,
    HEALTHY,
    IMAGE_META,
    KERNEL,
    LATER,
    LATER_KERNEL,
    MODULES,
    MODULES_META,
    OTHERS,
    TOOL,
    Spark,
)

UBUNTU = {"Origin": "Ubuntu", "Label": "Ubuntu", "Suite": "noble-updates", "Codename": "noble", "Version": "24.04"}
NVIDIA = {"Origin": "NVIDIA", "Label": "NVIDIA CUDA"}
OURS = {"apt-get", "apt-cache", "apt-mark", "apt-config", "dpkg-query"}
LATER_BUILD = f"{KERNEL}+1"  # P18: the same kernel's modules for the later driver
PPA_BUILD = f"{KERNEL}+1000"  # P25: modules that ask for no driver
CLOSED_MODULES = MODULES.replace("-open", "")
NEWER_MODULES = f"linux-modules-nvidia-580-open-{BAD}"
GIB = 1024**3


def stanza(**fields: str) -> str:
    return "".join(f"{name.replace('_', '-')}: {text}\n" for name, text in fields.items() if text) + "\n"


def fits(version: str) -> str:
    """How the modules of a kernel ask for the libraries of their driver."""
    return f"nvidia-kernel-common-580 (<= {version}-1), nvidia-kernel-common-580 (>= {version})"


def depends(name: str, version: str) -> str:
    """What ties the family together, as on a Spark."""
    if version.startswith("590") or (version == PPA_BUILD and name == MODULES):
        return ""
    if name.startswith("linux-modules-nvidia-590-"):
        return "nvidia-kernel-common-590 (>= 590.48.01)"
    kernel = BAD if version == LATER_KERNEL else NEW
    return {
        "nvidia-driver-580-open": f"libnvidia-compute-580 (= {version}), nvidia-kernel-common-580 (= {version})",
        IMAGE_META: f"linux-image-{kernel}",
        MODULES: fits(LATER_DRIVER if version == LATER_BUILD else DRIVER),
        NEWER_MODULES: fits(LATER_DRIVER),
        MODULES_META: f"linux-modules-nvidia-580-open-{kernel} (= {version})",
        "linux-nvidia-hwe-24.04": f"{IMAGE_META} (= {version})",
    }.get(name, "")


def virtual(name: str) -> str:
    """Branches of the driver exclude each other by names that all of them provide."""
    return re.sub(r"-5[89]0|-open", "", name) if re.match(r"(lib)?nvidia-.*-5[89]0", name) else ""


def published(name: str, version: str) -> str:
    return stanza(
        Package=name,
        Version=version,
        Architecture="arm64",
        Maintainer="x",
        Installed_Size="4096",
        Depends=depends(name, version),
        Provides=virtual(name),
        Conflicts=virtual(name),
        Filename=f"./{name}.deb",
        Size="1048576",
        SHA256=hashlib.sha256(name.encode()).hexdigest(),
        Description="x",
    )


@dataclass
class Apt:
    """A system below a folder."""

    root: Path
    held: Iterable[str] = ()
    auto: Iterable[str] = ()
    preferences: str = ""
    states: Mapping[str, str] = field(default_factory=dict)
    blacklist: Sequence[str] = BLACKLIST
    installed: Mapping[str, str] = field(default_factory=lambda: HEALTHY | OTHERS)
    lacking: Sequence[tuple[str, str]] = ()  # what no repository has
    more: Sequence[tuple[str, str]] = ()  # what Ubuntu's has besides
    node: Spark = field(default_factory=Spark)
    free: int = 100 * GIB
    fails: Result | None = None  # what apt-get install answers instead of installing
    asked: list[tuple[str, ...]] = field(default_factory=list)

    def settings(self) -> str:
        """Read before all other settings, so that nothing of the machine that tests is seen."""
        said = {
            "Dir": self.root,
            "Dir::Etc": self.root / "etc/apt",
            "Dir::State::status": self.root / "var/lib/dpkg/status",
            "APT::Architecture": "arm64",
            "APT::Architectures": "arm64",
            "APT::Sandbox::User": "",
            "APT::Machine-ID": "7d9f6b0e2f0b4f2c9a2f3a1a7f0f4b11",
        }
        options = "".join(
            f'DPkg::Options:: "{option}";\n'
            for option in (f"--admindir={self.root}/var/lib/dpkg", "--force-not-root", f"--log={self.root}/dpkg.log")
        )
        return "".join(f'{name} "{value}";\n' for name, value in said.items()) + options

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def repository(self, name: str, about: Mapping[str, str], packages: Sequence[tuple[str, str]]) -> None:
        index = "".join(published(*package) for package in packages if package not in self.lacking)
        self.write(f"{name}/Packages", index)
        digest = hashlib.sha256(index.encode()).hexdigest()
        head = "".join(f"{key}: {value}\n" for key, value in about.items())
        dated = "Date: Mon, 30 Nov 2026 12:00:00 UTC\nArchitectures: arm64\n"
        self.write(f"{name}/Release", f"{head}{dated}SHA256:\n {digest} {len(index)} Packages\n")

    def build(self) -> None:
        lists, archives = "var/lib/apt/lists/partial", "var/cache/apt/archives/partial"
        for folder in ("etc/apt/preferences.d", lists, archives, "usr", "boot"):
            (self.root / folder).mkdir(parents=True, exist_ok=True)
        self.node.build(self.root)
        later = [(name, LATER) for name in DRIVER_NAMES]
        kernels = [f"linux-image-{BAD}", f"linux-modules-nvidia-580-open-{BAD}", IMAGE_META, MODULES_META]
        newer = [(name, LATER_KERNEL) for name in (*kernels, "linux-nvidia-hwe-24.04")]
        builds = [(MODULES, LATER_BUILD), (MODULES_META, LATER_BUILD), ("bash", "5.2.21-2ubuntu5")]
        self.repository("ubuntu", UBUNTU, [*HEALTHY.items(), *later, *newer, *builds, *self.more])
        cuda = [(TOOL, "610.43.02-1ubuntu1"), ("nvidia-driver-580-open", "590.48.01-1ubuntu1")]
        self.repository("cuda", NVIDIA, [*cuda, ("nvidia-container-toolkit", "1.18.1-1")])
        lines = [f"deb [trusted=yes arch=arm64] file:{self.root}/{name} ./" for name in ("ubuntu", "cuda")]
        self.write("etc/apt/sources.list", "\n".join(lines) + "\n")
        self.write("etc/apt/preferences.d/pin", self.preferences)
        patterns = "".join(f'"{pattern}"; ' for pattern in self.blacklist)
        settings = f'APT::Periodic::Unattended-Upgrade "1";\nUnattended-Upgrade::Package-Blacklist {{ {patterns}}};\n'
        self.write("etc/apt/apt.conf.d/50", settings)
        status = ""
        for name, version in self.installed.items():
            want = "hold" if name in set(self.held) else "install"
            state = f"{want} ok {self.states.get(name, 'installed')}"
            needs = depends(name, version)
            about = {"Package": name, "Status": state, "Version": version, "Depends": needs}
            about |= {"Installed-Size": "4096", "Provides": virtual(name), "Conflicts": virtual(name)}
            status += stanza(**about, Architecture="arm64", Maintainer="x", Description="x")
        self.write("var/lib/dpkg/status", status)
        marks = (stanza(Package=name, Architecture="arm64", Auto_Installed="1") for name in self.auto)
        self.write("var/lib/apt/extended_states", "".join(marks))
        self.write("apt.conf", self.settings())
        result = self.run(("apt-get", "update"))
        assert result.rc == 0, result.stderr

    def real(self, argv: Sequence[str]) -> Result:
        environment = os.environ | C_LOCALE | {"APT_CONFIG": str(self.root / "apt.conf")}
        done = subprocess.run(argv, capture_output=True, text=True, check=False, env=environment)
        return Result(done.returncode, done.stdout, done.stderr)

    def status(self) -> dict[str, dict[str, str]]:
        """dpkg's list."""
        text = (self.root / "var/lib/dpkg/status").read_text()
        rows = [dict(line.split(": ", 1) for line in part.splitlines()) for part in text.split("\n\n") if part.strip()]
        return {row["Package"]: row for row in rows}

    def install(self, argv: Sequence[str]) -> Result:
        """Do as apt says that it would. The packages are then wanted, no longer held."""
        done = self.real([*argv, "-s"])
        rows = self.status()
        for move in simulate.parse(done).moves:
            if move.new is None:
                del rows[move.name]
                continue
            about = {"Package": move.name, "Status": "install ok installed", "Version": move.new}
            about["Installed-Size"] = "4096"
            rows[move.name] = about | {"Architecture": "arm64", "Maintainer": "x", "Description": "x"}
            also = {"Depends": depends(move.name, move.new), "Provides": virtual(move.name)}
            also["Conflicts"] = also["Provides"]
            rows[move.name] |= {key: text for key, text in also.items() if text}
        text = "\n".join("".join(f"{key}: {value}\n" for key, value in row.items()) for row in rows.values())
        self.write("var/lib/dpkg/status", text)
        return done

    def run(self, argv: Sequence[str], *, data: str | None = None) -> Result:
        assert data is None
        self.asked.append(tuple(argv))
        match argv:
            case ["env", *rest]:
                command = [word for word in rest if not re.fullmatch(r"[A-Z_]+=\S+", word)]
                return self.install(command) if self.fails is None else self.fails
            case ["dpkg-query", *rest]:
                return self.real(["dpkg-query", f"--admindir={self.root}/var/lib/dpkg", *rest])
            case ["df", _, _, *paths]:
                return Result(0, "Avail Mounted on\n" + "".join(f"{self.free} /\n" for _path in paths))
            case ["nvidia-ctk", *_]:
                return Result(COMMAND_NOT_FOUND)
            case [name, *_] if name in OURS:
                return self.real(argv)
        rows = self.status()
        build = rows.get(MODULES, {}).get("Version")
        drivers = {NEW: LATER_DRIVER if build == LATER_BUILD else DRIVER}
        boot = replace(self.node.boot, drivers=dict(self.node.boot.drivers) | drivers)
        modules = {("license", "nvidia"): "NVIDIA"} if CLOSED_MODULES in rows else {}
        return replace(self.node, boot=boot, modules=modules).run(argv)
