# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A change that undoes itself: what is written, in which order, and what a crash between two steps leaves."""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._node import change
from ansible_collections.switchless.spark.plugins.module_utils._node.change import Before, File
from ansible_collections.switchless.spark.plugins.module_utils._node.ip import Link
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import CommandError, Result
from tests.unit.node.node_world import FakeNode


class PowerCutError(Exception):
    """Stands for the moment at which a node goes down."""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    folder = tmp_path / "etc"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("there", "there_mode", "file", "expected"),
    [
        ("a", 0o644, ("a", 0o644), False),
        ("a", 0o644, ("b", 0o644), True),
        ("a", 0o644, ("a", 0o600), True),
        (None, 0, ("a", 0o644), True),
        (None, 0, (None, 0o644), False),
        ("a", 0o644, (None, 0o644), True),
    ],
    ids=["same", "other content", "other mode", "not there", "not there and not wanted", "there and not wanted"],
)
def test_whether_a_file_differs(
    there: str | None, there_mode: int, file: tuple[str | None, int], expected: bool, etc: Path
) -> None:
    path = etc / "file"
    if there is not None:
        path.write_text(there)
        path.chmod(there_mode)
    wanted = File(str(path), *file)
    assert wanted.differs() is expected
    assert wanted.read() == there
    change.write(wanted)
    assert not wanted.differs()
    assert names(etc) == ([] if file[0] is None else ["file"])


