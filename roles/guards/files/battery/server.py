# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The server that is judged, over HTTP. Whatever goes wrong is a ServerError of `failure`."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Self

import httpx

from . import counters, failure, reply
from .failure import Api
from .model import Answer, Counters, Question, ServerError

CHAT, METRICS, MODELS, TOKENIZE = "/v1/chat/completions", "/metrics", "/v1/models", "/tokenize"


class HttpServer:
    """A `model.Server`. Close it, or use it as a context."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self._client = httpx.AsyncClient(
            base_url=api.url,
            headers={"Authorization": f"Bearer {api.key}", "Content-Type": "application/json"},
            trust_env=False,
            timeout=httpx.Timeout(api.seconds, connect=failure.CONNECT_SECONDS, pool=None),
            # A connection for each request: the server closes idle ones after 5 s, and a request that meets one that
            # closes would look like a server that is gone.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._client.aclose()

    async def ask(self, question: Question) -> Answer:
        asked = reply.body(self.api.model, question)
        joined = reply.Joined(time.monotonic())
        if question.stream:
            async with self._open("POST", CHAT, asked) as response:
                await self._stream(response, joined)
        else:
            data = await self._json("POST", CHAT, asked)
            with self._shaped(CHAT):
                joined.take(data, time.monotonic())
        with self._shaped(CHAT):
            return joined.answer(time.monotonic())

    async def counters(self) -> Counters:
        async with self._open("GET", METRICS) as response:
            text = await response.aread()
        return counters.counters(text.decode("utf-8", "replace"), time.monotonic())

    async def tokens(self, text: str) -> int:
        data = await self._json("POST", TOKENIZE, {"model": self.api.model, "prompt": text})
        with self._shaped(TOKENIZE):
            return int(data["count"])

    async def models(self) -> tuple[str, ...]:
        """The names that the server answers to."""
        data = await self._json("GET", MODELS)
        with self._shaped(MODELS):
            return tuple(str(model["id"]) for model in data["data"])

    @asynccontextmanager
    async def _open(
        self, method: str, path: str, asked: Mapping[str, Any] | None = None
    ) -> AsyncIterator[httpx.Response]:
        """A response with status 200. Errors of the transport while it is read become a ServerError too."""
        content = None if asked is None else json.dumps(asked).encode()
        try:
            async with self._client.stream(method, path, content=content) as response:
                if response.status_code != httpx.codes.OK:
                    absent = await self._absent(path) if response.status_code == httpx.codes.NOT_FOUND else ""
                    raise failure.refused(self.api, path, response.status_code, await response.aread(), absent)
                yield response
        except httpx.HTTPError as error:
            raise failure.broken(self.api, path, error) from error

    async def _json(self, method: str, path: str, asked: Mapping[str, Any] | None = None) -> Any:
        async with self._open(method, path, asked) as response:
            text = await response.aread()
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise failure.not_json(self.api, path, "what came", text) from error
        self._heed(path, data, "an error object")
        return data

    async def _stream(self, response: httpx.Response, joined: reply.Joined) -> None:
        """Server-sent events until [DONE]."""
        chunks = 0
        async for line in _lines(response):
            if not line.startswith(b"data:"):
                continue
            text = line.removeprefix(b"data:").strip()
            if text == b"[DONE]":
                return
            try:
                data = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise failure.not_json(self.api, CHAT, f"chunk {chunks + 1} of the stream", text) from error
            self._heed(CHAT, data, f"an error within the stream, after {chunks} chunks")
            chunks += 1
            with self._shaped(CHAT):
                joined.take(data, time.monotonic())
        came = f"the stream ended without [DONE], after {chunks} chunks"
        raise failure.error(self.api, CHAT, came, self.api.journal)

    def _heed(self, path: str, data: Any, where: str) -> None:
        said = reply.complaint(data)
        if said is not None:
            raise failure.error(self.api, path, f"{where}: {said[: failure.MOST_LETTERS]}", self.api.journal)

    @contextmanager
    def _shaped(self, path: str) -> Iterator[None]:
        try:
            yield
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise failure.shapeless(self.api, path, error) from error

    async def _absent(self, path: str) -> str:
        """What the server has instead of what was not found."""
        if path not in (CHAT, TOKENIZE):
            return failure.OTHER
        try:
            names = await self.models()
        except ServerError as error:
            return f"it does not say which models it has: {error}"
        if self.api.model in names:
            return f"it has the model {self.api.model}, but not this path: look at vLLM's version"
        has = ", ".join(names) or "none"
        return f"asked for the model {self.api.model}, it has {has}: run role guards with the recipe that is served"


async def _lines(response: httpx.Response) -> AsyncIterator[bytes]:
    """Lines that end with a newline. httpx' own also end at U+2028 and others, which answers may hold."""
    left = b""
    async for part in response.aiter_bytes():
        *lines, left = (left + part).split(b"\n")
        for line in lines:
            yield line
    if left:
        yield left
