# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All reasons for which a node wants a reboot, and whether the reboot would cure them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.switchless.spark.plugins.module_utils._boot.look import look
from ansible_collections.switchless.spark.plugins.module_utils._boot.reasons import Wanted, reasons, summary
from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.modules import spark_reboot_info
from tests.unit.boot.boot_world import BAD, DRIVER, LATER_DRIVER, NEW, OLD, Node

ARMED = {"marker": "/etc/nvidia/cx7-hotplug-enabled", "armed": True, "enabled": True}
STAGED = Node(kernels=(BAD, NEW))


def function(verdict: str, *, planned: bool = True, code: str = "throttled") -> dict[str, Any]:
    """One entry of cx7_health."""
    reason = {"code": code, "verdict": verdict, "text": "13.2 Gb/s", "evidence": ["BW average 13.2"], "remedy": ""}
    return {"cage": "p0", "root": "A", "planned": planned, "verdict": verdict, "reasons": [reason]}


def asked(root: Path, node: Node, **arguments: Any) -> dict[str, Any]:
    node.build(root)
    return summary(reasons(look(Tree(str(root)), replace(node, asked=[])), Wanted(**arguments)))


@pytest.mark.parametrize(
    ("node", "arguments", "expected"),
    [
        pytest.param(Node(), {"installed": DRIVER, "pinned_kernel": NEW, "hotplug": ARMED}, [], id="none"),
        pytest.param(Node(), {}, [], id="nothing is asked"),
        pytest.param(
            Node(drivers={NEW: LATER_DRIVER, OLD: DRIVER}),
            {"installed": LATER_DRIVER},
            [("driver_loaded_is_another", True, True)],
            id="an upgrade waits",
        ),
        pytest.param(
            Node(),
            {"installed": LATER_DRIVER},
            [("driver_loaded_is_another", True, False)],
            id="the libraries alone were moved: the reboot cures nothing",
        ),
        pytest.param(
            Node(loaded=None),
            {"installed": DRIVER},
            [("driver_loaded_is_another", True, True)],
            id="not loaded",
        ),
        pytest.param(
            Node(loaded=None, drivers={}),
            {"installed": DRIVER},
            [("driver_loaded_is_another", True, False)],
            id="not loaded and not there",
        ),
        pytest.param(
            Node(modinfo=False),
            {"installed": LATER_DRIVER},
            [("driver_loaded_is_another", True, None)],
            id="nobody says what would be loaded",
        ),
        pytest.param(STAGED, {"pinned_kernel": BAD}, [("kernel_is_another", True, True)], id="the pinned one is next"),
        pytest.param(STAGED, {"pinned_kernel": OLD}, [("kernel_is_another", True, False)], id="another one is next"),
        pytest.param(
            Node(kernels=(NEW, OLD), cfg=None),
            {"pinned_kernel": OLD},
            [("kernel_is_another", True, None)],
            id="nobody says which is next",
        ),
        pytest.param(Node(running=None), {"pinned_kernel": NEW}, [("kernel_is_another", None, True)], id="no uname"),
        pytest.param(STAGED, {}, [], id="a staged kernel that nobody wants is no reason"),
        pytest.param(
            Node(),
            {"health": {"functions": [function("needs_reboot"), function("ok")]}},
            [("throttled", True, True)],
            id="the NIC",
        ),
        pytest.param(
            Node(),
            {"health": {"functions": [function("ok"), function("needs_reboot", planned=False)]}},
            [],
            id="a port outside the plan",
        ),
        pytest.param(
            Node(),
            {"health": {"functions": [function("needs_power_drain"), function("fault")]}},
            [],
            id="a NIC that a reboot does not help",
        ),
        pytest.param(Node(), {"hotplug": ARMED | {"armed": False}}, [("hotplug_changed", True, True)], id="disarmed"),
        pytest.param(Node(), {"hotplug": ARMED | {"enabled": None}}, [], id="a driver that does not say"),
        pytest.param(
            Node(files={"run/reboot-required": "", "run/reboot-required.pkgs": "linux-base\n"}),
            {},
            [("reboot_required", True, True)],
            id="a package asks for it",
        ),
    ],
)
def test_reasons(tmp_path: Path, node: Node, arguments: dict[str, Any], expected: list[tuple[Any, ...]]) -> None:
    found = asked(tmp_path, node, **arguments)["reasons"]
    assert [(want["code"], want["wanted"], want["cured"]) for want in found] == expected
    for want in found:
        assert want["text"] == f"{want['seen']}; expected: {want['expected']}"


