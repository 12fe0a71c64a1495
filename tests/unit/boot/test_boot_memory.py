# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node remembers of its automatic reboots, and when that forbids another one."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._boot import memory
from ansible_collections.switchless.spark.plugins.module_utils._boot.memory import Plug, Reboot
from ansible_collections.switchless.spark.plugins.modules import reboot_memory

PORTS = [
    {"cage": "p0", "root": root, "cable": 4, "address": "192.168.101.2", "peer": {"host": "3d38", "cage": "p1"}}
    for root in ("A", "B")
]
FUNCTIONS = [
    {
        "cage": cage,
        "root": root,
        "netdev": f"en{cage}{root}",
        "mac": f"02:00:00:00:{cage[1]}0:{root}",
        "mac_permanent": None,
        "lldp": {"port_id": f"02:00:00:00:ff:{root}"},
    }
    for cage in ("p0", "p1")
    for root in ("A", "B")
]
CABLING = memory.cabling(PORTS, FUNCTIONS)
FIRST = Reboot("2026-11-30T14:02:11Z", "boot-1", ("hotplug", "not_advertised"), CABLING, ("3d38",))


def changed(**plug: Any) -> tuple[Plug, ...]:
    return (replace(CABLING[0], **plug), *CABLING[1:])


def test_cabling_is_that_of_the_planned_ports() -> None:
    assert list(CABLING) == [
        Plug("p0", "A", "3d38:p1", "02:00:00:00:00:A", "02:00:00:00:ff:A"),
        Plug("p0", "B", "3d38:p1", "02:00:00:00:00:B", "02:00:00:00:ff:B"),
    ]


@pytest.mark.parametrize(
    ("codes", "plugs", "boot_id", "found"),
    [
        pytest.param(["hotplug", "not_advertised"], CABLING, "boot-2", True, id="the same again"),
        pytest.param(["throttled"], CABLING, "boot-2", True, id="another sign of the same cause"),
        pytest.param(["nic_dropped"], CABLING, "boot-2", False, id="another cause"),
        pytest.param(["nic_dropped", "plugged_late"], CABLING, "boot-2", True, id="another cause as well"),
        pytest.param([], CABLING, "boot-2", False, id="no reason of its own"),
        pytest.param(["hotplug"], CABLING, "boot-1", False, id="still the same boot: it never was rebooted"),
        pytest.param(["hotplug"], changed(peer="c049:p0"), "boot-2", False, id="a cable was moved in the plan"),
        pytest.param(["hotplug"], changed(far="02:00:00:00:ee:A"), "boot-2", False, id="another NIC is at the far end"),
        pytest.param(["hotplug"], changed(mac="02:00:00:00:ee:A"), "boot-2", False, id="another NIC is here"),
        pytest.param(["hotplug"], changed(far=None), "boot-2", True, id="the neighbour was not heard yet"),
        pytest.param(["hotplug"], changed(mac=None, far=None), "boot-2", True, id="the NIC is not on the bus"),
        pytest.param(["hotplug"], CABLING[1:], "boot-2", False, id="a port less"),
    ],
)
def test_whether_it_was_rebooted_for_that(
    codes: list[str], plugs: tuple[Plug, ...], boot_id: str, *, found: bool
) -> None:
    assert (memory.find([FIRST], codes, plugs, boot_id) == FIRST) is found


def test_the_latest_is_given() -> None:
    later = replace(FIRST, boot_id="boot-2", time="2026-11-30T15:00:00Z")
    assert memory.find([FIRST, later], ["hotplug"], CABLING, "boot-3") == later


def test_file_as_it_stands_on_the_disk() -> None:
    assert memory.load(memory.dump([FIRST])) == (FIRST,)
    assert memory.load(None) == ()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"schema": 2, "reboots": []}', '{"schema": 1}', '{"schema": 1, "reboots": [{}]}'],
)
def test_file_that_is_not_understood_is_not_an_empty_one(text: str) -> None:
    with pytest.raises(memory.UnreadableError):
        memory.load(text)


@given(st.lists(st.integers(0, 60), max_size=80))
def test_one_entry_for_each_boot_and_not_too_many(numbers: list[int]) -> None:
    reboots: tuple[Reboot, ...] = ()
    for number in numbers:
        reboots = memory.add(reboots, replace(FIRST, boot_id=f"boot-{number}"))
        assert reboots[-1].boot_id == f"boot-{number}"
    assert len({reboot.boot_id for reboot in reboots}) == len(reboots) <= memory.KEPT


# --- the module ---


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run it in a boot; gives what it returns."""
    path = tmp_path / "switchless" / "cx7" / "reboots.json"

    def run(boot: str, check: bool = False, **arguments: Any) -> Any:
        (tmp_path / "boot_id").write_text(f"{boot}\n", encoding="utf-8")
        monkeypatch.setattr(reboot_memory, "BOOT_ID", str(tmp_path / "boot_id"))
        given = {"codes": ["hotplug"], "ports": PORTS, "functions": FUNCTIONS, "path": str(path)} | arguments
        with patch_module_args(given | {"_ansible_check_mode": check}), pytest.raises(SystemExit):
            reboot_memory.main()
        return json.loads(capsys.readouterr().out)

    run.path = path  # type: ignore[attr-defined]
    return run


def test_life_of_a_node(module: Any) -> None:
    nothing = module("boot-1")
    assert (nothing["changed"], nothing["memory"]["already_rebooted"]) == (False, False)
    assert not module.path.exists()

    foreseen = module("boot-1", check=True, state="remembered")
    assert (foreseen["changed"], module.path.exists()) == (True, False)

    written = module("boot-1", state="remembered", wanted_by=["329f"])
    assert (written["changed"], written["memory"]["already_rebooted"], written["memory"]["count"]) == (True, False, 1)
    assert stat.S_IMODE(module.path.stat().st_mode) == 0o644
    assert [path.name for path in module.path.parent.iterdir()] == ["reboots.json"]
    assert not module("boot-1", state="remembered", wanted_by=["329f"])["changed"]
    assert not module("boot-1")["memory"]["already_rebooted"], "the boot is not over"

    after = module("boot-2")["memory"]
    assert after["already_rebooted"]
    assert (after["previous"]["boot_id"], after["previous"]["wanted_by"]) == ("boot-1", ["329f"])
    refused = module("boot-2", state="remembered")
    assert (refused["changed"], refused["memory"]["already_rebooted"], refused["memory"]["count"]) == (False, True, 1)

    assert module("boot-2", check=True, state="forgotten")["changed"]
    assert module("boot-2")["memory"]["already_rebooted"]
    assert module("boot-2", state="forgotten")["changed"]
    assert not module("boot-2", state="forgotten")["changed"]
    assert not module("boot-2")["memory"]["already_rebooted"]


def test_broken_file_is_named(module: Any) -> None:
    module.path.parent.mkdir(parents=True)
    module.path.write_text("{", encoding="utf-8")
    failed = module("boot-1")
    assert failed["failed"]
    assert str(module.path) in failed["msg"]
    assert "remove it to allow one more automatic reboot" in failed["msg"]
    assert module("boot-1", state="forgotten")["changed"], "which is a way out"


def test_disk_that_cannot_be_written(module: Any) -> None:
    module.path.parent.parent.mkdir()
    module.path.parent.write_text("a file where the folder should be", encoding="utf-8")
    assert module("boot-1", state="remembered")["msg"].startswith("The memory of automatic reboots")
