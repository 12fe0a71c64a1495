# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stand-ins for NVIDIA's and Ubuntu's packages: what they need is there, and what they hold can be read."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._driver.family import MODULES, member
from ansible_collections.switchless.spark.plugins.module_utils._driver.said import parse_smi
from ansible_collections.switchless.spark.plugins.module_utils._driver.version import key
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Result
from lab.repos import catalogue, driver, elf, kernels
from lab.repos.package import Package

ALL = [package for repository in catalogue.repositories() for package in repository.packages]
NEED = re.compile(r"(?P<name>\S+)(?: \((?P<how>[<>=]+) (?P<version>\S+)\))?")
HOLDS = {"=": lambda a, b: a == b, ">=": lambda a, b: a >= b, "<=": lambda a, b: a <= b}


def satisfied(need: str, present: list[Package]) -> bool:
    """One part of a Depends field."""
    for choice in need.split(" | "):
        match = NEED.fullmatch(choice)
        assert match is not None, choice
        for package in present:
            if package.name == match["name"] and (
                match["how"] is None or HOLDS[match["how"]](key(package.version), key(match["version"]))
            ):
                return True
    return False


def lacking(package: Package, present: list[Package]) -> list[str]:
    return [need for need in package.depends.split(", ") if need and not satisfied(need, present)]


def test_every_file_has_its_own_name() -> None:
    assert len({package.file_name for package in ALL}) == len(ALL)


def test_what_is_needed_is_offered() -> None:
    assert {package.file_name: lacking(package, ALL) for package in ALL if lacking(package, ALL)} == {}


def test_the_factory_is_whole() -> None:
    present = catalogue.factory()
    assert [package.name for package in present if lacking(package, present)] == []
    assert set(catalogue.automatic()) < {package.name for package in present}
    assert len(catalogue.files()) == len(present)


@pytest.mark.parametrize("version", driver.VERSIONS)
def test_each_driver_has_modules_for_the_factorys_kernel(version: str) -> None:
    family = driver.family(version)
    fitting = [
        package
        for package in ALL
        if package.name == f"linux-modules-nvidia-580-open-{kernels.FACTORY}"
        and not lacking(package, [*family, *kernels.image(kernels.FACTORY)])
    ]
    assert len(fitting) == 1
    (content, _mode) = fitting[0].files[f"usr/lib/modules/{kernels.FACTORY}/kernel/nvidia-580-open/nvidia.ko"]
    assert isinstance(content, bytes)
    assert f"version={version}".encode() in section(content, ".modinfo").split(b"\0")


def test_the_collection_knows_whose_they_are() -> None:
    strangers = {package.name for package in ALL if member(package.name) is None}
    assert {name for name in strangers if not name.startswith("cuda-")} == {
        *(name for name, *_rest in catalogue.ORDINARY),
        "cuda",
        "nvidia-container-toolkit",
        "nvidia-container-toolkit-base",
    }
    prebuilt = [package.name for package in ALL if (own := member(package.name)) and own.kind == MODULES]
    assert f"linux-modules-nvidia-580-open-{kernels.LATER}" in prebuilt


def section(content: bytes, wanted: str) -> bytes:
    """A section of an ELF file, by the format's own tables."""
    assert content[:6] == b"\x7fELF\x02\x01"
    (table,) = struct.unpack_from("<Q", content, 0x28)
    size, count, strings = struct.unpack_from("<HHH", content, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", content, table + number * size) for number in range(count)]
    names = headers[strings][4]
    for name, _kind, _flags, _address, offset, length in headers:
        if content[names + name :].split(b"\0")[0].decode() == wanted:
            return content[offset : offset + length]
    raise AssertionError(f"no {wanted}")


def test_a_module_is_read_as_elf() -> None:
    content = elf.module({"version": "1.2", "license": "GPL"})
    assert section(content, ".modinfo") == b"version=1.2\0license=GPL\0"


@pytest.mark.parametrize(
    ("loaded", "answer", "status"), [("580.173.02", "gpu", 0), ("580.159.03", "mismatch", 18), (None, "no_driver", 9)]
)
def test_nvidia_smi_is_of_what_is_installed(tmp_path: Path, loaded: str | None, answer: str, status: int) -> None:
    (package,) = (one for one in driver.family("580.173.02") if one.name == "nvidia-utils-580")
    text, _mode = package.files["usr/bin/nvidia-smi"]
    program, module = tmp_path / "nvidia-smi", tmp_path / "version"
    program.write_text(str(text).replace("/sys/module/nvidia/version", str(module)))
    if loaded is not None:
        module.write_text(f"{loaded}\n")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False, env=os.environ)
    smi = parse_smi(Result(done.returncode, done.stdout, done.stderr))
    assert smi is not None
    assert (smi.answer, done.returncode) == (answer, status)
    if answer == "mismatch":
        assert smi.library == "580.173"
