# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes the files of a checkpoint from the neighbours, verifies each, and gives it to the next node at once.

Started with a job, see module_utils/_checkpoint/share.py. A file is asked for by its SHA-256 and hashed while it comes,
so it is read once and verified when its last byte is there. Until then it is .switchless/DIGEST.part; a transfer that
was cut goes on from there. What is verified is kept in the same file that checkpoint_info reads.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import hashlib
import http.client
import json
import os
import shutil
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CHUNK_BYTES = 4 * 1024 * 1024
BACKUP_BYTES = 64 * 1024 * 1024  # a smaller file may have been edited: it is kept when it is replaced
HOLD_SECONDS = 5.0  # how long a server lets a question wait for a file that is still to come
ATTEMPTS = 3  # bad digests in a row


class JobError(Exception):
    """The job cannot be done. The text is for people."""


def write(path: Path, data: Any) -> None:
    """Replace a file as a whole."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
    temporary.write_text(json.dumps(data, indent=1) + "\n")
    temporary.replace(path)


class Cache:
    """Digests by path, valid while size, time and inode stay the same."""

    def __init__(self, path: Path) -> None:
        self.path, self.lock = path, threading.Lock()
        try:
            data = json.loads(path.read_bytes())
            self.files: dict[str, Any] = data["files"] if data["schema"] == 1 else {}
        except (OSError, ValueError, KeyError, TypeError):
            self.files = {}

    @staticmethod
    def seen(path: Path) -> tuple[str, dict[str, int]]:
        real = path.resolve()
        stat = real.stat()
        return str(real), {"size": stat.st_size, "mtime_ns": stat.st_mtime_ns, "inode": stat.st_ino}

    def get(self, path: Path) -> str | None:
        real, seen = self.seen(path)
        item = self.files.get(real, {})
        return item.get("sha256") if seen == {name: item.get(name) for name in seen} else None

    def put(self, path: Path, digest: str) -> None:
        real, seen = self.seen(path)
        with self.lock:
            self.files[real] = {**seen, "sha256": digest}
            write(self.path, {"schema": 1, "files": self.files})


class Server(ThreadingHTTPServer):
    """Gives verified files to the neighbours that the job names, and to nobody else."""

    daemon_threads = True
    agent: Agent

    def verify_request(self, request: Any, client_address: Any) -> bool:  # noqa: ARG002 (the name is the library's)
        return client_address[0] in self.agent.job["allow"]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A neighbour that goes away is no error here: it comes back and asks for the rest."""


class Handler(BaseHTTPRequestHandler):
    """GET /DIGEST, with a Range that begins anywhere and ends at the end."""

    protocol_version = "HTTP/1.1"
    timeout = 60
    server: Server

    def do_GET(self) -> None:
        agent = self.server.agent
        agent.asked = time.monotonic()
        name = agent.names.get(self.path[1:])
        if name is None:
            return self.refuse(404)
        if not agent.wait_for(name, HOLD_SECONDS):
            return self.refuse(503)
        size = agent.sizes[name]
        text = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-")
        start = int(text) if text.isdecimal() else 0
        with (agent.folder / name).open("rb") as file:
            if start > size or os.fstat(file.fileno()).st_size != size:
                return self.refuse(416)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
            self.send_header("Content-Length", str(size - start))
            self.end_headers()
            self.wfile.flush()
            if start < size:
                self.connection.sendfile(file, start)
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)  # GPU and programs share that memory
        agent.asked = time.monotonic()
        return None

    def refuse(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_arguments: Any) -> None:
        """Not a line for each question."""


