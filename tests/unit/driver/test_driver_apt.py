# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same verdicts from what apt and dpkg themselves say, of repositories and a system that are a few files."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._driver.judge import judge
from ansible_collections.switchless.spark.plugins.module_utils._driver.look import look
from ansible_collections.switchless.spark.plugins.module_utils._driver.verdicts import Pin
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import C_LOCALE, Result
from tests.unit.boot.boot_world import BAD, NEW
from tests.unit.driver.driver_world import (
    BLACKLIST,
    DRIVER_NAMES,
    FULL,
    GUARDED,
    HEALTHY,
    IMAGE_META,
    KERNEL_NAMES,
    LATER,
    LATER_KERNEL,
    MODULES_META,
    OTHERS,
    TOOL,
    spark,
)

pytestmark = pytest.mark.skipif(shutil.which("apt-get") is None, reason="apt itself is asked")
UBUNTU = {"Origin": "Ubuntu", "Label": "Ubuntu", "Suite": "noble-updates", "Codename": "noble", "Version": "24.04"}
NVIDIA = {"Origin": "NVIDIA", "Label": "NVIDIA CUDA"}
OURS = {"apt-get", "apt-cache", "apt-mark", "apt-config", "dpkg-query"}
STACK = f"Package: {' '.join((*DRIVER_NAMES, TOOL))}\nPin: version 580.*\nPin-Priority: 1001\n"
KERNELS = f"Package: {' '.join(KERNEL_NAMES)}\nPin: version 6.17.0-1032.*\nPin-Priority: 1001\n"
PART = f"Package: nvidia-driver-580-open libnvidia-compute-580\nPin: version {FULL}\nPin-Priority: 1001\n"


def stanza(**fields: str) -> str:
    return "".join(f"{name.replace('_', '-')}: {text}\n" for name, text in fields.items() if text) + "\n"


def depends(name: str, version: str) -> str:
    """What ties the family together, as on a Spark."""
    if version.startswith("590"):
        return ""
    kernel = BAD if version == LATER_KERNEL else NEW
    return {
        "nvidia-driver-580-open": f"libnvidia-compute-580 (= {version}), nvidia-kernel-common-580 (= {version})",
        IMAGE_META: f"linux-image-{kernel}",
        MODULES_META: f"linux-modules-nvidia-580-open-{kernel}",
        "linux-nvidia-hwe-24.04": f"{IMAGE_META} (= {version})",
    }.get(name, "")


