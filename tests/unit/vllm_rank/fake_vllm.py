# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for `vllm serve`: fake_vllm.py FOLDER RANK PORT. Files in FOLDER change what it does.

At its start: `deaf` (SIGTERM is ignored), `grandchild` (a deaf process in a session of its own), `mute` (no API),
`crash` (ends at once). At any time, followed by the rank: `exit0`; without: `broken` (500), `hang` (nothing is
answered but /health and /metrics, and no counter moves).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FOLDER, RANK, PORT = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
TOKENS = [0]


def on(name: str) -> bool:
    return (FOLDER / name).exists()


class Api(BaseHTTPRequestHandler):
    def log_message(self, *_args: object) -> None:
        pass

    def reply(self, code: int, text: str) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self) -> None:
        if self.path == "/health":
            self.reply(200, "")
        else:
            name = '{engine="0",model_name="copy"}'
            figures = f"vllm:generation_tokens_total{name} {TOKENS[0]}\nvllm:num_requests_running{name} 0.0\n"
            self.reply(200, f"# HELP vllm:generation_tokens_total x\n{figures}vllm:num_requests_waiting{name} 0.0\n")

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        while on("hang"):
            time.sleep(0.05)
        if on("broken"):
            self.reply(500, "{}")
        elif self.headers["Authorization"] != "Bearer " + (FOLDER / "api.key").read_text():
            self.reply(401, "{}")
        else:
            TOKENS[0] += asked["max_tokens"]
            self.reply(200, json.dumps({"usage": {"completion_tokens": asked["max_tokens"]}}))


def main() -> None:
    if on("deaf"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if on("crash"):
        sys.exit(3)
    if on("grandchild"):
        deaf = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        deaf += "open({!r}, 'w').close()\ntime.sleep(600)"
        marker = str(FOLDER / f"grandchild.{RANK}")
        subprocess.Popen([sys.executable, "-I", "-c", deaf.format(marker)], start_new_session=True)
    if PORT and not on("mute"):
        threading.Thread(target=ThreadingHTTPServer(("127.0.0.1", PORT), Api).serve_forever, daemon=True).start()
    (FOLDER / f"pid.{RANK}").write_text(str(os.getpid()))
    while not on(f"exit0.{RANK}"):
        time.sleep(0.05)
    os._exit(0)


main()
