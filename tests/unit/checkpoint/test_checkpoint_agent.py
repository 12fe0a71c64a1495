# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The agent, run in this process: a ring of nodes is four folders and addresses of the loopback."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.cache import Cache, parse_cache
from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.index import INDEX
from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.judge import Wanted, judge
from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.look import look
from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.manifest import SAVED, read_manifest
from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.share import jobs, reading_job
from tests.unit.checkpoint.checkpoint_world import SHARDS, agent, build, manifest_of, ring, seen_of

PROGRAM: ModuleType = agent()
PATIENCE = 0.3


def free_port() -> int:
    """A port that is free on all addresses of the loopback."""
    with socket.socket() as found:
        found.bind(("0.0.0.0", 0))  # noqa: S104 (nothing listens on it)
        port: int = found.getsockname()[1]
        return port


class World:
    """Nodes of a ring. The fabric's addresses become addresses of the loopback."""

    def __init__(self, top: Path, size: int) -> None:
        self.top, self.plan, self.port = top, ring(size), free_port()
        self.source = build(self.path("spark1"))
        self.manifest = manifest_of(self.source)
        self.agents: dict[str, Any] = {}
        self.threads: dict[str, threading.Thread] = {}

    def path(self, host: str) -> Path:
        return self.top / host / "model"

    def job(self, host: str, **more: Any) -> dict[str, Any]:
        found = jobs(self.plan, self.manifest, "spark1", path=str(self.path(host)), port=self.port, reserve=0)[host]
        text = json.dumps(found).replace("198.18.", "127.18.")
        job: dict[str, Any] = json.loads(text) | {"patience_seconds": PATIENCE, "id": "now"} | more
        return job

    def start(self, host: str, **more: Any) -> Any:
        self.path(host).mkdir(parents=True, exist_ok=True)
        state = self.top / host / "state"
        state.mkdir(exist_ok=True)
        self.agents[host] = PROGRAM.Agent(self.job(host, **more), state)
        self.threads[host] = threading.Thread(target=self.agents[host].run, daemon=True)
        self.threads[host].start()
        return self.agents[host]

    def ends(self, host: str) -> dict[str, Any]:
        """Wait until the agent ends; its status."""
        self.threads[host].join(30)
        assert not self.threads[host].is_alive()
        return self.status(host)

    def settle(self, host: str) -> dict[str, Any]:
        """Wait until it has all or failed, whoever may still ask it for files; its status."""
        with self.agents[host].changed:
            assert self.agents[host].changed.wait_for(lambda: self.agents[host].phase != "running", 30)
        self.agents[host].save()
        return self.status(host)

    def status(self, host: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.top / host / "state/status.json").read_text())
        return found

    def stop(self) -> None:
        for running in self.agents.values():
            running.stop.set()
        for thread in self.threads.values():
            thread.join(30)

    def is_whole(self, host: str) -> bool:
        """As checkpoint_info judges it, by the manifest that the agent saved, and with no half file left."""
        seen = seen_of(self.path(host))
        return seen.manifest == self.manifest == seen.saved and not judge(seen, Wanted(), None) and not seen.half


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Callable[[int], World]]:
    made: list[World] = []

    def make(size: int) -> World:
        made.append(World(tmp_path / f"ring{size}", size))
        return made[-1]

    yield make
    for one in made:
        one.stop()


@pytest.mark.parametrize("size", [2, 3, 4])
def test_from_one_to_all_others(world: Callable[[int], World], size: int) -> None:
    ring_of = world(size)
    for host in reversed(ring_of.plan.order):  # whoever is first waits for the others
        ring_of.start(host, patience_seconds=20)
    for host in ring_of.plan.order:
        status = ring_of.settle(host)
        assert (status["state"], status["error"]) == ("complete", None)
        assert status["bytes_done"] == status["bytes_total"] == ring_of.manifest.total_bytes
        assert status["files_done"] == status["files_total"] == len(ring_of.manifest.files)
        assert status["received_bytes"] == (0 if host == "spark1" else ring_of.manifest.total_bytes)
    for host in ring_of.plan.order:
        assert ring_of.is_whole(host)
    ring_of.stop()
    assert ring_of.status("spark1")["state"] == "complete"


