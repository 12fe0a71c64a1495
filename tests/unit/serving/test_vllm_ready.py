# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""vllm_ready as Ansible runs it, against a server that listens on this machine."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args

from ansible_collections.switchless.spark.plugins.modules import vllm_ready
from tests.unit.serving.group_world import BOOT, INVOCATIONS, LIFE, end, keeper

KEY = "s3cr3t-of-the-lab"
SHOWN = f"LoadState=loaded\nActiveState=active\nSubState=running\nInvocationID={INVOCATIONS[0]}\n"
COMPLETION = {
    "model": "copy",
    "choices": [{"index": 0, "text": " Four"}],
    "usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6},
}
METRICS = """# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="128",cache_dtype="auto",enable_prefix_caching="True",engine="0",\
gpu_memory_utilization="0.92",kv_cache_max_concurrency="256.0",kv_cache_memory_bytes="None",\
kv_cache_size_tokens="1048576",num_gpu_blocks="8192",sliding_window="None"} 1.0
vllm:num_requests_running{engine="0",model_name="copy"} 0.0
"""
MODELS = {"data": [{"id": "lora"}, {"id": "copy", "root": "/srv/models/copy", "max_model_len": 4096}]}
GOOD: dict[str, tuple[int, str]] = {
    "/v1/completions": (200, json.dumps(COMPLETION)),
    "/metrics": (200, METRICS),
    "/v1/models": (200, json.dumps(MODELS)),
    "/version": (200, '{"version": "0.27.1"}'),
}


class Server(ThreadingHTTPServer):
    """Answers by path, and keeps what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = dict(GOOD)
        self.key = ""
        self.asked: list[tuple[str, str | None, Any]] = []
        self.let_go = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _answer(self, data: Any) -> None:
        given = self.headers["Authorization"]
        self.server.asked.append((self.path, given, data))
        status, body = self.server.answers[self.path]
        if self.server.key and self.path.startswith("/v1/") and given != f"Bearer {self.server.key}":
            status, body = 401, json.dumps({"error": f"Unauthorized: {given}"})
        if status == 0:
            self.server.let_go.wait(30)
            return
        self.send_response(status)
        if status == 302:
            self.send_header("Location", body)
        self.end_headers()
        self.wfile.write(body.encode())


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    thread = threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield one
    one.let_go.set()
    one.shutdown()
    one.server_close()
    thread.join()


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A head that serves."""
    for name, text in {
        "proc/sys/kernel/random/boot_id": BOOT,
        "run/vllm/lab/state.json": json.dumps(keeper(0, "serving")),
        "var/lib/vllm/lab/last_end.json": json.dumps(end()),
        "api.key": KEY + "\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(AnsibleModule, "get_bin_path", lambda _self, arg: f"/bin/{arg}")
    monkeypatch.setattr(AnsibleModule, "run_command", lambda *_args, **_more: (0, SHOWN, ""))
    return tmp_path


def ready(capsys: pytest.CaptureFixture[str], root: Path, at: str, **args: Any) -> Any:
    given = {"recipe": "lab", "url": at, "model": "copy", "root": str(root), "wait_seconds": 0, **args}
    with patch_module_args(given), pytest.raises(SystemExit):
        vllm_ready.main()
    out, err = capsys.readouterr()
    assert KEY not in out + err
    said = json.loads(out)
    if "ready" in said:
        assert said["changed"] is False
        assert "failed" not in said
        assert bool(said["detail"]) != said["ready"]
    return said


@pytest.mark.parametrize("check", [False, True])
def test_a_token(capsys: pytest.CaptureFixture[str], server: Server, root: Path, check: bool) -> None:
    server.key = KEY
    more = {"api_key_file": str(root / "api.key"), "prompt": "2+2?", "max_tokens": 3, "_ansible_check_mode": check}
    said = ready(capsys, root, server.url + "/", **more)
    assert said.pop("waited_seconds") >= 0
    labels = said["resolved"].pop("labels")
    assert said == {
        "changed": False,
        "ready": True,
        "state": "serving",
        "life": LIFE,
        "detail": "",
        "answer": " Four",
        "usage": COMPLETION["usage"],
        "failed_life": False,
        "end": None,
        "resolved": {
            "block_size": 128,
            "cache_dtype": "auto",
            "num_gpu_blocks": 8192,
            "kv_cache_size_tokens": 1048576,
            "kv_cache_max_concurrency": 256.0,
            "kv_cache_memory_bytes": None,
            "enable_prefix_caching": True,
            "id": "copy",
            "root": "/srv/models/copy",
            "max_model_len": 4096,
            "version": "0.27.1",
            "unread": [],
        },
    }
    assert (labels["gpu_memory_utilization"], labels["sliding_window"]) == (0.92, None)
    assert server.asked[0] == (
        "/v1/completions",
        f"Bearer {KEY}",
        {"model": "copy", "prompt": "2+2?", "max_tokens": 3, "temperature": 0},
    )


NOT_READY: dict[str, tuple[tuple[int, str], str]] = {
    "an error of the engine": (
        (500, '{"error": "EngineDeadError"}'),
        'answered HTTP 500: {"error": "EngineDeadError"}',
    ),
    "an unknown model": ((404, '{"message": "no copy"}'), 'answered HTTP 404: {"message": "no copy"}'),
    "a redirect": ((302, "/version"), "answered HTTP 302: /version"),
    "no JSON": ((200, "<html>hello</html>"), "answered what is no JSON object: <html>hello</html>"),
    "no object": ((200, "[1]"), "answered what is no JSON object: [1]"),
    "nothing": ((200, ""), "answered what is no JSON object: nothing"),
    "an empty answer": ((200, json.dumps(COMPLETION | {"choices": [{"text": ""}]})), "answered without a token"),
    "no choices": ((200, json.dumps(COMPLETION | {"choices": []})), "answered without a token"),
    "no token": ((200, json.dumps(COMPLETION | {"usage": {"completion_tokens": 0}})), "answered without a token"),
    "another model": (
        (200, json.dumps(COMPLETION | {"model": "tiny"})),
        "answered as the model 'tiny', expected 'copy'",
    ),
}


@pytest.mark.parametrize("case", NOT_READY)
def test_what_is_no_token(capsys: pytest.CaptureFixture[str], server: Server, root: Path, case: str) -> None:
    server.answers["/v1/completions"], words = NOT_READY[case]
    said = ready(capsys, root, server.url)
    assert (said["ready"], said["answer"], said["resolved"], said["failed_life"]) == (False, None, None, False)
    assert said["detail"].startswith(f"{server.url}/v1/completions {words}")
    assert [path for path, _key, _data in server.asked] == ["/v1/completions"]


def test_a_server_that_hangs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], server: Server, root: Path
) -> None:
    monkeypatch.setattr("ansible_collections.switchless.spark.plugins.module_utils._serving.ready.LEAST", 0.3)
    server.answers["/v1/completions"] = (0, "")
    said = ready(capsys, root, server.url)
    assert said["detail"] == f"{server.url}/v1/completions did not answer: silent for 0 s"


