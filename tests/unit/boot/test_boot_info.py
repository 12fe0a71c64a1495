# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a reboot is neutral: what a node shows, through the real module, to the verdict and its reasons."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.switchless.spark.plugins.module_utils._boot.look import natural
from ansible_collections.switchless.spark.plugins.modules import boot_info
from tests.unit.boot.boot_world import (
    ADVANCED,
    BAD,
    DRIVER,
    LATER_DRIVER,
    NEW,
    OLD,
    Node,
    grub_cfg,
    package,
    title,
)

SPARK = Node()
STAGED = Node(kernels=(BAD, NEW, OLD))
CONTAINER = Node(kernels=(), cfg=None, loaded=None, drivers={}, packages="", container="systemd-nspawn")


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(node: Node, **arguments: Any) -> Any:
        node = replace(node, asked=[])
        node.build(tmp_path)
        monkeypatch.setattr(boot_info, "ModuleRunner", lambda _module: node)
        with patch_module_args({"root": str(tmp_path)} | arguments), pytest.raises(SystemExit) as end:
            boot_info.main()
        assert end.value.code == 0
        result = json.loads(capsys.readouterr().out)
        assert result["changed"] is False
        return result["boot"]

    return run


@pytest.mark.parametrize(
    ("node", "pinned", "neutral", "codes"),
    [
        pytest.param(SPARK, None, True, ["same_kernel"], id="a Spark that boots what it runs"),
        pytest.param(SPARK, NEW, True, ["same_kernel"], id="pinned to what runs"),
        pytest.param(SPARK, OLD, False, ["not_pinned"], id="pinned to another one"),
        pytest.param(replace(SPARK, running=OLD), NEW, True, ["to_pinned"], id="moves to the pinned one"),
        pytest.param(STAGED, None, False, ["staged_kernel"], id="an upgrade left another kernel (D3)"),
        pytest.param(STAGED, NEW, False, ["not_pinned"], id="the same with a pin"),
        pytest.param(
            replace(STAGED, default=f"{ADVANCED}>{title(NEW)}"),
            None,
            True,
            ["same_kernel"],
            id="another kernel is installed, and GRUB keeps to the old one",
        ),
        pytest.param(
            replace(STAGED, default="${saved_entry}", environment=f"saved_entry={ADVANCED}>{title(NEW)}\n"),
            None,
            True,
            ["same_kernel"],
            id="the same by a saved entry",
        ),
        pytest.param(
            replace(SPARK, environment="next_entry=1>1\n"), None, False, ["staged_kernel"], id="another one, once"
        ),
        pytest.param(
            replace(SPARK, default=f"{ADVANCED}>{title(BAD)}"),
            None,
            True,
            ["same_kernel", "default_not_found"],
            id="the default is gone, and the first entry is right",
        ),
        pytest.param(
            replace(SPARK, files={f"boot/initrd.img-{NEW}": None}), None, False, ["initrd_missing"], id="no initrd (D4)"
        ),
        pytest.param(
            replace(SPARK, files={f"boot/initrd.img-{NEW}": ""}), None, False, ["initrd_missing"], id="empty initrd"
        ),
        pytest.param(
            replace(SPARK, files={f"boot/vmlinuz-{NEW}": None}), None, False, ["image_missing"], id="no image"
        ),
        pytest.param(
            replace(STAGED, running=BAD, files={f"lib/modules/{BAD}/modules.dep": None}, drivers={}),
            None,
            False,
            ["modules_missing", "driver_missing"],
            id="no modules",
        ),
        pytest.param(
            replace(SPARK, packages=package(NEW, "iF ") + package(OLD, "rc ") + "un \tlinux-image-generic\t\n"),
            None,
            False,
            ["package_unfinished"],
            id="dpkg was interrupted",
        ),
        pytest.param(replace(SPARK, packages=package(NEW, "hi ")), None, True, ["same_kernel"], id="on hold"),
        pytest.param(
            replace(SPARK, drivers={OLD: DRIVER}), None, False, ["driver_missing"], id="no driver for the next kernel"
        ),
        pytest.param(
            replace(SPARK, drivers={NEW: LATER_DRIVER}), None, False, ["staged_driver"], id="another driver is staged"
        ),
        pytest.param(replace(SPARK, modinfo=False), None, True, ["same_kernel"], id="no modinfo, but the file"),
        pytest.param(
            replace(SPARK, modinfo=False, drivers={}), None, False, ["driver_missing"], id="neither modinfo nor a file"
        ),
        pytest.param(
            replace(SPARK, loaded=None, drivers={}), None, True, ["same_kernel"], id="never had an NVIDIA driver"
        ),
        pytest.param(
            replace(SPARK, loaded=None, drivers={NEW: DRIVER}), None, True, ["same_kernel"], id="driver not loaded"
        ),
        pytest.param(
            replace(SPARK, files={"run/reboot-required": "", "run/reboot-required.pkgs": "libc6\nlibc6\ndbus\n"}),
            None,
            True,
            ["same_kernel", "reboot_required"],
            id="packages wait for a reboot",
        ),
        pytest.param(
            replace(SPARK, cfg=None, links={"boot/vmlinuz": f"vmlinuz-{NEW}"}),
            None,
            True,
            ["same_kernel"],
            id="no GRUB, a link",
        ),
        pytest.param(
            replace(SPARK, cfg=None, links={"vmlinuz": f"boot/vmlinuz-{OLD}"}),
            None,
            False,
            ["staged_kernel"],
            id="no GRUB, a link to another one",
        ),
        pytest.param(replace(SPARK, cfg=None, kernels=(NEW,)), None, True, ["same_kernel"], id="the only kernel"),
        pytest.param(replace(SPARK, cfg=None), None, None, ["no_boot_loader"], id="two kernels, no choice"),
        pytest.param(
            replace(SPARK, cfg=None, kernels=(), packages=""), None, None, ["no_boot_loader"], id="nothing on a machine"
        ),
        pytest.param(replace(SPARK, default="2"), None, None, ["entry_without_kernel"], id="the firmware's menu"),
        pytest.param(
            replace(
                SPARK,
                cfg=grub_cfg(NEW).replace(f"/boot/vmlinuz-{NEW}", "/boot/vmlinuz"),
                links={"boot/vmlinuz": f"vmlinuz-{NEW}"},
            ),
            None,
            True,
            ["same_kernel"],
            id="GRUB by way of the link",
        ),
        pytest.param(replace(SPARK, running=None), None, None, ["running_unknown"], id="uname fails"),
        pytest.param(CONTAINER, None, True, ["container"], id="a container without a kernel"),
        pytest.param(
            replace(STAGED, container="systemd-nspawn"),
            None,
            False,
            ["staged_kernel"],
            id="a container with kernels is judged by them",
        ),
    ],
)
def test_verdict(ask: Any, node: Node, pinned: str | None, neutral: bool | None, codes: list[str]) -> None:
    boot = ask(node, **({"pinned_kernel": pinned} if pinned else {}))
    deciding = [reason["code"] for reason in boot["reasons"] if neutral or reason["neutral"] is not True]
    assert (boot["neutral"], deciding) == (neutral, codes)
    for reason in boot["reasons"]:
        assert reason["text"].startswith(reason["seen"])
        assert bool(reason["remedy"]) or reason["neutral"] is not False


