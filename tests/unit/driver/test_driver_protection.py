# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the preference and the blacklist cover: all of the family, and nothing that has to come from the same place."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._driver import kept, protection, stanzas
from ansible_collections.switchless.spark.plugins.module_utils._driver.family import KERNEL, MODULES, member
from ansible_collections.switchless.spark.plugins.module_utils._driver.kept import Kept
from ansible_collections.switchless.spark.plugins.module_utils._driver.protection import Marks
from ansible_collections.switchless.spark.plugins.module_utils._driver.unattended import Unattended, parse
from tests.unit.driver.apt_world import fits
from tests.unit.driver.driver_world import GUARDED

FREE = (
    "nvidia-container-toolkit",
    "nvidia-container-toolkit-base",
    "libnvidia-container1",
    "libnvidia-container-tools",
    "libnccl2",
    "libnccl-dev",
    "cuda-toolkit-13-0",
    "cuda-toolkit-13-3",
    "cuda-compat-13-3",
    "cuda-cudart-13-3",
    "nvidia-gds",
    "libcudnn9-cuda-13",
    "nvidia-spark-mlnx-firmware-manager",
    "linux-firmware",
    "linux-libc-dev",
    "linux-base",
    "linux-tools-common",
    "bash",
)
OF_THE_FAMILY = (
    *GUARDED,
    "nvidia-driver-590-open",
    "nvidia-driver-open",
    "nvidia-driver",
    "nvidia-open",
    "nvidia-open-610",
    "cuda-drivers",
    "cuda-drivers-590",
    "nvidia-persistenced",
    "nvidia-settings",
    "nvidia-firmware-580-580.173.02",
    "nvidia-headless-no-dkms-580-open",
    "libnvidia-compute",
    "libnvidia-cfg1-580",
    "libnvidia-gpucomp-580",
    "xserver-xorg-video-nvidia-580",
    "linux-headers-nvidia-hwe-24.04",
    "linux-tools-nvidia-hwe-24.04",
    "linux-modules-nvidia-fs-nvidia-hwe-24.04",
    "linux-modules-extra-6.17.0-1032-nvidia",
    "linux-image-unsigned-7.0.0-1019-nvidia",
    "linux-image-generic",
    "linux-generic-hwe-24.04",
    "linux-objects-nvidia-580-open-6.17.0-1032-nvidia",
)


def blacklist() -> Unattended:
    """As apt-config shows the file."""
    lines = [
        line.strip().removesuffix(";") for line in protection.SETTINGS_TEXT.splitlines() if line.startswith("    ")
    ]
    return parse("".join(f"Unattended-Upgrade::Package-Blacklist:: {line};\n" for line in lines))


@pytest.mark.parametrize("name", OF_THE_FAMILY)
def test_the_family_is_covered(name: str) -> None:
    own = member(name)
    assert own is not None
    assert blacklist().covers(name)
    kept_out = any(fnmatchcase(name, glob) for glob in protection.KEPT_OUT)
    assert kept_out is (own.kind not in (KERNEL, MODULES))


@pytest.mark.parametrize("name", FREE)
def test_the_rest_is_free(name: str) -> None:
    assert member(name) is None
    assert not blacklist().covers(name)
    assert not any(fnmatchcase(name, glob) for glob in protection.KEPT_OUT)


BEGINNINGS = ("nvidia", "libnvidia", "linux", "cuda", "xserver-xorg-video-nvidia")
WORDS = (
    "driver",
    "open",
    "kernel",
    "common",
    "source",
    "utils",
    "compute",
    "image",
    "modules",
    "headers",
    "tools",
    "dkms",
)
MORE = (
    "580",
    "590",
    "server",
    "no",
    "firmware",
    "modprobe",
    "drivers",
    "6.17.0",
    "1032",
    "hwe",
    "24.04",
    "generic",
    "nvidia",
)
PARTS = st.tuples(st.sampled_from(BEGINNINGS), st.lists(st.sampled_from(WORDS + MORE), max_size=6))


@given(PARTS)
def test_every_name_of_the_family_is_covered(parts: tuple[str, list[str]]) -> None:
    name = "-".join((parts[0], *parts[1]))
    own = member(name)
    if own is not None:
        assert blacklist().covers(name)
        assert own.kind in (KERNEL, MODULES) or any(fnmatchcase(name, glob) for glob in protection.KEPT_OUT)


def test_memory() -> None:
    memory = Kept().plus(Marks(("a",), ("b",))).plus(Marks(("c",), ()))
    assert kept.load(kept.dump(memory)) == Kept(frozenset({"a", "c"}), frozenset({"b"}))
    assert kept.load(None) == Kept()


@pytest.mark.parametrize("text", ["", "{}", "[]", "no", json.dumps({"schema": 2, "held": [], "marked": []})])
def test_a_memory_that_is_none(text: str) -> None:
    with pytest.raises(kept.UnreadableError):
        kept.load(text)


@pytest.mark.parametrize(
    ("depends", "driver"),
    [
        (f"linux-image-x, {fits('580.178.04')}", "580.178.04"),
        ("nvidia-kernel-common-580 (>= 580.142)", "580.142"),  # P24
        ("nvidia-kernel-common-580-server (>= 580.173.02)", "580.173.02"),
        ("nvidia-kernel-common-580", None),
        ("", None),
    ],
)
def test_for_which_driver_a_build_is(depends: str, driver: str | None) -> None:
    text = f"Package: x\nVersion: 1\nInstalled-Size: 3\nSize: 7\nDepends: {depends}\nDescription: y\n Depends: z\n"
    (one,) = stanzas.parse(text + "\n" + text.replace("Size: 7\n", ""))
    assert (one.driver, one.download, one.installed) == (driver, 7, 3 * 1024)
