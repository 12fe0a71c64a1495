# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A checkpoint on its way to the other node: cut half-way, the disk full on the way, bytes that are not what they were.

It is made of chance on the first node, and travels over cables that are slow enough to have time for harm.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.cluster import CHECKOUT, Cluster, Played

PATH = "/srv/models/chance"
STATUS = "/var/lib/switchless/checkpoint/status.json"
SHARDS, SHARD_BYTES = 6, 12_000_000
RATE = "60mbit"  # of each cable
CABLES = ("1", "2")

# A checkpoint of random bytes in files that are sound: sys.argv is its folder, the number of shards and their bytes.
MAKE = """
import json, os, pathlib, sys
folder, shards, size = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
folder.mkdir(parents=True)
places = {}
for number in range(1, shards + 1):
    name = f"model-{number:05d}-of-{shards:05d}.safetensors"
    header = json.dumps({f"layers.{number}": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    (folder / name).write_bytes(len(header).to_bytes(8, "little") + header + os.urandom(size))
    places[f"layers.{number}"] = name
index = {"metadata": {"total_size": shards * size}, "weight_map": places}
(folder / "model.safetensors.index.json").write_text(json.dumps(index))
(folder / "config.json").write_text("{}")
"""


def bring(pair: Cluster, *words: str) -> Played:
    given = json.dumps({"checkpoint_path": PATH, "checkpoint_progress_seconds": 1, "checkpoint_reserve_gb": 0})
    return pair.play("-e", given, *words, playbook="playbooks/checkpoint.yml")


def begin(pair: Cluster) -> subprocess.Popen[bytes]:
    """Let a run begin, and wait until a quarter of the files came."""
    given = json.dumps({"checkpoint_path": PATH, "checkpoint_progress_seconds": 1, "checkpoint_reserve_gb": 0})
    program = f"{sys.prefix}/bin/ansible-playbook"
    argv = [program, "-i", str(pair.inventory), "playbooks/checkpoint.yml", "-e", given]
    begun = subprocess.Popen(argv, cwd=CHECKOUT, env=pair.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 300
    while received(pair) < SHARDS * SHARD_BYTES / 4:
        assert time.monotonic() < until, "nothing comes"
        assert begun.poll() is None, "it ended before a quarter had come"
        time.sleep(0.2)
    return begun


def status(pair: Cluster) -> dict[str, Any]:
    said = pair.node("spark2", f"cat {STATUS} 2>/dev/null || true")
    found: dict[str, Any] = json.loads(said) if said.startswith("{") else {}
    return found


def received(pair: Cluster) -> int:
    found = status(pair)
    return int(found["received_bytes"]) if found.get("state") == "running" else 0


def half(pair: Cluster) -> str:
    """Names of files under their own name that are not whole."""
    wanted = SHARD_BYTES
    return pair.node("spark2", f"find {PATH} -maxdepth 1 -name '*.safetensors' -size -{wanted}c").strip()


def same(pair: Cluster) -> bool:
    sums = pair.nodes(f"cd {PATH} && sha256sum *.safetensors *.json")
    return sums["spark1"] == sums["spark2"] != ""


@pytest.fixture(scope="module")
def slow(pair: Cluster) -> Iterator[Cluster]:
    """The pair with its fabric, a checkpoint on the first node, and slow cables."""
    assert pair.fabric().rc == 0
    pair.node("spark1", f"rm -rf {PATH}")
    pair.lab("exec", "spark1", "python3", "-c", MAKE, PATH, str(SHARDS), str(SHARD_BYTES))
    for cable in CABLES:
        pair.lab("limit", cable, RATE)
    yield pair
    for cable in CABLES:
        pair.lab("unlimit", cable)
    pair.nodes(f"rm -rf {PATH}")


def test_a_run_that_was_cut_goes_on_where_it_was(slow: Cluster) -> None:
    begun = begin(slow)
    begun.kill()
    begun.wait()
    slow.node("spark2", "systemctl kill --signal=KILL switchless-checkpoint.service")
    assert half(slow) == "", "nothing half has a file's own name"
    kept = int(slow.node("spark2", f"du -sb {PATH} | cut -f1"))
    played = bring(slow)
    assert played.rc == 0, played.text
    assert same(slow)
    came = status(slow)["received_bytes"]
    assert came < SHARDS * SHARD_BYTES - kept / 2, "what had come is not taken again"


def test_a_second_run_reads_nothing_again(slow: Cluster) -> None:
    played = bring(slow)
    assert played.rc == 0, played.text
    assert not any(played.changed.values()), played.text
    assert played.said("every byte is verified")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        pytest.param("truncate -s -4096 {0}", "{0}", id="truncated"),
        pytest.param("printf X | dd of={0} bs=1 seek=5000000 conv=notrunc status=none", "{0}", id="one byte flipped"),
        pytest.param("sed -i s/layers.1/layers.9/ model.safetensors.index.json", "index", id="the index of another"),
        pytest.param("rm -r {1}", "the files come from spark1", id="gone"),
    ],
)
def test_what_was_harmed_is_named_and_brought_again(slow: Cluster, harm: str, said: str) -> None:
    shard = f"model-00002-of-{SHARDS:05d}.safetensors"
    slow.node("spark2", f"cd {PATH} && {harm.format(shard, PATH)}")
    played = bring(slow)
    assert played.rc == 0, played.text
    assert played.said(said.format(shard))
    assert same(slow)


def test_a_disk_that_is_too_small_is_said_before_anything_is_copied(slow: Cluster) -> None:
    slow.node("spark2", f"rm -r {PATH}; mkdir {PATH} && mount -t tmpfs -o size=20m none {PATH}")
    try:
        played = bring(slow)
        assert played.rc != 0
        assert played.said("spark2", PATH, "GB")
        assert slow.node("spark2", f"find {PATH} -type f").strip() == ""
    finally:
        slow.node("spark2", f"umount {PATH}; rmdir {PATH}")


def test_a_disk_that_fills_up_on_the_way_ends_it_and_loses_nothing(slow: Cluster) -> None:
    slow.node("spark2", f"mkdir -p {PATH} && mount -t tmpfs -o size=100m none {PATH}")
    try:
        begun = begin(slow)
        slow.node("spark2", f"head -c 100M /dev/zero >{PATH}/other || true")
        assert begun.wait(timeout=300) != 0
        assert half(slow) == ""
        played = bring(slow)
        assert played.rc != 0
        assert played.said("spark2", "GB")
        slow.node("spark2", f"rm {PATH}/other")
        played = bring(slow)
        assert played.rc == 0, played.text
        assert same(slow)
    finally:
        slow.node("spark2", f"umount {PATH}; rmdir {PATH}")