@pytest.mark.parametrize(
    ("node", "neutral", "codes"),
    [
        pytest.param(replace(SPARK, loaded=LATER_DRIVER), True, ["same_kernel", "to_pinned_driver"], id="on its way"),
        pytest.param(replace(SPARK, loaded=None), True, ["same_kernel", "to_pinned_driver"], id="not loaded yet"),
        pytest.param(SPARK, True, ["same_kernel"], id="it is loaded"),
        pytest.param(
            replace(SPARK, drivers={NEW: LATER_DRIVER}), False, ["driver_not_pinned"], id="another one is next"
        ),
        pytest.param(
            replace(SPARK, loaded=LATER_DRIVER, drivers={NEW: LATER_DRIVER}),
            False,
            ["driver_not_pinned"],
            id="another one is loaded and stays",
        ),
        pytest.param(replace(SPARK, drivers={}), False, ["driver_missing"], id="none is next"),
    ],
)
def test_pinned_driver(ask: Any, node: Node, neutral: bool, codes: list[str]) -> None:
    boot = ask(node, pinned_driver=DRIVER)
    deciding = [reason["code"] for reason in boot["reasons"] if neutral or reason["neutral"] is not True]
    assert (boot["neutral"], deciding) == (neutral, codes)


def test_words_of_a_staged_kernel(ask: Any) -> None:
    (reason,) = ask(STAGED)["reasons"]
    assert reason["text"] == (
        f"GRUB's entry 'DGX OS GNU/Linux' starts {BAD}, {NEW} runs; expected: the running kernel {NEW}; "
        f"set GRUB_DEFAULT in /etc/default/grub to the entry of {NEW} and run update-grub, or remove the package of "
        f"{BAD}; if {BAD} is wanted, pin it"
    )


def test_words_of_a_container(ask: Any) -> None:
    (reason,) = ask(CONTAINER)["reasons"]
    assert reason["text"] == f"no boot loader in a container (systemd-nspawn): its host's kernel {NEW} goes on"


def test_unreadable_grub_cfg_is_unknown(ask: Any, tmp_path: Path) -> None:
    (tmp_path / "boot/grub/grub.cfg").mkdir(parents=True)  # reading a folder is an error, also for root
    boot = ask(replace(SPARK, cfg=None))
    assert (boot["neutral"], [reason["code"] for reason in boot["reasons"]]) == (None, ["loader_unreadable"])


def test_what_it_returns(ask: Any) -> None:
    node = replace(STAGED, files={"etc/default/grub.d/50-dgx.cfg": 'GRUB_DEFAULT="1>1"\n'})
    boot = ask(node)
    assert [(k["version"], k["image"], k["initrd"], k["modules"]) for k in boot["kernels"]] == [
        (OLD, True, True, True),
        (NEW, True, True, True),
        (BAD, True, True, True),
    ]
    assert [(p["kernel"], p["configured"]) for p in boot["packages"]] == [(OLD, True), (NEW, True), (BAD, True)]
    assert boot["loader"]["configured_default"] == "1>1"
    assert (boot["running_kernel"], boot["next_kernel"], boot["next_source"]) == (NEW, BAD, "grub")
    assert boot["driver_now"] == boot["driver_next"] == {"present": True, "version": DRIVER}


def test_versions_sort_by_number() -> None:
    versions = [BAD, NEW, OLD, "6.8.0-51-generic", "6.17.0-1004-nvidia"]
    assert sorted(versions, key=natural) == ["6.8.0-51-generic", "6.17.0-1004-nvidia", OLD, NEW, BAD]
