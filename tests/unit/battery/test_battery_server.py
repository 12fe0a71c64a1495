# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The connection, against a small real server that plays what vLLM sends, and all that can go wrong."""

from __future__ import annotations

import asyncio
import json
import math
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from battery.failure import Api
from battery.model import Call, Question, Score, ServerError
from battery.server import HttpServer

from tests.unit.battery.test_battery_counters import metrics

KEY = "hiddenhiddenhidden"
USAGE = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13, "prompt_tokens_details": None}
HELLO = Question.plain("Say hello.", 8)
SEEN_32 = 32


class Fake(ThreadingHTTPServer):
    """Answers with what `play` writes, and keeps what it was asked."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.play: Callable[[Handler], None] = lambda _handler: None
        self.asked: list[tuple[str, Any, str | None]] = []
        self.silent = threading.Event()
        self.barrier = threading.Barrier(SEEN_32)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that left are what some tests are about."""


class Handler(BaseHTTPRequestHandler):
    server: Fake
    protocol_version = "HTTP/1.1"

    def log_message(self, *_args: object) -> None:
        pass

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append((self.path, json.loads(text) if text else None, self.headers["Authorization"]))
        self.server.play(self)

    def do_GET(self) -> None:
        self.do_POST()

    def reply(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def begin(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def piece(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def stream(self, *events: Any, done: bool = True) -> None:
        self.begin()
        for event in (*events, "[DONE]") if done else events:
            self.piece(f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode())
        self.piece(b"")


@pytest.fixture
def fake() -> Iterator[Fake]:
    server = Fake()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.silent.set()
    server.shutdown()
    server.server_close()
    thread.join()


def delta(**said: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": said, "logprobs": None, "finish_reason": None}], "usage": None}


def end(reason: str = "stop") -> tuple[dict[str, Any], dict[str, Any]]:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}, {"choices": [], "usage": USAGE}


def call(fake: Fake, what: Callable[[HttpServer], Any], seconds: float = 5.0, port: int | None = None) -> Any:
    url = f"http://127.0.0.1:{port or fake.server_port}"
    api = Api(url, "copy", KEY, "/etc/switchless/api.key", "vllm@lab.service", seconds)

    async def ask() -> Any:
        async with HttpServer(api) as server:
            return await what(server)

    return asyncio.run(ask())


def ask(fake: Fake, question: Question = HELLO, **more: Any) -> Any:
    return call(fake, lambda server: server.ask(question), **more)


def refusal(fake: Fake, question: Question = HELLO, **more: Any) -> str:
    with pytest.raises(ServerError) as refused:
        ask(fake, question, **more)
    said = str(refused.value)
    assert KEY not in said
    assert KEY not in repr(refused.value.__cause__)
    assert "\n" not in said
    return said


# what is asked


def test_what_is_asked(fake: Fake) -> None:
    fake.play = lambda handler: handler.stream(delta(content="a"), *end())
    tool = {"type": "function", "function": {"name": "f"}}
    ask(fake, Question.plain("x", 7, tools=(tool,), logprobs=3, extra={"seed": 1, "temperature": 1.0}))
    path, body, key = fake.asked[0]
    assert (path, key) == ("/v1/chat/completions", f"Bearer {KEY}")
    assert body == {
        "model": "copy",
        "messages": [{"role": "user", "content": "x"}],
        "max_tokens": 7,
        "temperature": 1.0,
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [tool],
        "logprobs": True,
        "top_logprobs": 3,
        "seed": 1,
    }


def test_what_is_asked_plainly(fake: Fake) -> None:
    message: dict[str, Any] = {"role": "assistant", "content": "a", "reasoning": None, "tool_calls": []}
    fake.play = lambda handler: handler.reply(200, json.dumps({"choices": [{"message": message}], "usage": USAGE}))
    ask(fake, Question.plain("x", 7, stream=False))
    assert fake.asked[0][1].keys() == {"model", "messages", "max_tokens", "temperature", "stream"}


def test_proxies_of_the_environment_are_not_used(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    fake.play = lambda handler: handler.stream(delta(content="a"), *end())
    assert ask(fake).content == "a"


# what comes


def test_a_stream_is_joined(fake: Fake) -> None:
    first = {"index": 0, "id": "x", "type": "function", "function": {"name": "move", "arguments": ""}}
    fake.play = lambda handler: handler.stream(
        delta(role="assistant", content=""),
        delta(reasoning="think"),
        delta(reasoning_content="ing", reasoning="ing"),
        delta(content="Hé"),
        delta(content="llo \N{LINE SEPARATOR}"),
        delta(tool_calls=[first]),
        delta(tool_calls=[{"index": 1, "function": {"name": "stop", "arguments": "{}"}}]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": '{"to":'}}]),
        delta(tool_calls=[{"index": 0, "function": {"name": None, "arguments": "1}"}}], content=None),
        *end("tool_calls"),
    )
    answer = ask(fake)
    assert (answer.content, answer.reasoning) == ("Héllo \N{LINE SEPARATOR}", "thinking")
    assert answer.calls == (Call("move", '{"to":1}'), Call("stop", "{}"))
    assert answer.finish_reason == "tool_calls"
    assert (answer.prompt_tokens, answer.completion_tokens, answer.cached_tokens) == (9, 4, None)
    assert len(answer.arrivals) == 8
    assert answer.sent_at < answer.first_at == answer.arrivals[0] <= answer.arrivals[-1] <= answer.ended_at


def test_a_line_may_hold_what_others_take_for_its_end(fake: Fake) -> None:
    text = "a\N{LINE SEPARATOR}b\N{PARAGRAPH SEPARATOR}c\N{NEXT LINE}d"
    fake.play = lambda handler: handler.stream(
        json.dumps(delta(content=text), ensure_ascii=False), *(json.dumps(event) for event in end())
    )
    assert ask(fake).content == text


def test_chunks_of_the_network_are_not_those_of_the_server(fake: Fake) -> None:
    events = [delta(content="Zażółć "), delta(content="\N{REPLACEMENT CHARACTER} gęślą"), *end()]
    text = ": hello\r\n\r\n" + "".join(f"data: {json.dumps(event, ensure_ascii=False)}\r\n\r\n" for event in events)

    def play(handler: Handler) -> None:
        handler.begin()
        data = (text + "data:[DONE]").encode()
        for at in range(0, len(data), 7):
            handler.piece(data[at : at + 7])
        handler.piece(b"")

    fake.play = play
    assert ask(fake).content == "Zażółć \N{REPLACEMENT CHARACTER} gęślą"


LOGPROBS = {
    "content": [
        {"token": "1", "logprob": -0.25, "bytes": None, "top_logprobs": [{"token": "1", "logprob": -0.25}]},
        {
            "token": "2",
            "logprob": None,
            "top_logprobs": [{"token": "2", "logprob": None}, {"token": "3", "logprob": -9}],
        },
        {"token": "4", "logprob": -0.5, "top_logprobs": []},
    ]
}


@pytest.mark.parametrize("stream", [True, False])
def test_log_probabilities(fake: Fake, stream: bool) -> None:
    said = {"message": {"content": "12"}, "delta": {"content": "12"}, "logprobs": LOGPROBS}
    fake.play = lambda handler: (
        handler.stream({"choices": [said]}, *end())
        if stream
        else handler.reply(200, json.dumps({"choices": [said], "usage": USAGE}))
    )
    first, nan, last = ask(fake, Question.plain("x", 2, logprobs=2, stream=stream)).scores
    assert (first, last) == (Score("1", -0.25, (("1", -0.25),)), Score("4", -0.5))
    assert math.isnan(nan.logprob)
    assert nan.others[1] == ("3", -9.0)


def test_an_answer_in_one_piece(fake: Fake) -> None:
    calls = [{"id": str(n), "function": {"name": f"f{n}", "arguments": f"[{n}]"}} for n in range(2)]
    message = {"content": None, "reasoning_content": "hm", "tool_calls": calls}
    usage = USAGE | {"prompt_tokens_details": {"cached_tokens": 8}}
    data = {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": usage}
    fake.play = lambda handler: handler.reply(200, json.dumps(data))
    answer = ask(fake, Question.plain("x", 7, stream=False))
    assert (answer.content, answer.reasoning, answer.cached_tokens) == ("", "hm", 8)
    assert answer.calls == (Call("f0", "[0]"), Call("f1", "[1]"))
    assert answer.arrivals == (answer.first_at,)


def test_nothing_came(fake: Fake) -> None:
    fake.play = lambda handler: handler.stream(delta(role="assistant", content=""), *end())
    answer = ask(fake)
    assert (answer.content, answer.first_at, answer.ttft, answer.arrivals) == ("", None, None, ())


def test_many_at_once(fake: Fake) -> None:
    """Each of them is answered only when the server has all of them."""

    def play(handler: Handler) -> None:
        fake.barrier.wait(5)
        handler.stream(delta(content="a"), *end())

    fake.play = play

    async def all_of_them(server: HttpServer) -> list[str]:
        return [answer.content for answer in await asyncio.gather(*(server.ask(HELLO) for _number in range(SEEN_32)))]

    assert call(fake, all_of_them) == ["a"] * SEEN_32


def test_the_other_questions(fake: Fake) -> None:
    says = {
        "/tokenize": json.dumps({"count": 3, "max_model_len": 4096, "tokens": [1, 2, 3]}),
        "/v1/models": json.dumps({"object": "list", "data": [{"id": "copy"}, {"id": "other"}]}),
        "/metrics": metrics(0),
    }
    fake.play = lambda handler: handler.reply(200, says[handler.path])

    async def others(server: HttpServer) -> tuple[int, tuple[str, ...], float]:
        return await server.tokens("a b"), await server.models(), (await server.counters()).generated_tokens

    assert call(fake, others) == (3, ("copy", "other"), 640)
    assert fake.asked[0][:2] == ("/tokenize", {"model": "copy", "prompt": "a b"})


# what goes wrong


def say(status: int, text: str) -> Callable[[Handler], None]:
    return lambda handler: handler.reply(status, text)


def error(message: str, **more: Any) -> str:
    return json.dumps({"error": {"message": message, "type": "x", "param": None, **more}})


LONG = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."


@pytest.mark.parametrize(
    ("play", "said"),
    [
        (
            lambda handler: handler.reply(401, f'{{"error": "Unauthorized {handler.headers["Authorization"]}"}}'),
            ["401: Unauthorized Bearer (the key)", "/etc/switchless/api.key", "run role vllm"],
        ),
        (say(401, ""), ["401 without a word", "/etc/switchless/api.key"]),
        (say(400, error(LONG)), [LONG, "context_tokens"]),
        (say(400, json.dumps({"object": "error", "message": LONG, "code": 400})), [LONG, "context_tokens"]),
        (say(413, "Request Entity Too Large"), ["413: Request Entity Too Large", "context_tokens"]),
        (say(400, error("top_logprobs must be positive")), ["400: top_logprobs must be positive", "vLLM's version"]),
        (
            say(500, error("EngineCore encountered\nan issue")),
            ["500: EngineCore encountered an issue", "engine may be"],
        ),
        (say(503, "x" * 100_000), ["engine may be dead", "journalctl -u vllm@lab.service"]),
        (say(302, ""), ["302 without a word", "what listens on this port"]),
        (lambda handler: handler.stream(delta(content="a"), done=False), ["without [DONE], after 1 chunks"]),
        (lambda handler: handler.stream(), ["not what vLLM sends", "no usage"]),
        (lambda handler: handler.stream(delta(content="a"), "{broken"), ["chunk 2 of the stream is not JSON: {broken"]),
        (lambda handler: handler.stream("[" * 100_000), ["chunk 1 of the stream is not JSON"]),
        (lambda handler: handler.stream([1]), ["not what vLLM sends"]),
        (lambda handler: handler.stream({"choices": [{"delta": {"content": [1]}}]}, *end()), ["not what vLLM sends"]),
        (lambda handler: handler.stream({"choices": 3}), ["not what vLLM sends"]),
        (
            lambda handler: handler.stream(delta(content="a"), error("EngineDeadError", code=500)),
            ["error within the stream, after 1 chunks: EngineDeadError", "journalctl -u vllm@lab.service"],
        ),
        (lambda handler: handler.stream({"object": "error", "message": "old"}), ["after 0 chunks: old"]),
    ],
)
def test_a_stream_that_goes_wrong(fake: Fake, play: Callable[[Handler], None], said: list[str]) -> None:
    fake.play = play
    seen = refusal(fake)
    assert [words for words in said if words not in seen] == [], seen
    assert seen.startswith(f"/v1/chat/completions of http://127.0.0.1:{fake.server_port}: ")
    assert len(seen) < 700


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<html>", "what came is not JSON: <html>"),
        (error("no such thing"), "an error object: no such thing"),
        ('{"choices": []}', "no usage"),
        (
            '{"choices": [{"message": {"content": "a"}}], "usage": {"completion_tokens": 1}}',
            "KeyError: 'prompt_tokens'",
        ),
        ("[]", "not what vLLM sends"),
        ('{"choices": [{"message": {"tool_calls": [{"index": "a"}, {"index": 1}]}}], "usage": 1}', "not what vLLM"),
    ],
)
def test_a_piece_that_goes_wrong(fake: Fake, text: str, said: str) -> None:
    fake.play = say(200, text)
    assert said in refusal(fake, Question.plain("x", 1, stream=False))


@pytest.mark.parametrize(
    ("models", "said"),
    [
        (
            '{"data": [{"id": "other"}, {"id": "more"}]}',
            "asked for the model copy, it has other, more: run role guards",
        ),
        ('{"data": [{"id": "copy"}]}', "it has the model copy, but not this path"),
        ('{"data": []}', "it has none"),
        ("<html>", "it does not say which models it has: /v1/models of"),
    ],
)
def test_an_unknown_model(fake: Fake, models: str, said: str) -> None:
    fake.play = lambda handler: (
        handler.reply(200, models) if handler.path == "/v1/models" else handler.reply(404, error("does not exist"))
    )
    seen = refusal(fake)
    assert "404: does not exist" in seen
    assert said in seen


def test_not_a_server_of_vllm(fake: Fake) -> None:
    fake.play = say(404, "")
    for what, path in ((HttpServer.counters, "/metrics"), (HttpServer.models, "/v1/models")):
        with pytest.raises(ServerError, match=f"^{path} of .*404 without a word.*what listens on this port"):
            call(fake, what)
    fake.play = say(200, "{}")
    with pytest.raises(ServerError, match=r"^/tokenize of .*KeyError: 'count'"):
        call(fake, lambda server: server.tokens("x"))


def test_nobody_listens(fake: Fake) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        seen = refusal(fake, port=free.getsockname()[1])
    assert "no connection (" in seen
    assert "systemctl status vllm@lab.service" in seen


@pytest.mark.parametrize("begun", [True, False])
def test_a_server_that_falls_silent(fake: Fake, begun: bool) -> None:
    def play(handler: Handler) -> None:
        if begun:
            handler.begin()
            handler.piece(f"data: {json.dumps(delta(content='a'))}\n\n".encode())
        fake.silent.wait(5)
        handler.close_connection = True

    fake.play = play
    seen = refusal(fake, seconds=0.2)
    assert "nothing came for 0.2 s" in seen
    assert "timeout_seconds" in seen


@pytest.mark.parametrize("begun", [True, False])
def test_a_server_that_goes_away(fake: Fake, begun: bool) -> None:
    def play(handler: Handler) -> None:
        if begun:
            handler.begin()
            handler.piece(f"data: {json.dumps(delta(content='a'))}\n\n".encode())
        handler.connection.shutdown(socket.SHUT_RDWR)
        handler.close_connection = True

    fake.play = play
    seen = refusal(fake)
    assert "the connection broke (" in seen
    assert "journalctl -u vllm@lab.service" in seen
