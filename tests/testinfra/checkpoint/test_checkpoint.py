# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checkpoint, read anew by sha256sum: nothing here uses a module of the collection."""

from __future__ import annotations

import json
from typing import Any

import pytest
from testinfra.host import Host

STATE = "/var/lib/switchless/checkpoint"


def job(host: Host) -> dict[str, Any]:
    """What this node had to get; without that the role brought it nothing."""
    if not host.file(f"{STATE}/job.json").exists:
        pytest.skip("the role checkpoint has brought no checkpoint to this node")
    found: dict[str, Any] = json.loads(host.check_output("cat %s", f"{STATE}/job.json"))
    return found


def test_the_transfer_is_over(host: Host) -> None:
    job(host)
    assert json.loads(host.check_output("cat %s", f"{STATE}/status.json"))["state"] == "complete"
    assert not host.service("switchless-checkpoint.service").is_running


def test_every_file_has_its_size_and_the_smallest_shard_its_bytes(host: Host) -> None:
    """All of them would take minutes."""
    wanted = job(host)
    files = wanted["manifest"]["files"]
    names = [f"{wanted['path']}/{file['name']}" for file in files]
    sizes = host.check_output(f"stat -L -c %s {' '.join(['%s'] * len(names))}", "%s", *names)
    assert [int(size) for size in sizes.split()] == [file["size"] for file in files]
    least = min((f for f in files if f["name"].endswith(".safetensors")), key=lambda file: file["size"])
    assert host.check_output("sha256sum < %s", f"{wanted['path']}/{least['name']}").split()[0] == least["sha256"]


def test_the_manifest_is_kept_and_no_half_file(host: Host) -> None:
    wanted = job(host)
    kept = json.loads(host.check_output("cat %s", f"{wanted['path']}/.switchless/manifest.json"))
    assert kept == wanted["manifest"]
    assert host.check_output("find %s -name %s", wanted["path"], "*.part") == ""


def test_files_belong_to_root_and_can_be_read(host: Host) -> None:
    wanted = job(host)
    assert host.file(f"{STATE}/verified.json").user == "root"
    for file in wanted["manifest"]["files"]:
        assert host.file(f"{wanted['path']}/{file['name']}").mode & 0o444 == 0o444