def test_what_it_measured_is_what_checkpoint_info_takes(world: Callable[[int], World]) -> None:
    pair = world(2)
    pair.start("spark1")
    pair.start("spark2", patience_seconds=20)
    pair.settle("spark2")
    cache = parse_cache((pair.top / "spark2/state/verified.json").read_bytes())
    seen, _measured = look(str(pair.path("spark2")), Cache({}), measure=False)
    assert {
        file.key: entry.sha256 for file, entry in zip(seen.files.values(), pair.manifest.files, strict=True)
    } == dict(cache.known)


def test_a_second_run_takes_and_reads_nothing(world: Callable[[int], World]) -> None:
    pair = world(2)
    for _again in range(2):
        pair.start("spark1")
        pair.start("spark2", patience_seconds=20)
        pair.settle("spark2")
        pair.settle("spark1")
        pair.stop()
    assert [pair.status(host)["received_bytes"] for host in ("spark1", "spark2")] == [0, 0]
    assert [pair.status(host)["read_bytes"] for host in ("spark1", "spark2")] == [0, 0]


def test_it_goes_on_where_it_was_cut(world: Callable[[int], World]) -> None:
    pair = world(2)
    shard = next(entry for entry in pair.manifest.files if entry.name == SHARDS[0])
    half = pair.path("spark2") / ".switchless"
    half.mkdir(parents=True)
    (half / f"{shard.sha256}.part").write_bytes((pair.source / shard.name).read_bytes()[:100])
    pair.start("spark1")
    pair.start("spark2", patience_seconds=20)
    assert pair.settle("spark2")["received_bytes"] == pair.manifest.total_bytes - 100
    assert pair.is_whole("spark2")


def test_half_a_file_never_has_its_name(world: Callable[[int], World], monkeypatch: pytest.MonkeyPatch) -> None:
    """The neighbour goes away in the middle of a shard, and comes back."""
    pair = world(2)
    monkeypatch.setattr(PROGRAM.Handler, "do_GET", half_an_answer)
    pair.start("spark1")
    pair.start("spark2")
    status = pair.ends("spark2")
    assert status["state"] == "failed"
    assert "spark1 did not give" in status["error"]
    assert seen_of(pair.path("spark2")).files == {}
    halves = sorted((pair.path("spark2") / ".switchless").glob("*.part"))
    assert halves
    kept = sum(path.stat().st_size for path in halves)
    assert kept > 0
    monkeypatch.undo()
    pair.start("spark2", patience_seconds=20)
    assert pair.settle("spark2")["received_bytes"] == pair.manifest.total_bytes - kept
    assert pair.is_whole("spark2")