class Agent:
    """One job: its lanes, each a thread; its servers; its status."""

    def __init__(self, job: dict[str, Any], state: Path) -> None:
        self.job, self.state = job, state
        self.folder = Path(job["path"])
        self.half = self.folder / ".switchless"
        files = job["manifest"]["files"]
        self.sizes: dict[str, int] = {file["name"]: file["size"] for file in files}
        self.digests: dict[str, str | None] = {file["name"]: file.get("sha256") for file in files}
        self.names = {digest: name for name, digest in self.digests.items() if digest}
        self.cache = Cache(state / "verified.json")
        self.verified: set[str] = set()
        self.changed = threading.Condition()
        self.stop = threading.Event()
        self.failure = ""
        self.phase = "running"
        self.asked = self.started = time.monotonic()
        self.seconds: float | None = None
        self.progress: dict[str, dict[str, Any]] = {}
        self.received = self.read = 0
        self.recent: collections.deque[tuple[float, int]] = collections.deque(maxlen=11)

    # What is verified

    def wait_for(self, name: str, seconds: float) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: name in self.verified or self.stop.is_set(), seconds) and (
                name in self.verified
            )

    def mark(self, name: str) -> None:
        with self.changed:
            self.verified.add(name)
            self.changed.notify_all()

    def is_good(self, lane: dict[str, Any], name: str) -> bool:
        """Whether the file is there and right. One that was never measured is read."""
        path, digest = self.folder / name, self.digests[name]
        try:
            if path.stat().st_size != self.sizes[name]:
                return False
            found = self.cache.get(path)
            if found is None:
                before = self.cache.seen(path)
                found = self.measure(path, lane)
                if self.stop.is_set() or self.cache.seen(path) != before:
                    return False
                self.cache.put(path, found)
        except FileNotFoundError:
            return False
        return digest is None or found == digest

    def measure(self, path: Path, lane: dict[str, Any]) -> str:
        """Digest of a file, which leaves nothing behind in the page cache."""
        digest, buffer, place = hashlib.sha256(), memoryview(bytearray(CHUNK_BYTES)), 0
        with path.open("rb", buffering=0) as file:
            while not self.stop.is_set() and (count := file.readinto(buffer)):
                digest.update(buffer[:count])
                os.posix_fadvise(file.fileno(), place, count, os.POSIX_FADV_DONTNEED)
                place += count
                self.read += count
                self.progress[lane["lane"]]["bytes"] = place
        return digest.hexdigest()

    # Taking files

    def follow(self, lane: dict[str, Any]) -> None:
        """Take the files of one lane, one after the other."""
        try:
            for name in lane["files"]:
                self.progress[lane["lane"]] = {
                    "lane": lane["lane"],
                    "peer": lane["peer"],
                    "file": name,
                    "size": self.sizes[name],
                    "bytes": 0,
                }
                if not self.is_good(lane, name) and not self.stop.is_set():
                    self.take(lane, name)
                if self.stop.is_set():
                    return
                self.mark(name)
            self.progress.pop(lane["lane"], None)
        except JobError as error:
            self.fail(str(error))
        except OSError as error:
            self.fail(f"{self.folder}: {error}")

    def fail(self, text: str) -> None:
        self.failure = self.failure or text
        self.stop.set()

    def take(self, lane: dict[str, Any], name: str) -> None:
        """Ask until the file is here. A neighbour that answers at all may take its time."""
        if lane["peer"] is None:
            raise JobError(f"{self.folder}: {name} is not what the manifest says, and this node is the source")
        bad, alive = 0, time.monotonic()
        while not self.stop.is_set():
            before = self.received
            try:
                answer = self.fetch(lane, name)
            except (OSError, http.client.HTTPException) as error:
                answer = f"{type(error).__name__}: {error}"
                if self.received > before:
                    alive = time.monotonic()
                patience = self.job.get("patience_seconds", 120)
                if time.monotonic() - alive > patience:
                    raise JobError(f"{lane['peer']} did not give {name} for {patience} s: {answer}") from error
                self.stop.wait(min(1.0, patience / 10))
                continue
            alive = time.monotonic()
            if answer == "good":
                return
            if answer == "cut":
                self.stop.wait(0.1)
            bad += answer == "bad"
            if bad >= ATTEMPTS:
                raise JobError(
                    f"{name} came from {lane['peer']} {bad} times with a wrong digest: see both disks and the cable"
                )

    def fetch(self, lane: dict[str, Any], name: str) -> str:
        """One question: good, bad, later or cut. Raises OSError for the network only."""
        size, digest = self.sizes[name], self.digests[name]
        part = self.half / f"{digest}.part"
        with self.disk(), part.open("r+b" if part.exists() else "w+b", buffering=0) as file:
            running, place = self.resume(file, size)
            connection = http.client.HTTPConnection(
                lane["address"], self.job["port"], timeout=30, source_address=(lane["bind"], 0)
            )
            try:
                with self.network():
                    connection.request("GET", f"/{digest}", headers={"Range": f"bytes={place}-"})
                    answer = connection.getresponse()
                if answer.status == 503:
                    return "later"
                if answer.status != 206:
                    # Its agent may still have the job of an earlier run.
                    raise NetworkError(http.client.HTTPException(f"it answers {answer.status}"))
                place = self.receive(lane, answer, file, running, place)
            finally:
                connection.close()
            if place < size:
                return "cut"
            if running.hexdigest() != digest:
                part.unlink()
                return "bad"
            os.fsync(file.fileno())
            self.finish(part, name)
            if lane["last"]:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return "good"

    def resume(self, file: Any, size: int) -> tuple[Any, int]:
        """Go on after what is there."""
        running, place, buffer = hashlib.sha256(), 0, memoryview(bytearray(CHUNK_BYTES))
        file.truncate(min(size, os.fstat(file.fileno()).st_size))
        while count := file.readinto(buffer):
            running.update(buffer[:count])
            place += count
        return running, place

    def receive(self, lane: dict[str, Any], answer: Any, file: Any, running: Any, place: int) -> int:
        buffer = memoryview(bytearray(CHUNK_BYTES))
        while not self.stop.is_set():
            with self.network():
                count = answer.readinto(buffer)
            if not count:
                break
            running.update(buffer[:count])
            written = 0
            while written < count:
                written += file.write(buffer[written:count])
            place += count
            self.received += count
            self.progress[lane["lane"]]["bytes"] = place
        return place

    def finish(self, part: Path, name: str) -> None:
        """Under its name only now, and for good: a power cut leaves the old file or the new one."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file() and path.stat().st_size <= BACKUP_BYTES:
            backup = self.half / "replaced" / f"{name}.{time.strftime('%Y%m%dT%H%M%S')}"
            backup.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, backup)
        part.chmod(0o644)
        part.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
        self.cache.put(path, str(self.digests[name]))

    @contextlib.contextmanager
    def disk(self) -> Any:
        """What the disk refuses is no reason to ask again."""
        try:
            yield
        except NetworkError as error:
            raise error.reason from error
        except OSError as error:
            raise JobError(f"{self.folder} cannot be written: {error.strerror or error}") from error

    @contextlib.contextmanager
    def network(self) -> Any:
        try:
            yield
        except (OSError, http.client.HTTPException) as error:
            raise NetworkError(error) from error

    # The whole

    def check_space(self) -> None:
        needed = 0
        for name, size in self.sizes.items():
            path, part = self.folder / name, self.half / f"{self.digests[name]}.part"
            if not path.exists() or path.stat().st_size != size:
                needed += size - (min(size, part.stat().st_size) if part.exists() else 0)
        seen = os.statvfs(self.folder)
        free, reserve = seen.f_bavail * seen.f_frsize, self.job["reserve_bytes"]
        if needed and free < needed + reserve:
            raise JobError(
                f"{needed} bytes are to come to {self.folder}, {reserve} are to stay free, and free are {free}"
            )

    def run(self) -> str:
        """Do the job, then go on giving until somebody says stop or nobody asks any more. Returns how it ended."""
        servers: list[Server] = []
        reporter = threading.Thread(target=self.report, daemon=True)
        lanes = [threading.Thread(target=self.follow, args=(lane,), daemon=True) for lane in self.job["lanes"]]
        try:
            if any(lane["peer"] for lane in self.job["lanes"]):
                self.half.mkdir(parents=True, exist_ok=True)
                self.check_space()
            servers = [self.listen(address) for address in self.job.get("serve", [])]
            reporter.start()
            for thread in lanes:
                thread.start()
            for thread in lanes:
                thread.join()
            self.end()
            while servers and self.phase == "complete" and not self.stop.wait(0.2):
                if time.monotonic() - self.asked > self.job.get("idle_seconds", 900):
                    break
        except JobError as error:
            self.fail(str(error))
            self.end()
        except OSError as error:
            self.fail(f"{self.folder}: {error}")
            self.end()
        self.stop.set()
        for server in servers:
            server.shutdown()
            server.server_close()
        if reporter.is_alive():
            reporter.join()
        self.save()
        return self.phase

    def listen(self, address: str) -> Server:
        try:
            server = Server((address, self.job["port"]), Handler)
        except OSError as error:
            raise JobError(f"{address} port {self.job['port']} cannot be listened on: {error.strerror}") from error
        server.agent = self
        threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
        return server

    def end(self) -> None:
        self.asked = time.monotonic()
        self.seconds = self.asked - self.started
        if self.failure:
            self.phase = "failed"
        elif self.stop.is_set():
            self.phase = "stopped"
        else:
            if all(self.digests.values()):
                self.half.mkdir(exist_ok=True)
                write(self.half / "manifest.json", self.job["manifest"])
            self.phase = "complete"
        with self.changed:
            self.changed.notify_all()

    def report(self) -> None:
        while not self.stop.is_set():
            self.save()
            self.stop.wait(1)

    def save(self) -> None:
        now = time.monotonic()
        self.recent.append((now, self.received + self.read))
        then, before = self.recent[0]
        span = now - then
        lanes = sorted((dict(lane) for lane in list(self.progress.values())), key=lambda lane: str(lane["lane"]))
        done = sum(self.sizes[name] for name in list(self.verified))
        elapsed = self.seconds if self.seconds is not None else now - self.started
        with contextlib.suppress(OSError):  # a full disk is said elsewhere
            write(
                self.state / "status.json",
                {
                    "schema": 1,
                    "pid": os.getpid(),
                    "job": self.job.get("id"),
                    "state": self.phase,
                    "error": self.failure or None,
                    "files_total": len(self.sizes),
                    "files_done": len(self.verified),
                    "bytes_total": sum(self.sizes.values()),
                    "bytes_done": done + sum(lane["bytes"] for lane in lanes if lane["file"] not in self.verified),
                    "received_bytes": self.received,
                    "read_bytes": self.read,
                    "seconds": round(elapsed, 1),
                    "rate_mb_per_second": round((self.received + self.read - before) / span / 1e6, 1) if span else 0.0,
                    "mean_mb_per_second": round((self.received + self.read) / max(elapsed, 0.001) / 1e6, 1),
                    "lanes": lanes,
                },
            )


class NetworkError(Exception):
    """An error of the network, on its way through code that also writes."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


def main() -> int:
    parser = argparse.ArgumentParser(description="gets a checkpoint from the neighbours and gives it to them")
    parser.add_argument("job", type=Path)
    given = parser.parse_args()
    agent = Agent(json.loads(given.job.read_bytes()), given.job.parent)
    signal.signal(signal.SIGTERM, lambda *_: agent.stop.set())
    ended = agent.run()
    print(f"Checkpoint: {ended}. {agent.failure or ''}")
    return 1 if ended == "failed" else 0


if __name__ == "__main__":
    sys.exit(main())
