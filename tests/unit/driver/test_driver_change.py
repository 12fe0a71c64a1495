# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nvidia_driver as Ansible runs it, on a node whose apt and dpkg are real."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.switchless.spark.plugins.module_utils._driver import protection
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Result
from ansible_collections.switchless.spark.plugins.modules import nvidia_driver
from tests.unit.boot.boot_world import BAD, DRIVER, LATER_DRIVER, NEW, OLD
from tests.unit.driver.apt_world import CLOSED_MODULES, LATER_BUILD, PPA_BUILD, Apt
from tests.unit.driver.driver_cases import FLAVOUR
from tests.unit.driver.driver_world import (
    DRIVER_NAMES,
    FULL,
    GUARDED,
    HEALTHY,
    KERNEL,
    LATER,
    MODULES,
    MODULES_META,
    OTHERS,
    PROPRIETARY,
    TOOL,
    Spark,
    boot,
    nvrm,
    smi,
    spark,
)

pytestmark = pytest.mark.skipif(shutil.which("apt-get") is None, reason="apt itself is asked")
Run = Callable[..., Any]
PREFERENCES, SETTINGS = ("/".join(path) for path in (protection.PREFERENCES, protection.SETTINGS))
MEMORY = "var/lib/switchless/nvidia_driver.json"
NEW_FAMILY = {"version": LATER_DRIVER, "allow_change": True}
LATER_LOADED = spark(proc=nvrm(LATER_DRIVER), smi=Result(0, smi(LATER_DRIVER)), boot=boot(loaded=LATER_DRIVER))
WITH_590 = {
    name.replace("-580", "-590"): "590.48.01-0ubuntu0.24.04.1" if name in DRIVER_NAMES else version
    for name, version in (HEALTHY | OTHERS).items()
}
CDI = "containerEdits:\n  mounts:\n  - hostPath: /usr/lib/aarch64-linux-gnu/libcuda.so.{}\n  - libnvidia-egl.so.1.1.2\n"