def test_a_file_is_whole_and_private_at_every_moment(etc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = etc / "new" / "90-fabric.yaml"
    path.parent.mkdir()
    path.write_text("old")
    stale = path.with_name(".90-fabric.yaml.switchless")
    stale.write_text("left by a crash, and readable by all")
    stale.chmod(0o666)
    seen = []

    def watch(descriptor: int) -> None:
        seen.append((path.read_text(), stat.S_IMODE(os.fstat(descriptor).st_mode), os.fstat(descriptor).st_size))

    monkeypatch.setattr(change.os, "fsync", watch)
    before = os.umask(0)
    try:
        change.write(File(str(path), "secret", 0o600))
    finally:
        os.umask(before)
    assert seen == [("old", 0o600, len("secret"))]
    assert (path.read_text(), mode(path), names(path.parent)) == ("secret", 0o600, [path.name])


def test_the_mode_does_not_depend_on_the_umask(etc: Path) -> None:
    before = os.umask(0o077)
    try:
        change.write(File(str(etc / "deep" / "tool"), "#!/bin/sh\n", 0o755))
    finally:
        os.umask(before)
    assert mode(etc / "deep" / "tool") == 0o755


def test_a_crash_while_writing_leaves_the_old_file(etc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = etc / "file"
    path.write_text("old")

    def crash(_descriptor: int) -> None:
        raise PowerCutError

    with monkeypatch.context() as patch:
        patch.setattr(change.os, "fsync", crash)
        with pytest.raises(PowerCutError):
            change.write(File(str(path), "new", 0o600))
    assert path.read_text() == "old"
    change.write(File(str(path), "new", 0o600))
    assert (path.read_text(), names(etc)) == ("new", ["file"])


def test_a_copy_is_kept_where_nobody_else_reads(etc: Path, tmp_path: Path) -> None:
    source = etc / "40-cx7.yaml"
    source.write_text("network: {}\n")
    source.chmod(0o644)
    copy = change.keep_copy(str(source), tmp_path / "backup")
    assert copy is not None
    found = re.fullmatch(rf"{re.escape(str(tmp_path / 'backup'))}/(\d{{8}}T\d{{6}}Z){re.escape(str(source))}", copy)
    assert found is not None
    assert (Path(copy).read_text(), mode(Path(copy))) == ("network: {}\n", 0o644)
    assert mode(tmp_path / "backup" / found[1]) == 0o700
    assert source.exists()


def test_no_copy_of_what_is_not_there(etc: Path, tmp_path: Path) -> None:
    assert change.keep_copy(str(etc / "nothing"), tmp_path / "backup") is None
    assert not (tmp_path / "backup").exists()


BEFORE = Before(
    links={
        "enp1s0f0np0": Link("enp1s0f0np0", 1500, True, ("10.0.0.1/24", "10.0.0.2/24")),
        "enp1s0f1np1": Link("enp1s0f1np1", 9000, False, ()),
    },
    managed=frozenset({"enp1s0f0np0"}),
    networkd=frozenset({"enp1s0f1np1"}),
    sysctl={"net.ipv4.conf.enp1s0f0np0.rp_filter": "1", "net.ipv4.conf.fabric/0.rp_filter": "0", "net.gone": None},
    unit="switchless-fabric.service",
    unit_enabled=False,
    relay_loaded=True,
    routes=(("10.8.0.0/16", "via", "10.0.0.9", "dev", "enp1s0f0np0"),),
)


def files_of(etc: Path) -> list[File]:
    """One of each kind: of the tool itself, new, replaced, to be removed."""
    (etc / "replaced").write_text("old")
    (etc / "replaced").chmod(0o640)
    (etc / "removed").write_text("bye")
    return [
        File(str(etc / "tool"), "#!/bin/sh\n", 0o755, support=True),
        File(str(etc / "new"), "new", 0o644),
        File(str(etc / "replaced"), "new", 0o600),
        File(str(etc / "removed"), None, 0o600),
    ]


def test_the_manifest(etc: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    change.stage(files_of(etc), BEFORE, state)
    manifest = change.pending(state)
    assert manifest is not None
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", manifest.pop("time"))
    owner = {"uid": os.getuid(), "gid": os.getgid()}
    assert manifest == {
        "schema": 1,
        "files": [
            {"path": str(etc / "new"), "backup": None},
            {"path": str(etc / "replaced"), "backup": str(state / "pending" / "files" / "1"), **owner},
            {"path": str(etc / "removed"), "backup": str(state / "pending" / "files" / "2"), **owner},
        ],
        "unit": "switchless-fabric.service",
        "unit_enabled": False,
        "relay_before": True,
        "routes": [["10.8.0.0/16", "via", "10.0.0.9", "dev", "enp1s0f0np0"]],
        "sysctl": {"net/ipv4/conf/enp1s0f0np0/rp_filter": "1", "net/ipv4/conf/fabric.0/rp_filter": "0"},
        "ports": [
            {
                "netdev": "enp1s0f0np0",
                "mtu": 1500,
                "up": True,
                "addresses": ["10.0.0.1/24", "10.0.0.2/24"],
                "networkmanager": True,
                "networkd": False,
            },
            {
                "netdev": "enp1s0f1np1",
                "mtu": 9000,
                "up": False,
                "addresses": [],
                "networkmanager": False,
                "networkd": True,
            },
        ],
    }
    copy = state / "pending" / "files" / "1"
    assert (copy.read_text(), mode(copy)) == ("old", 0o640)
    assert mode(state / "pending") == 0o700
    assert mode(state / "pending" / "manifest.json") == 0o600


def test_copies_are_on_the_disk_before_the_manifest_is_there(
    etc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []
    monkeypatch.setattr(
        change.os, "fsync", lambda descriptor: synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
    )
    change.stage(files_of(etc), BEFORE, tmp_path / "state")
    pending = tmp_path / "state" / "pending"
    assert synced == [
        str(pending / "files" / "1"),
        str(pending / "files" / "2"),
        str(pending / ".manifest.json.switchless"),
    ]


@pytest.mark.parametrize(
    ("where", "what", "call"),
    [
        (change.shutil, "copy2", 1),
        (change.shutil, "copy2", 2),
        (change.os, "fsync", 1),
        (change.os, "fsync", 3),
        (change.json, "dumps", 1),
        (change.pathlib.Path, "chmod", 1),
        (change.pathlib.Path, "replace", 1),
    ],
)
def test_a_crash_while_staging_leaves_nothing_to_roll_back(
    where: Any, what: str, call: int, etc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, files, real, calls = tmp_path / "state", files_of(etc), getattr(where, what), []

    def crash(*args: Any, **more: Any) -> Any:
        calls.append(args)
        if len(calls) == call:
            raise PowerCutError
        return real(*args, **more)

    with monkeypatch.context() as patch:
        patch.setattr(where, what, crash)
        with pytest.raises(PowerCutError):
            change.stage(files, BEFORE, state)
    assert change.pending(state) is None
    change.stage(files, BEFORE, state)
    manifest = change.pending(state)
    assert manifest is not None
    assert len(manifest["files"]) == 3


def test_what_is_pending_or_was_rolled_back_when_nothing_ever_was(tmp_path: Path) -> None:
    assert (change.pending(tmp_path), change.last_rollback(tmp_path)) == (None, None)


def test_the_report_of_a_roll_back(tmp_path: Path) -> None:
    (tmp_path / "last-rollback.json").write_text('{"reason": "late"}')
    assert change.last_rollback(tmp_path) == {"reason": "late"}


STOP = "systemctl stop switchless-fabric-deadline.timer"
RESET = "systemctl reset-failed switchless-fabric-deadline.timer switchless-fabric-deadline.service"


def test_the_deadline(tmp_path: Path) -> None:
    node = FakeNode(tmp_path)
    change.arm(node, 45)
    timer = "--unit=switchless-fabric-deadline --on-active=45s --timer-property=AccuracySec=250ms"
    assert node.asked == [
        STOP,
        RESET,
        f"systemd-run --quiet {timer} systemctl start switchless-fabric-rollback.service",
    ]


def test_no_change_without_a_deadline(tmp_path: Path) -> None:
    node = FakeNode(tmp_path, answers={"systemd-run": Result(1, "", "Failed to start transient timer unit")})
    with pytest.raises(CommandError, match="Failed to start transient timer unit"):
        change.arm(node, 45)


def test_keeping_a_change(etc: Path, tmp_path: Path) -> None:
    state, node = tmp_path / "state", FakeNode(tmp_path)
    change.stage(files_of(etc), BEFORE, state)
    assert change.commit(node, state) is True
    assert node.asked == [STOP, RESET]
    assert names(state) == []
    assert change.commit(node, state) is False


def test_a_crash_while_keeping_a_change_leaves_it_kept(
    etc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manifest goes first: a roll-back without its copies would remove files and bring none back."""

    def crash(_folder: Path) -> None:
        raise PowerCutError

    state = tmp_path / "state"
    change.stage(files_of(etc), BEFORE, state)
    with monkeypatch.context() as patch:
        patch.setattr(change.shutil, "rmtree", crash)
        with pytest.raises(PowerCutError):
            change.commit(FakeNode(tmp_path), state)
    assert change.pending(state) is None
    change.stage(files_of(etc), BEFORE, state)
    assert json.loads((state / "pending" / "manifest.json").read_text())["schema"] == 1
