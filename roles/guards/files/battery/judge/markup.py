# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Markup of chat templates, tools and reasoning in what a user reads, in all its spellings.

Bars are ASCII, U+FF5C, U+2016 or U+2225, also doubled; an opener may have no end. Only joined text can be judged: a
marker is often split over chunks.
"""

from __future__ import annotations

import re

from .shown import shown

ODD = "\uff5c\u2016\u2225"
BARS = f"|{ODD}"
ROLES = "assistant|user|system|observation|tool"
# The first words of special tokens, so that an opener without an end is not mistaken for an operator.
HEADS = (
    "im_|begin|end|start|eot|eom|eos|bos|fim|tool|assistant|user|system|channel|message|return|call|think|pad|"
    "observation|constrain|vision|image|sep|reserved|python_tag"
)
TOKENS = re.compile(
    rf"<\s?/?\s?[{BARS}]*[{ODD}][{BARS}]*\s?[\w/]"
    rf"|<\s?/?\s?\|+\s?/?DSML"
    rf"|<\|[\w▁/.:-][\w▁/.: -]{{0,47}}\|>"
    rf"|<\|/?(?:{HEADS})[\w▁]*"
    rf"|[{BARS}]\s?DSML\s?[{BARS}]"
    rf"|(?<![A-Za-z0-9_])[{BARS}](?:{ROLES})[{BARS}]|[{BARS}](?:{ROLES})[{BARS}](?![A-Za-z0-9_])"
    r"|(?<=[A-Za-z])▁(?=[A-Za-z])|(?<!\S)▁(?=[A-Za-z])"
    r"|<(?:bos|eos|pad|unk|sop|eop|eod|(?:start|end)_of_(?:turn|image))>|<0x[0-9A-F]{2}>|<extra_id_\d+>"
    r"|\[(?:/?INST|gMASK|/?THINK|/?TOOL_(?:CALLS?|RESULTS)|/?AVAILABLE_TOOLS)\]|<</?SYS>>"
)
THOUGHTS = re.compile(r"</?(?:[a-z]+:)?(?:think|thinking|thoughts?|reasoning)(?:>|(?=\s|$))|◁/?think▷")
# A bare `<function>` or `(?P<function>` is no call.
CALLS = re.compile(
    r"</?(?:[A-Za-z]+:)?(?:tool_(?:calls?|responses?|results?|use|outputs?|sep|calls_section)|function_(?:calls?|results?)|"
    r"arg_key|arg_value)(?=[\s=>/]|$)"
    r"|<(?:[A-Za-z]+:)?(?:function|invoke|parameter)(?=[\s=]|$)|</(?:[A-Za-z]+:)?(?:function|invoke|parameter)(?=>|$)"
)
END = re.compile(r"</s>")

TOKENS_ASKED = re.compile(
    r"special tokens?|control tokens?|chat ?templates?|chatml|\bDSML\b|tokeni[sz]er"
    r"|(?:start|end).of.(?:sequence|sentence|text|turn)",
    re.IGNORECASE,
)
TAGS_ASKED = re.compile(
    r"\b(?:xml|x?html|svg|jsx|tsx|sgml|xsd|xaml|vue|svelte|maven|ant|markup|tags?)\b", re.IGNORECASE
)
NEVER = re.compile(r"(?!)")


def leaked(text: str, prompt: str = "") -> str:
    asked = _folded(prompt)
    seen = [
        found
        for sign, wanted in ((TOKENS, TOKENS_ASKED), (THOUGHTS, NEVER), (CALLS, TAGS_ASKED), (END, TAGS_ASKED))
        if not wanted.search(prompt)
        for found in sign.finditer(text)
        if _folded(found[0]) not in asked and not _at_home(text, found)
    ]
    if not seen:
        return ""
    first = min(seen, key=re.Match.start)
    return (
        f"{len(seen)} of {', '.join(sorted({found[0] for found in seen})[:4])}; the first {shown(text, *first.span())}"
    )


def _folded(text: str) -> str:
    """All bars alike and single, no end tags, no blanks."""
    return re.sub(r"\|+", "|", re.sub(r"[\s/]", "", text.translate(dict.fromkeys(map(ord, ODD), "|"))))


def _at_home(text: str, found: re.Match[str]) -> bool:
    """A cell of a table, or the end of what HTML strikes out."""
    if found[0].startswith("|"):
        start, end = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end())
        line = text[start : end if end >= 0 else len(text)].strip()
        return line.startswith("|") and line.endswith("|")
    return found[0] == "</s>" and "<s>" in text[: found.start()]
