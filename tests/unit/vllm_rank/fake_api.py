# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The API of the stand-in for vLLM. Apart from it, because a worker starts faster without http.server."""

from __future__ import annotations

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FOLDER = Path(sys.argv[1])
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


def serve(port: int) -> None:
    ThreadingHTTPServer(("127.0.0.1", port), Api).serve_forever()
