# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What went wrong with a request, in words: what was asked, what came, what to do. One line, without the key."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import httpx

from . import reply
from .model import ServerError

CONNECT_SECONDS = 10.0
MOST_LETTERS = 300
TOO_LONG = ("context length", "maximum model length", "max_model_len", "context_length_exceeded")
OTHER = "look at what listens on this port, and at vLLM's version"


@dataclass(frozen=True, slots=True)
class Api:
    """Where the server is and who asks. `seconds` is the longest silence: a long prefill says nothing until its end."""

    url: str
    model: str
    key: str = field(repr=False)
    key_file: str
    unit: str
    seconds: float

    @property
    def journal(self) -> str:
        return f"look at journalctl -u {self.unit} on every rank"


def error(api: Api, path: str, came: str, advice: str) -> ServerError:
    line = " ".join(f"{path} of {api.url}: {came}; {advice}".split())
    return ServerError(line.replace(api.key, "(the key)"))


def not_json(api: Api, path: str, what: str, text: bytes) -> ServerError:
    return error(api, path, f"{what} is not JSON: {text[:MOST_LETTERS].decode('utf-8', 'replace')}", OTHER)


def shapeless(api: Api, path: str, cause: Exception) -> ServerError:
    """JSON, but not what was expected in it."""
    return error(api, path, f"the answer is not what vLLM sends ({type(cause).__name__}: {cause})", OTHER)


def broken(api: Api, path: str, cause: httpx.HTTPError) -> ServerError:
    """No answer, or not all of it."""
    why = str(cause) or type(cause).__name__
    match cause:
        case httpx.ConnectTimeout():
            came, advice = f"no connection within {CONNECT_SECONDS:g} s", "look at the head's network and its firewall"
        case httpx.TimeoutException():
            came = f"nothing came for {api.seconds:g} s"
            advice = f"{api.journal}: it stalls, or timeout_seconds is less than the longest prefill takes"
        case httpx.ConnectError():
            came, advice = f"no connection ({why})", f"systemctl status {api.unit} says whether it serves"
        case _:
            came, advice = f"the connection broke ({why})", api.journal
    return error(api, path, came, advice)


def refused(api: Api, path: str, status: int, text: bytes, absent: str) -> ServerError:
    """A status other than 200. `absent` is the advice for 404."""
    try:
        said = reply.complaint(json.loads(text)) or text.decode("utf-8", "replace")
    except (ValueError, RecursionError):
        said = text.decode("utf-8", "replace")
    too_long = status == 413 or (status == 400 and any(words in said.lower() for words in TOO_LONG))
    if status in (401, 403):
        advice = f"the key in {api.key_file} is not the server's: run role vllm, which starts it with this key"
    elif status == 404:
        advice = absent
    elif too_long:
        advice = "the text is longer than the server's context: compare context_tokens with its max_model_len"
    elif status >= 500:
        advice = f"the engine may be dead: {api.journal}"
    else:
        advice = OTHER
    came = f"{status}: {said[:MOST_LETTERS]}" if said.strip() else f"{status} without a word"
    return error(api, path, came, advice)
