# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One tool call, as it was asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping

from battery.model import Answer, Finding

from .markup import leaked

LONGEST = 200


def call_faults(answer: Answer, name: str, arguments: Mapping[str, object], where: str = "") -> tuple[Finding, ...]:
    """What keeps the answer from being exactly one call of this name with these arguments."""
    seen = [("markup in the content of a tool call", leaked(answer.content))]
    if answer.finish_reason == "length":
        tokens = f"cut off after {answer.completion_tokens} tokens"
        seen.append(("tool call cut off", f"{tokens}: finish_reason length, expected tool_calls; raise max_tokens"))
    elif len(answer.calls) != 1:
        said = f"seen {len(answer.calls)} calls, expected one of {name}; content: {answer.content[:LONGEST]!r}"
        seen.append(("number of tool calls", said))
    else:
        call = answer.calls[0]
        seen.append(("name of the tool", "" if call.name == name else f"seen {call.name!r}, expected {name!r}"))
        seen.append(("arguments of the tool call", _arguments(call.arguments, arguments)))
    if answer.finish_reason not in ("tool_calls", "length"):
        seen.append(("finish_reason of a tool call", f"seen {answer.finish_reason}, expected tool_calls"))
    return tuple(Finding(what, where, evidence) for what, evidence in seen if evidence)


def _arguments(text: str, expected: Mapping[str, object]) -> str:
    wanted = _same(dict(expected))
    try:
        seen = _same(json.loads(text))
    except (ValueError, RecursionError) as error:
        reason = str(error) or type(error).__name__
        return f"not JSON ({reason}): seen {text[-LONGEST:]!r} at its end, expected {wanted[:LONGEST]}"
    return "" if seen == wanted else f"seen {seen[:LONGEST]}, expected {wanted[:LONGEST]}"


def _same(value: object) -> str:
    """The same text for the same JSON: Python takes true for 1, JSON does not."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