def published(name: str, version: str) -> str:
    return stanza(
        Package=name,
        Version=version,
        Architecture="arm64",
        Maintainer="x",
        Depends=depends(name, version),
        Filename=f"./{name}.deb",
        Size="1",
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
        return "".join(f'{name} "{value}";\n' for name, value in said.items())

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def repository(self, name: str, about: Mapping[str, str], packages: Sequence[tuple[str, str]]) -> None:
        index = "".join(published(*package) for package in packages)
        self.write(f"{name}/Packages", index)
        digest = hashlib.sha256(index.encode()).hexdigest()
        head = "".join(f"{key}: {value}\n" for key, value in about.items())
        dated = "Date: Mon, 30 Nov 2026 12:00:00 UTC\nArchitectures: arm64\n"
        self.write(f"{name}/Release", f"{head}{dated}SHA256:\n {digest} {len(index)} Packages\n")

    def build(self) -> None:
        for folder in ("etc/apt/preferences.d", "var/lib/apt/lists/partial", "var/cache/apt/archives/partial"):
            (self.root / folder).mkdir(parents=True)
        later = [(name, LATER) for name in DRIVER_NAMES]
        kernels = [f"linux-image-{BAD}", f"linux-modules-nvidia-580-open-{BAD}", IMAGE_META, MODULES_META]
        newer = [(name, LATER_KERNEL) for name in (*kernels, "linux-nvidia-hwe-24.04")]
        self.repository("ubuntu", UBUNTU, [*HEALTHY.items(), *later, *newer, ("bash", "5.2.21-2ubuntu5")])
        cuda = [(TOOL, "610.43.02-1ubuntu1"), ("nvidia-driver-580-open", "590.48.01-1ubuntu1")]
        self.repository("cuda", NVIDIA, [*cuda, ("nvidia-container-toolkit", "1.18.1-1")])
        lines = [f"deb [trusted=yes arch=arm64] file:{self.root}/{name} ./" for name in ("ubuntu", "cuda")]
        self.write("etc/apt/sources.list", "\n".join(lines) + "\n")
        self.write("etc/apt/preferences.d/pin", self.preferences)
        patterns = "".join(f'"{pattern}"; ' for pattern in BLACKLIST)
        settings = f'APT::Periodic::Unattended-Upgrade "1";\nUnattended-Upgrade::Package-Blacklist {{ {patterns}}};\n'
        self.write("etc/apt/apt.conf.d/50", settings)
        status = ""
        for name, version in (HEALTHY | OTHERS).items():
            want = "hold" if name in set(self.held) else "install"
            state = f"{want} ok {self.states.get(name, 'installed')}"
            needs = depends(name, version)
            about = {"Package": name, "Status": state, "Version": version, "Depends": needs}
            status += stanza(**about, Architecture="arm64", Maintainer="x", Description="x")
        self.write("var/lib/dpkg/status", status)
        marks = (stanza(Package=name, Architecture="arm64", Auto_Installed="1") for name in self.auto)
        self.write("var/lib/apt/extended_states", "".join(marks))
        self.write("apt.conf", self.settings())
        result = self.run(("apt-get", "update"))
        assert result.rc == 0, result.stderr

    def run(self, argv: Sequence[str], *, data: str | None = None) -> Result:
        assert data is None
        name, *rest = argv
        if name not in OURS:
            return spark().run(argv)
        command = [name, f"--admindir={self.root}/var/lib/dpkg", *rest] if name == "dpkg-query" else list(argv)
        environment = os.environ | C_LOCALE | {"APT_CONFIG": str(self.root / "apt.conf")}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        return Result(done.returncode, done.stdout, done.stderr)


def judged(root: Path, **system: Any) -> dict[str, Any]:
    apt = Apt(root / "apt", **system)
    apt.build()
    spark().build(root / "node")
    pin = Pin("580.173.02")
    return judge(look(Tree(str(root / "node")), apt, pin), pin)


def codes(seen: dict[str, Any]) -> list[str]:
    return [reason["code"] for reason in seen["reasons"]]


def test_nothing_holds(tmp_path: Path) -> None:
    """A stock Spark after `apt update`: the kernel, the driver and nvidia-modprobe 610 would all come."""
    seen = judged(tmp_path)
    assert (seen["verdict"], codes(seen)) == ("blocked", ["would_move", "not_held"])
    moved = {move["name"]: move["new"] for move in seen["upgrade"]["moves"]}
    assert moved[TOOL] == "610.43.02-1ubuntu1"
    assert moved["nvidia-driver-580-open"] == "590.48.01-1ubuntu1"
    assert moved[f"linux-image-{BAD}"] == LATER_KERNEL
    assert seen["candidate"] == "590.48.01-1ubuntu1"


def test_all_held(tmp_path: Path) -> None:
    """Nothing pinned moves, and the rest is upgraded all the same."""
    seen = judged(tmp_path, held=GUARDED)
    assert (seen["verdict"], codes(seen)) == ("ok", ["as_pinned", "kept_back"])
    assert (seen["upgrade"]["moves"], seen["upgrade"]["others"]) == ([], 2)
    (driver,) = (row for row in seen["packages"] if row["name"] == "nvidia-driver-580-open")
    assert driver | {"auto": False, "status": "hi", "held": True} == driver
    assert (driver["installed"], driver["candidate"]) == (FULL, "590.48.01-1ubuntu1")
    assert driver["origins"] == ["Ubuntu noble-updates"]
    assert seen["unattended_upgrades"] == {"enabled": True, "patterns": BLACKLIST}


def test_preferences_keep_all(tmp_path: Path) -> None:
    exact = STACK.replace("580.*", FULL).replace(f" {TOOL}\n", "\n")
    tool = f"\nPackage: {TOOL}\nPin: version 580.*\nPin-Priority: 1001\n"
    seen = judged(tmp_path, preferences=f"{exact}{tool}\n{KERNELS}")
    assert (seen["verdict"], codes(seen)) == ("ok", ["as_pinned"])
    assert {row["pinned"] for row in seen["packages"]} == {True}


def test_a_pin_on_a_part_lets_apt_remove_the_driver(tmp_path: Path) -> None:
    """The rest of the family moves on, so apt takes away what must stay behind."""
    seen = judged(tmp_path, preferences=f"{PART}\n{KERNELS}")
    (move,) = (move for move in seen["upgrade"]["moves"] if move["name"] == "nvidia-driver-580-open")
    assert (move["action"], seen["verdict"]) == ("remove", "blocked")


def test_interrupted(tmp_path: Path) -> None:
    seen = judged(tmp_path, held=GUARDED, states={"nvidia-kernel-common-580": "half-configured"})
    assert (seen["verdict"], codes(seen)[0]) == ("blocked", "dpkg_interrupted")
    assert seen["interrupted"] == ["nvidia-kernel-common-580"]


def test_marked_automatic(tmp_path: Path) -> None:
    seen = judged(tmp_path, held=GUARDED, auto=DRIVER_NAMES)
    assert (seen["verdict"], codes(seen)[0]) == ("config", "marked_automatic")


def test_a_repository_is_gone(tmp_path: Path) -> None:
    apt = Apt(tmp_path / "apt", held=GUARDED)
    apt.build()
    apt.write("etc/apt/sources.list", "")
    spark().build(tmp_path / "node")
    pin = Pin("580.173.02")
    seen = judge(look(Tree(str(tmp_path / "node")), apt, pin), pin)
    assert (seen["verdict"], codes(seen)) == ("unknown", ["no_repository"])