def test_all_at_once_in_one_order(tmp_path: Path) -> None:
    node = Node(
        running=OLD,
        loaded=LATER_DRIVER,
        files={"run/reboot-required": "", "run/reboot-required.pkgs": "linux-base\nlibc6\nlibc6\n"},
    )
    found = asked(
        tmp_path,
        node,
        installed=DRIVER,
        pinned_kernel=NEW,
        health={"functions": [function("needs_reboot"), function("needs_reboot")]},
        hotplug=ARMED | {"enabled": False},
    )["reasons"]
    assert [want["text"] for want in found] == [
        f"the module {LATER_DRIVER} is loaded, {NEW} would load {DRIVER}; expected: the installed {DRIVER}",
        f"{OLD} runs, {NEW} boots next; expected: the pinned {NEW}",
        "cage p0, root A: 13.2 Gb/s; expected: a NIC at full speed",
        "hot-plug is off since the boot, and /etc/nvidia/cx7-hotplug-enabled is there; expected: hot-plug on",
        "/run/reboot-required waits for a reboot because of libc6, linux-base; expected: no such file",
    ]
    assert [want["about"] for want in found] == ["driver", "kernel", "nic", "hotplug", "packages"]


@pytest.mark.parametrize(
    ("node", "arguments", "wanted", "causes"),
    [
        pytest.param(Node(), {"installed": DRIVER}, False, [], id="none"),
        pytest.param(
            Node(drivers={NEW: LATER_DRIVER}),
            {"installed": LATER_DRIVER, "pinned_driver": LATER_DRIVER},
            True,
            [f"driver {DRIVER} to {LATER_DRIVER}"],
            id="the pinned driver waits",
        ),
        pytest.param(
            Node(drivers={NEW: LATER_DRIVER}),
            {"installed": LATER_DRIVER, "pinned_driver": DRIVER},
            True,
            [],
            id="an upgrade brought a driver that is not the pinned one: no reboot into it",
        ),
        pytest.param(Node(), {"installed": LATER_DRIVER}, True, [], id="a reboot would not cure it"),
        pytest.param(
            STAGED, {"pinned_kernel": BAD}, True, [f"kernel {NEW} to {BAD}"], id="the pinned kernel boots next"
        ),
        pytest.param(STAGED, {"pinned_kernel": OLD}, True, [], id="another kernel boots next"),
        pytest.param(Node(running=None), {"pinned_kernel": NEW}, None, [], id="nobody says which kernel runs"),
        pytest.param(
            Node(), {"health": {"functions": [function("needs_reboot")]}}, True, ["throttled"], id="the NIC by its code"
        ),
        pytest.param(Node(files={"run/reboot-required": ""}), {}, True, [], id="wanted, and made with the next one"),
        pytest.param(Node(), {"hotplug": ARMED | {"armed": False}}, True, [], id="the marker waits too"),
    ],
)
def test_what_is_acted_on(
    tmp_path: Path, node: Node, arguments: dict[str, Any], wanted: bool | None, causes: list[str]
) -> None:
    found = asked(tmp_path, node, **arguments)
    assert (found["wanted"], found["causes"]) == (wanted, causes)


@pytest.mark.parametrize(
    ("node", "causes"),
    [
        pytest.param(Node(), [], id="none"),
        pytest.param(
            Node(installed=LATER_DRIVER, drivers={NEW: LATER_DRIVER}),
            [f"driver {DRIVER} to {LATER_DRIVER}"],
            id="a driver was installed",
        ),
    ],
)
def test_the_module_asks_dpkg_for_the_installed_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], node: Node, causes: list[str]
) -> None:
    node.build(tmp_path)
    monkeypatch.setattr(spark_reboot_info, "ModuleRunner", lambda _module: node)
    with patch_module_args({"root": str(tmp_path)}), pytest.raises(SystemExit) as end:
        spark_reboot_info.main()
    assert end.value.code == 0
    result = json.loads(capsys.readouterr().out)
    assert result["changed"] is False
    assert (result["reboot"]["installed_driver"], result["reboot"]["causes"]) == (node.installed, causes)