def test_nobody_listens(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        said = ready(capsys, root, url)
    assert said["detail"].startswith(f"{url}/v1/completions did not answer: ")
    assert "refused" in said["detail"]


def test_a_wrong_key(capsys: pytest.CaptureFixture[str], server: Server, root: Path) -> None:
    """The server even says which key it was given."""
    server.key = "another"
    said = ready(capsys, root, server.url, api_key_file=str(root / "api.key"))
    assert "refused the API key (HTTP 401)" in said["detail"]
    assert "Bearer ********" in said["detail"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "cannot be read: No such file or directory; run it as root"),
        ("", "cannot be sent: expected one line of text"),
        ("a\nb", "cannot be sent: expected one line of text"),
        ("schlüssel", "cannot be sent: expected ASCII"),
    ],
)
def test_a_key_that_is_none(
    capsys: pytest.CaptureFixture[str], server: Server, root: Path, text: str | None, words: str
) -> None:
    path = root / "other.key"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    said = ready(capsys, root, server.url, api_key_file=str(path))
    assert (said["ready"], said["detail"]) == (False, f"the API key in {path} {words}")
    assert server.asked == []


def test_what_cannot_be_read_is_null(capsys: pytest.CaptureFixture[str], server: Server, root: Path) -> None:
    server.answers |= {
        "/metrics": (200, "vllm:num_requests_running 0\n"),
        "/v1/models": (200, '{"data": [{"id": "other"}]}'),
        "/version": (503, "busy"),
    }
    said = ready(capsys, root, server.url)
    assert said["ready"]
    resolved = said["resolved"]
    assert {name for name, value in resolved.items() if value not in (None, {})} == {"unread"}
    assert resolved["unread"] == [
        f"{server.url}/metrics has no vllm:cache_config_info",
        f"{server.url}/version answered HTTP 503: busy",
        f"{server.url}/v1/models does not list 'copy'",
    ]


def test_the_life_that_is_not_waited_for(capsys: pytest.CaptureFixture[str], server: Server, root: Path) -> None:
    said = ready(capsys, root, server.url, life_before=[None, LIFE, end()["life"]])
    assert (said["ready"], said["failed_life"], server.asked) == (False, False, [])
    assert f"life {LIFE} is serving, and it is not the one" in said["detail"]


def test_a_life_that_ended(capsys: pytest.CaptureFixture[str], server: Server, root: Path) -> None:
    said = ready(capsys, root, server.url, life_before=[])
    assert (said["ready"], said["failed_life"], said["end"]) == (False, True, end())


def test_files_elsewhere(capsys: pytest.CaptureFixture[str], server: Server, root: Path) -> None:
    (root / "s").write_text(json.dumps(keeper(0, "starting", detail="loads")))
    said = ready(capsys, root, server.url, state_file="/s", end_file="/e", life_before=[])
    assert (said["state"], said["detail"], said["failed_life"]) == ("starting", "loads", False)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"recipe": "a b"}, "recipe is 'a b', expected"),
        ({"url": "192.0.2.1:8000"}, "url is '192.0.2.1:8000', expected http:// or https://"),
        ({"max_tokens": 0}, "max_tokens is 0, expected 1 or more"),
        ({"wait_seconds": -1}, "wait_seconds is -1, expected 0 or more"),
    ],
)
def test_wrong_arguments(capsys: pytest.CaptureFixture[str], root: Path, args: dict[str, Any], words: str) -> None:
    said = ready(capsys, root, "http://127.0.0.1:9", **args)
    assert said["failed"]
    assert said["msg"].startswith(words)