def half_an_answer(handler: Any) -> None:
    """Send the first half of the file, once; then answer nothing."""
    handler.close_connection = True
    name = handler.server.agent.names[handler.path[1:]]
    if handler.headers["Range"] != "bytes=0-" or not handler.server.agent.wait_for(name, 5):
        return
    raw = (handler.server.agent.folder / name).read_bytes()
    handler.send_response(206)
    handler.send_header("Content-Length", str(len(raw)))
    handler.end_headers()
    handler.wfile.write(raw[: len(raw) // 2])


def test_a_stop_keeps_what_came(world: Callable[[int], World], monkeypatch: pytest.MonkeyPatch) -> None:
    pair = world(2)
    monkeypatch.setattr(PROGRAM, "CHUNK_BYTES", 16)
    running = pair.start("spark1")
    taker = PROGRAM.Agent
    real = taker.receive

    def receive(self: Any, lane: Any, answer: Any, file: Any, digest: Any, place: int) -> int:
        answer = Stopping(self, answer)
        found: int = real(self, lane, answer, file, digest, place)
        return found

    monkeypatch.setattr(taker, "receive", receive)
    pair.start("spark2", patience_seconds=20)
    assert pair.ends("spark2")["state"] == "stopped"
    assert not running.stop.is_set()
    kept = sum(path.stat().st_size for path in (pair.path("spark2") / ".switchless").glob("*.part"))
    assert 0 < kept < pair.manifest.total_bytes
    monkeypatch.undo()
    pair.start("spark2", patience_seconds=20)
    assert pair.settle("spark2")["received_bytes"] == pair.manifest.total_bytes - kept
    assert pair.is_whole("spark2")


class Stopping:
    """An answer in the middle of which somebody says stop."""

    def __init__(self, running: Any, answer: Any) -> None:
        self.running, self.answer = running, answer

    def readinto(self, buffer: memoryview) -> int:
        count: int = self.answer.readinto(buffer)
        self.running.stop.set()
        return count


def flip(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)


def test_a_bad_shard_is_replaced_and_a_small_one_kept(world: Callable[[int], World]) -> None:
    pair = world(2)
    build(pair.path("spark2"))
    flip(pair.path("spark2") / SHARDS[1])
    bad = (pair.path("spark2") / SHARDS[1]).read_bytes()
    pair.start("spark1")
    pair.start("spark2", patience_seconds=20)
    assert pair.settle("spark2")["received_bytes"] == len(bad)
    assert pair.is_whole("spark2")
    kept = list((pair.path("spark2") / ".switchless/replaced").iterdir())
    assert [path.read_bytes() for path in kept] == [bad]


def test_a_source_that_is_bad_gives_nothing_bad(world: Callable[[int], World]) -> None:
    pair = world(2)
    flip(pair.source / SHARDS[1])
    pair.start("spark1")
    status = pair.ends("spark1")
    assert status["state"] == "failed"
    assert f"{SHARDS[1]} is not what the manifest says" in status["error"]
    pair.start("spark2")
    assert pair.ends("spark2")["state"] == "failed"
    assert not (pair.path("spark2") / SHARDS[1]).exists()
    assert not (pair.path("spark2") / SAVED).exists()


def test_bytes_that_go_wrong_on_the_way(world: Callable[[int], World]) -> None:
    pair = world(2)
    good, bad = dict(pair.manifest.as_dict()), "0" * 64
    for file in good["files"]:
        if file["name"] == SHARDS[2]:
            file["sha256"] = bad
    giver = pair.start("spark1")
    pair.settle("spark1")
    giver.names[bad] = SHARDS[2]
    pair.start("spark2", manifest=good)
    status = pair.ends("spark2")
    assert f"{SHARDS[2]} came from spark1 3 times with a wrong digest" in status["error"]
    assert not (pair.path("spark2") / SHARDS[2]).exists()
    assert not list((pair.path("spark2") / ".switchless").glob(f"{bad}.part"))


def test_a_disk_that_is_too_full(world: Callable[[int], World]) -> None:
    pair = world(2)
    pair.start("spark2", reserve_bytes=10**18)
    status = pair.ends("spark2")
    assert status["state"] == "failed"
    assert f"{pair.manifest.total_bytes} bytes are to come to {pair.path('spark2')}" in status["error"]
    assert str(10**18) in status["error"]


def test_a_disk_that_fills_up(world: Callable[[int], World], monkeypatch: pytest.MonkeyPatch) -> None:
    pair = world(2)

    def full(*_arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    pair.start("spark1")
    monkeypatch.setattr(PROGRAM.os, "fsync", full)
    pair.start("spark2", patience_seconds=20)
    status = pair.ends("spark2")
    assert status["error"] == f"{pair.path('spark2')} cannot be written: No space left on device"
    assert seen_of(pair.path("spark2")).files == {}


def test_only_neighbours_get_anything_and_only_files_of_the_manifest(world: Callable[[int], World]) -> None:
    pair = world(2)
    (pair.source / "secret").write_text("x")
    running = pair.start("spark1", allow=["127.18.0.9"])
    pair.settle("spark1")
    address = running.job["serve"][0]
    assert ask(address, pair.port, "127.18.0.8", f"/{pair.manifest.files[0].sha256}") == b""
    for path in ("/secret", "/../state/verified.json", f"/{hashlib.sha256(b'x').hexdigest()}", "/"):
        assert ask(address, pair.port, "127.18.0.9", path).startswith(b"HTTP/1.1 404")
    assert ask(address, pair.port, "127.18.0.9", f"/{pair.manifest.files[0].sha256}").startswith(b"HTTP/1.1 206")


def ask(address: str, port: int, own: str, path: str) -> bytes:
    with socket.create_connection((address, port), timeout=10, source_address=(own, 0)) as connection:
        try:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            return connection.recv(4096)
        except ConnectionError:
            return b""


def test_nobody_asks_any_more(world: Callable[[int], World]) -> None:
    pair = world(2)
    pair.start("spark1", idle_seconds=0)
    assert pair.ends("spark1")["state"] == "complete"


def test_a_port_that_is_taken(world: Callable[[int], World]) -> None:
    pair = world(2)
    job = pair.job("spark1")
    with socket.socket() as taken:
        taken.bind((job["serve"][0], pair.port))
        taken.listen()
        pair.start("spark1")
        assert f"{job['serve'][0]} port {pair.port} cannot be listened on" in pair.ends("spark1")["error"]


def test_a_source_without_manifest_is_measured(tmp_path: Path) -> None:
    folder = build(tmp_path / "model")
    seen, _measured = look(str(folder), Cache({}), measure=False)
    files = [{"name": file.name, "size": file.size, "sha256": None} for file in seen.files.values()]
    running = PROGRAM.Agent(reading_job(files, str(folder)) | {"id": "read"}, tmp_path)
    assert running.run() == "complete"
    cache = parse_cache((tmp_path / "verified.json").read_bytes())
    assert sorted(cache.known.values()) == sorted(entry.sha256 for entry in manifest_of(folder).files)
    assert not (folder / ".switchless").exists()
    status = json.loads((tmp_path / "status.json").read_text())
    assert (status["job"], status["read_bytes"]) == ("read", sum(file["size"] for file in files))


def test_a_power_cut_leaves_a_part_that_is_judged_anew(world: Callable[[int], World]) -> None:
    """Zeros where bytes were: the digest finds it, and the file comes whole."""
    pair = world(2)
    shard = next(entry for entry in pair.manifest.files if entry.name == SHARDS[0])
    half = pair.path("spark2") / ".switchless"
    half.mkdir(parents=True)
    (half / f"{shard.sha256}.part").write_bytes(bytes(50))
    pair.start("spark1")
    pair.start("spark2", patience_seconds=20)
    assert pair.settle("spark2")["state"] == "complete"
    assert pair.is_whole("spark2")


def test_run_as_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    folder = build(tmp_path / "model")
    files = [{"name": INDEX, "size": (folder / INDEX).stat().st_size, "sha256": None}]
    (tmp_path / "job.json").write_text(json.dumps(reading_job(files, str(folder))))
    monkeypatch.setattr(PROGRAM.sys, "argv", ["agent", str(tmp_path / "job.json")])
    monkeypatch.setattr(PROGRAM.signal, "signal", lambda *_: None)
    assert PROGRAM.main() == 0
    assert "complete" in capsys.readouterr().out
    os.truncate(folder / INDEX, 3)
    assert PROGRAM.main() == 1


def test_the_saved_manifest_is_one(world: Callable[[int], World]) -> None:
    pair = world(2)
    pair.start("spark1")
    pair.settle("spark1")
    assert read_manifest((pair.source / SAVED).read_bytes()) == pair.manifest
