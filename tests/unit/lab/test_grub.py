# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which kernel a node's GRUB starts: by the lab's own reading of grub.cfg, which boot_info must share."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._boot import grub as collection
from tests.unit.lab.node_side import SPARK_LIB

OLD, NEW, LATER = "6.17.0-1014-nvidia", "6.17.0-1032-nvidia", "7.0.0-1019-nvidia"
ADVANCED = "Advanced options for DGX OS GNU/Linux"
TITLE = f"DGX OS GNU/Linux, with Linux {NEW}"


@pytest.fixture
def grub(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SPARK_LIB))
    monkeypatch.delitem(sys.modules, "grub", raising=False)
    module = importlib.import_module("grub")
    monkeypatch.delitem(sys.modules, "grub")
    return module


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A node with three kernels."""
    for folder in ("boot/grub", "etc/default/grub.d"):
        (tmp_path / folder).mkdir(parents=True)
    for kernel in (OLD, NEW, LATER):
        (tmp_path / f"boot/vmlinuz-{kernel}").write_text("x")
        (tmp_path / f"boot/initrd.img-{kernel}").write_text("x")
    (tmp_path / "etc/default/grub").write_text('GRUB_DEFAULT=0\nGRUB_DISTRIBUTOR="DGX OS"\n')
    return tmp_path


# GRUB_DEFAULT, what the environment block says, the kernel
CHOICES: tuple[tuple[str, dict[str, str], str], ...] = (
    ("0", {}, LATER),
    ("", {}, LATER),
    ("1>2", {}, NEW),
    (f"{ADVANCED}>{TITLE}", {}, NEW),
    (f"1>{TITLE}", {}, NEW),
    ("gnulinux-advanced-DISK>gnulinux-6.17.0-1014-nvidia-advanced-DISK", {}, OLD),
    ("1", {}, LATER),
    ("1>7", {}, LATER),
    (f"{ADVANCED}>no such title", {}, LATER),
    ("no such title", {}, LATER),
    ("saved", {"saved_entry": "1>4"}, OLD),
    ("saved", {}, LATER),
    ("0", {"saved_entry": "1>4"}, LATER),
    ("0", {"next_entry": f"{ADVANCED}>{TITLE}"}, NEW),
    ("saved", {"saved_entry": "1>4", "next_entry": "1>2"}, NEW),
)


@pytest.mark.parametrize(("default", "environment", "kernel"), CHOICES)
def test_choice(grub: ModuleType, root: Path, default: str, environment: dict[str, str], kernel: str) -> None:
    wanted = default.replace("DISK", grub.DISK)
    (root / "etc/default/grub.d/50-pin.cfg").write_text(f'GRUB_DEFAULT="{wanted}"\n')
    grub.update(root)
    grub.remember(root, environment)
    text, block = ((root / "boot/grub" / name).read_text() for name in ("grub.cfg", "grubenv"))
    assert len(block) == 1024
    chosen = collection.choose(collection.parse(text), collection.parse_environment(block)).entry
    assert chosen is not None
    assert chosen.image == f"vmlinuz-{kernel}"
    assert grub.start(root) == kernel


def test_one_boot_only(grub: ModuleType, root: Path) -> None:
    grub.update(root)
    grub.remember(root, {"saved_entry": "0", "next_entry": "1>4"})
    assert [grub.start(root), grub.start(root)] == [OLD, LATER]
    assert grub.environment(root)["saved_entry"] == "0"


def test_a_kernel_goes(grub: ModuleType, root: Path) -> None:
    grub.update(root)
    (root / f"boot/vmlinuz-{LATER}").unlink()
    assert grub.start(root) == "", "its line is still in the menu"
    grub.update(root)
    assert grub.start(root) == NEW
    assert LATER not in (root / "boot/grub/grub.cfg").read_text()


def test_without_a_menu(grub: ModuleType, tmp_path: Path) -> None:
    assert grub.start(tmp_path) == ""


def test_the_newest_comes_first(grub: ModuleType, root: Path) -> None:
    (root / "boot/vmlinuz-6.8.0-31-generic").write_text("x")
    (root / "boot/vmlinuz-6.17.0-1004-nvidia").write_text("")  # a full disk
    assert grub.kernels(root) == [LATER, NEW, OLD, "6.8.0-31-generic"]