@pytest.fixture
def converge(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the module on a node; gives the error's text when it fails."""

    def run(apt: Apt, **arguments: Any) -> Any:
        monkeypatch.setattr(nvidia_driver, "ModuleRunner", lambda _module: apt)
        monkeypatch.setattr(nvidia_driver, "ROOT", str(apt.root))
        warned: list[str] = []  # Ansible itself says each only once in a process
        monkeypatch.setattr(nvidia_driver.AnsibleModule, "warn", lambda _module, text: warned.append(text))
        with patch_module_args(arguments), pytest.raises(SystemExit) as end:
            nvidia_driver.main()
        result = json.loads(capsys.readouterr().out)
        return result["msg"] if end.value.code else result | {"warnings": warned}

    return run


def node(root: Path, **about: Any) -> Apt:
    apt = Apt(root, **({"blacklist": ()} | about))
    apt.build()
    return apt


def marks(apt: Apt, what: str) -> set[str]:
    return set(apt.real(("apt-mark", what)).stdout.split())


def files(apt: Apt) -> dict[str, str]:
    """All that a run could have changed on the disk."""
    folders = ("etc", "var/lib/switchless", "var/lib/dpkg")
    found = [path for folder in folders for path in (apt.root / folder).rglob("*") if path.is_file()]
    kept = [path for path in found if "lock" not in path.name and not path.name.endswith("-old")]
    return {str(path.relative_to(apt.root)): path.read_text() for path in kept} | {
        "extended_states": (apt.root / "var/lib/apt/extended_states").read_text()
    }


def changing(apt: Apt) -> list[str]:
    """Commands that change something."""
    verbs = ("hold", "unhold", "manual", "auto")
    return [" ".join(argv) for argv in apt.asked if argv[0] in ("env", "nvidia-ctk") or set(argv[1:2]) & set(verbs)]


def moves(result: Any) -> list[str]:
    return [move["text"] for move in result["driver"]["upgrade"]["moves"]]


def rebooted(apt: Apt, after: Spark) -> Apt:
    after.build(apt.root)
    return replace(apt, node=after)


# ---- protections


def test_a_fresh_node_is_protected(tmp_path: Path, converge: Run) -> None:
    apt = node(tmp_path, auto=("nvidia-utils-580", "bash"))
    result = converge(apt)
    assert result["changed"] is True
    assert (result["driver"]["verdict"], moves(result), result["reboot_wanted"]) == ("ok", [], False)
    assert result["driver"]["upgrade"]["others"] == 2  # bash and the container toolkit are upgraded all the same
    assert marks(apt, "showhold") == set(GUARDED)
    assert marks(apt, "showauto") == {"bash"}
    patterns = result["driver"]["unattended_upgrades"]["patterns"]
    assert tuple(patterns) == protection.BLACKLIST
    assert result["driver"]["candidate"] == LATER  # 590 of the CUDA repository is kept out
    again = converge(apt)
    assert (again["changed"], again["actions"], again["diff"]) == (False, [], [])


def test_the_cuda_repository_stays_out_without_holds(tmp_path: Path, converge: Run) -> None:
    """And gives the container toolkit all the same."""
    apt = node(tmp_path)
    converge(apt)
    apt.real(("apt-mark", "unhold", *GUARDED))
    said = apt.real(("apt-get", "-s", "dist-upgrade")).stdout
    assert "NVIDIA CUDA" in said
    assert [line.split()[1] for line in said.splitlines() if line.startswith("Inst") and "CUDA" in line] == [
        "nvidia-container-toolkit"
    ]


def test_check_mode_says_it_and_changes_nothing(tmp_path: Path, converge: Run) -> None:
    apt = node(tmp_path, auto=DRIVER_NAMES)
    before = files(apt)
    foreseen = converge(apt, _ansible_check_mode=True)
    assert files(apt) == before
    assert changing(apt) == []
    assert foreseen["changed"] is True
    done = converge(apt)
    assert done["actions"] == foreseen["actions"]
    assert done["diff"] == foreseen["diff"]


def test_a_hold_on_a_part_is_made_whole(tmp_path: Path, converge: Run) -> None:
    apt = node(tmp_path, held=("nvidia-driver-580-open", "libnvidia-compute-580"))
    result = converge(apt)
    assert (result["driver"]["verdict"], moves(result)) == ("ok", [])
    assert marks(apt, "showhold") == set(GUARDED)


def test_holds_taken_off_by_hand_are_set_again(tmp_path: Path, converge: Run) -> None:
    apt = node(tmp_path)
    converge(apt)
    apt.real(("apt-mark", "unhold", TOOL, MODULES))
    result = converge(apt)
    assert result["actions"] == [f"hold {MODULES} {TOOL}"]
    assert (result["driver"]["verdict"], marks(apt, "showhold")) == ("ok", set(GUARDED))


def test_an_old_kernel_that_would_move_is_held_too(tmp_path: Path, converge: Run) -> None:
    """It is not what boots, and an upgrade that moves a kernel is none that was proven."""
    old = f"linux-image-{OLD}"
    apt = node(tmp_path, installed=HEALTHY | OTHERS | {old: "6.17.0-1014.14"}, more=[(old, "6.17.0-1014.15")])
    result = converge(apt)
    assert (result["driver"]["verdict"], moves(result)) == ("ok", [])
    assert marks(apt, "showhold") == {*GUARDED, old}


def test_absent_gives_back_what_was_taken(tmp_path: Path, converge: Run) -> None:
    users = ("nvidia-driver-580-open", "bash")
    apt = node(tmp_path, held=users, auto=("nvidia-utils-580",))
    before = files(apt)
    converge(apt)
    assert json.loads((tmp_path / MEMORY).read_text())["marked"] == ["nvidia-utils-580"]
    foreseen = converge(apt, state="absent", _ansible_check_mode=True)
    assert marks(apt, "showhold") == {*GUARDED, *users}
    result = converge(apt, state="absent")
    assert (result["changed"], result["actions"]) == (True, foreseen["actions"])
    assert marks(apt, "showhold") == set(users)
    assert marks(apt, "showauto") == {"nvidia-utils-580"}
    added = set(files(apt)) - set(before)
    assert {name for name in added if not name.startswith("var/lib/dpkg/")} == set()
    assert converge(apt, state="absent")["changed"] is False


def test_absent_where_nothing_was_done(tmp_path: Path, converge: Run) -> None:
    apt = node(tmp_path, held=GUARDED)
    assert converge(apt, state="absent")["changed"] is False
    assert marks(apt, "showhold") == set(GUARDED)


def test_a_file_that_somebody_changed_is_kept(tmp_path: Path, converge: Run) -> None:
    apt = node(tmp_path)
    converge(apt)
    (tmp_path / PREFERENCES).write_text("Package: *\nPin: origin mine\nPin-Priority: 1\n")
    result = converge(apt)
    assert len(result["actions"]) == 2
    assert (tmp_path / PREFERENCES).read_text() == protection.PREFERENCES_TEXT
    (copy,) = (tmp_path / "var/lib/switchless/backup").rglob("switchless-nvidia-driver")
    assert "origin mine" in copy.read_text()


def test_a_memory_that_cannot_be_read(tmp_path: Path, converge: Run) -> None:
    apt = node(tmp_path)
    apt.write(MEMORY, "?")
    for state in ("present", "absent"):
        assert "Which holds are the user's is therefore not known" in converge(apt, state=state)
    assert changing(apt) == []


# ---- refusals


@pytest.mark.parametrize(
    ("about", "arguments", "words"),
    [
        pytest.param(
            {"states": {"nvidia-kernel-common-580": "half-configured"}},
            NEW_FAMILY,
            "dpkg was interrupted at nvidia-kernel-common-580",
            id="dpkg interrupted",
        ),
        pytest.param({"installed": WITH_590}, {}, "another branch of the driver is installed, 590.48.01", id="590"),
        pytest.param({"node": spark(proc=nvrm("590.48.01"))}, {}, "the module 590.48.01 is loaded, the", id="loaded"),
        pytest.param({}, {"version": LATER_DRIVER}, "changed only with allow_change", id="another pin"),
        pytest.param({}, {"version": "580.200.01", "allow_change": True}, "no repository has 580.200.01", id="no such"),
        pytest.param(
            {"lacking": [("nvidia-utils-580", LATER)]},
            NEW_FAMILY,
            f"- nvidia-utils-580: no repository has {LATER_DRIVER}\n",
            id="one of the family is not there",
        ),
        pytest.param(
            {"lacking": [(MODULES, LATER_BUILD)]},
            NEW_FAMILY,
            f"- {MODULES}: no build of it is for {LATER_DRIVER}, there are {KERNEL} for {DRIVER}\n",
            id="P18 no build of the modules",
        ),
        pytest.param(
            {},
            {"version": "590.48.01", "allow_change": True},
            "no repository has 590.48.01",
            id="the CUDA repository's drivers are not taken",
        ),
        pytest.param({"free": 10**8}, NEW_FAMILY, "MiB are free on /, ", id="no room"),
        pytest.param(
            {"node": spark(boot=boot(kernels=(BAD, NEW)))}, NEW_FAMILY, "starts 7.0.0-1019-nvidia", id="a staged kernel"
        ),
    ],
)
def test_refusals(tmp_path: Path, converge: Run, about: Any, arguments: Any, words: str) -> None:
    apt = node(tmp_path, **about)
    before = files(apt)
    for check in (True, False):
        assert words in converge(apt, **arguments, _ansible_check_mode=check)
    assert changing(apt) == []
    assert files(apt) == before


def test_a_repository_is_gone(tmp_path: Path, converge: Run) -> None:
    apt = node(tmp_path)
    apt.write("etc/apt/sources.list", "")
    assert "an upgrade which moves nothing proves nothing" in converge(apt)
    assert changing(apt) == []


def test_a_change_that_takes_something_else_along(tmp_path: Path, converge: Run) -> None:
    """A package of the user that needs the present libraries would be removed."""
    apt = node(tmp_path)
    status = apt.root / "var/lib/dpkg/status"
    needs = f"Package: mine\nStatus: install ok installed\nVersion: 1\nDepends: nvidia-utils-580 (= {FULL})\n"
    status.write_text(f"{status.read_text()}{needs}Architecture: arm64\nMaintainer: x\nDescription: x\n\n")
    said = converge(apt, **NEW_FAMILY)
    assert "- remove mine 1\n" in said
    assert changing(apt) == []


def test_what_no_change_cures_is_not_offered_one(tmp_path: Path, converge: Run) -> None:
    apt = node(tmp_path, states={"bash": "unpacked"})
    said = converge(apt, version=LATER_DRIVER)
    assert "dpkg was interrupted" in said
    assert "changed only with allow_change" not in said


# ---- change


def test_another_driver_of_the_branch(tmp_path: Path, converge: Run) -> None:
    """P18: the family goes to 580.178.04, and the modules to the build of the same kernel that is for it."""
    apt = node(tmp_path, held=GUARDED)
    before = files(apt)
    foreseen = converge(apt, **NEW_FAMILY, _ansible_check_mode=True)
    assert files(apt) == before
    assert f"upgrade {MODULES} {KERNEL} -> {LATER_BUILD}" in "\n".join(foreseen["actions"])
    assert (foreseen["changed"], foreseen["reboot_wanted"]) == (True, True)
    result = converge(apt, **NEW_FAMILY)
    versions = {row["name"]: row["installed"] for row in result["driver"]["packages"]}
    assert versions == HEALTHY | dict.fromkeys(DRIVER_NAMES, LATER) | dict.fromkeys(
        (MODULES, MODULES_META), LATER_BUILD
    )
    assert (result["driver"]["verdict"], result["reboot_wanted"]) == ("pending_reboot", True)
    assert {row["held"] for row in result["driver"]["packages"]} == {True}
    assert moves(result) == []
    (install,) = (argv for argv in apt.asked if argv[0] == "env")
    assert "DEBIAN_FRONTEND=noninteractive" in install
    again = converge(apt, **NEW_FAMILY)
    assert (again["changed"], again["reboot_wanted"]) == (False, True)
    assert "is loaded" in converge(apt, version=LATER_DRIVER)
    after = converge(rebooted(apt, LATER_LOADED), version=LATER_DRIVER)
    assert (after["changed"], after["reboot_wanted"], after["driver"]["verdict"]) == (False, False, "ok")


def test_the_way_back(tmp_path: Path, converge: Run) -> None:
    apt = node(tmp_path)
    converge(apt, **NEW_FAMILY)
    result = converge(rebooted(apt, LATER_LOADED), version=DRIVER, allow_change=True)
    assert {row["installed"] for row in result["driver"]["packages"] if row["kind"] == "driver"} == {FULL}
    assert any(action.startswith(f"downgrade {MODULES} {LATER_BUILD} -> {KERNEL}") for action in result["actions"])


def test_from_590_back_to_the_pin(tmp_path: Path, converge: Run) -> None:
    loaded = spark(proc=nvrm("590.48.01"), smi=Result(0, smi("590.48.01", "13.1")))
    apt = node(tmp_path, installed=WITH_590 | {TOOL: "610.43.02-1ubuntu1"}, node=loaded)
    result = converge(apt, allow_change=True)
    assert (result["driver"]["installed"], result["reboot_wanted"]) == (DRIVER, True)
    assert {row["name"]: row["installed"] for row in result["driver"]["packages"]} == HEALTHY
    assert "remove nvidia-driver-590-open 590.48.01-0ubuntu0.24.04.1" in result["actions"]
    assert marks(apt, "showhold") == set(GUARDED)


def test_from_the_proprietary_flavour(tmp_path: Path, converge: Run) -> None:
    """D2: GB10 needs the open one. Apt would leave the other modules beside it."""
    closed = {name.replace("-open", ""): version for name, version in (HEALTHY | OTHERS).items()}
    refused = Result(6, "No devices were found\n")
    apt = node(tmp_path, installed=closed, node=spark(proc=nvrm(kind=PROPRIETARY), smi=refused, log=FLAVOUR))
    assert "changed only with allow_change" in converge(apt)
    result = converge(apt, allow_change=True)
    assert {row["name"]: row["installed"] for row in result["driver"]["packages"]} == HEALTHY
    assert f"remove {CLOSED_MODULES} {KERNEL}" in result["actions"]
    assert result["reboot_wanted"] is True
    assert converge(apt, allow_change=True)["changed"] is False


def test_a_half_done_upgrade_gets_its_modules(tmp_path: Path, converge: Run) -> None:
    """P18 and P25: the libraries moved, and the modules of a PPA, which ask for no driver, did not."""
    modules = dict.fromkeys((MODULES, MODULES_META), PPA_BUILD)
    apt = node(tmp_path, installed=HEALTHY | OTHERS | dict.fromkeys(DRIVER_NAMES, LATER) | modules)
    assert "would load nvidia.ko" in converge(apt, version=LATER_DRIVER)
    result = converge(apt, **NEW_FAMILY)
    assert (result["driver"]["verdict"], result["driver"]["next_driver"]["version"]) == ("pending_reboot", LATER_DRIVER)


FULL_DISK = "dpkg: error processing archive x.deb (--unpack): failed to write (No space left on device)"
NO_NETWORK = "E: Failed to fetch http://ports.ubuntu.com/x.deb  Could not connect to ports.ubuntu.com:80"


@pytest.mark.parametrize("line", [FULL_DISK, NO_NETWORK])
def test_it_fails_half_way(tmp_path: Path, converge: Run, line: str) -> None:
    apt = node(tmp_path, fails=Result(100, "Reading package lists...\n", f"{line}\n"))
    said = converge(apt, **NEW_FAMILY)
    assert f"apt-get install returned 100:\n- {line}\n" in said
    assert f"the driver is {DRIVER} (7 packages)" in said
    assert "Do not reboot." in said
    assert f"nvidia-utils-580={FULL}" in said
    assert marks(apt, "showhold") == set(GUARDED)


def test_no_way_back(tmp_path: Path, converge: Run) -> None:
    """Ubuntu keeps only the latest driver of a branch."""
    apt = node(tmp_path, lacking=[(name, FULL) for name in DRIVER_NAMES])
    result = converge(apt, **NEW_FAMILY)
    assert "apt-get cannot go back to it" in result["warnings"][0]


# ---- containers


def test_a_specification_of_another_driver_is_made_anew(tmp_path: Path, converge: Run) -> None:
    apt = node(tmp_path, held=GUARDED)
    converge(apt)
    apt.write("etc/cdi/nvidia.yaml", CDI.format("580.159.03"))
    apt.write("var/run/cdi/nvidia.yaml", CDI.format(DRIVER))
    path = str(tmp_path / "etc/cdi/nvidia.yaml")
    assert "there is no nvidia-ctk" in converge(apt)["warnings"][0]
    run = apt.run

    def with_ctk(argv: Any, *, data: str | None = None) -> Result:
        if argv[0] != "nvidia-ctk":
            return run(argv, data=data)
        if argv[1] == "cdi":
            apt.write("etc/cdi/nvidia.yaml", CDI.format(DRIVER))
            assert argv == ("nvidia-ctk", "cdi", "generate", f"--output={path}")
        return Result(0)

    apt.run = with_ctk  # type: ignore[method-assign]
    assert converge(apt, _ansible_check_mode=True)["actions"] == [f"generate {path} for {DRIVER}"]
    assert converge(apt)["actions"] == [f"generate {path} for {DRIVER}"]
    assert converge(apt)["changed"] is False


def test_before_the_reboot_the_specification_stays(tmp_path: Path, converge: Run) -> None:
    apt = node(tmp_path)
    apt.write("etc/cdi/nvidia.yaml", CDI.format(DRIVER))
    assert not any("generate" in action for action in converge(apt, **NEW_FAMILY)["actions"])


def test_a_version_that_is_none(tmp_path: Path, converge: Run) -> None:
    assert "expected: a driver's version" in converge(node(tmp_path), version="latest")
