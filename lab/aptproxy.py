# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one way out of the lab: a caching proxy for apt.

It listens in the controller's network namespace and fetches from the machine's own, so no packet of a node can leave.
It answers GET and HEAD for the hosts of the machine's apt sources and for nothing else. What never changes (pool,
by-hash) is kept; a file appears in the cache only when it is complete.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import signal
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from collections import defaultdict
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lab import netns
from lab.aptsources import hosts, read_sources
from lab.disk import PROXY_PORT
from lab.site import CACHE, Site

if TYPE_CHECKING:
    from types import FrameType

KEPT_HEADERS = ("Last-Modified", "Content-Type", "ETag")
CONDITIONS = ("If-Modified-Since", "If-None-Match", "If-Range", "Range", "Cache-Control", "User-Agent")


def upstream(url: str, allowed: dict[str, str]) -> str | None:
    """Where to fetch what a node asked for; None if it may not have it."""
    parts = urlsplit(url)
    scheme = allowed.get(parts.netloc)
    if parts.scheme != "http" or scheme is None:
        return None
    return parts._replace(scheme=scheme, fragment="").geturl()


def immutable(path: str) -> bool:
    return "/pool/" in path or "/by-hash/" in path


class Cache:
    """Complete files by the hash of their address."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._guard = threading.Lock()

    def lock(self, url: str) -> threading.Lock:
        with self._guard:
            return self._locks[url]

    def path(self, url: str) -> Path:
        return self.folder / hashlib.sha256(url.encode()).hexdigest()

    def store(self, url: str, body: IO[bytes], length: str | None) -> Path:
        """Keep a body; raises IncompleteRead, and keeps nothing, if it is shorter than it should be."""
        handle, name = tempfile.mkstemp(prefix=".part-", dir=self.folder)
        part = Path(name)
        try:
            with os.fdopen(handle, "wb") as out:
                shutil.copyfileobj(body, out, 1 << 18)
                size = out.tell()
            if length is not None and size != int(length):
                raise http.client.IncompleteRead(b"", int(length) - size)  # noqa: TRY301 - the part goes either way
            part.chmod(0o644)
            return part.rename(self.path(url))
        except BaseException:
            part.unlink(missing_ok=True)
            raise


class Handler(BaseHTTPRequestHandler):
    """One connection of a node's apt."""

    protocol_version = "HTTP/1.1"
    timeout = 300
    server: Proxy

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class calls it so
        print(f"{self.client_address[0]} {format % args}", flush=True)

    def do_GET(self) -> None:
        url = upstream(self.path, self.server.allowed)
        if url is None:
            self.send_error(403, "not a host of this machine's apt sources")
            return
        try:
            if immutable(urlsplit(url).path) and "Range" not in self.headers:
                self._cached(url)
            else:
                self._fetched(url)
        except urllib.error.HTTPError as error:
            self._empty(error.code, error.headers)
        except (OSError, http.client.HTTPException) as error:
            with suppress(OSError):
                self.send_error(502, f"the mirror did not answer: {type(error).__name__}")
            self.close_connection = True

    do_HEAD = do_GET  # noqa: N815 - the base class looks for this name

    def _cached(self, url: str) -> None:
        path = self.server.cache.path(url)
        if not path.exists():
            with self.server.cache.lock(url):
                if not path.exists():
                    with self._open(url) as answer:
                        self.server.cache.store(url, answer, answer.headers.get("Content-Length"))
        with path.open("rb") as body:
            self._send(200, {"Content-Length": str(path.stat().st_size)}, body)

    def _fetched(self, url: str) -> None:
        with self._open(url) as answer, tempfile.TemporaryFile(dir=self.server.cache.folder) as body:
            shutil.copyfileobj(answer, body, 1 << 18)
            headers = {key: answer.headers[key] for key in KEPT_HEADERS if key in answer.headers}
            if "Content-Range" in answer.headers:
                headers["Content-Range"] = answer.headers["Content-Range"]
            headers["Content-Length"] = str(body.tell())
            body.seek(0)
            self._send(answer.status, headers, body)

    def _open(self, url: str) -> Any:
        headers = {key: self.headers[key] for key in CONDITIONS if key in self.headers}
        request = urllib.request.Request(url, headers=headers)  # noqa: S310 - scheme checked by upstream()
        return urllib.request.urlopen(request, timeout=120)  # noqa: S310

    def _send(self, status: int, headers: dict[str, str], body: IO[bytes]) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            shutil.copyfileobj(body, self.wfile, 1 << 18)

    def _empty(self, status: int, headers: Any) -> None:
        self.send_response(status)
        if last := headers.get("Last-Modified"):
            self.send_header("Last-Modified", last)
        if status != 304:
            self.send_header("Content-Length", "0")
        self.end_headers()


class Proxy(ThreadingHTTPServer):
    """The listening side, inside the controller's namespace."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address: str, allowed: dict[str, str], cache: Cache) -> None:
        self.allowed = allowed
        self.cache = cache
        super().__init__((address, PROXY_PORT), Handler)


def _stop(_number: int, _frame: FrameType | None) -> None:
    os._exit(0)


def main() -> None:
    signal.signal(signal.SIGTERM, _stop)
    site = Site(sys.argv[1])
    cache = Cache(CACHE)
    with netns.inside(site.controller):
        proxy = Proxy(site.wiring.controller, hosts(read_sources()), cache)
    proxy.serve_forever()


if __name__ == "__main__":
    main()
