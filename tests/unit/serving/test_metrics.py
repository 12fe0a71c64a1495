# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prometheus text as data."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._serving.metrics import meaning, samples


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("vllm:num_requests_running 3", ("vllm:num_requests_running", {}, 3.0)),
        ('a{b="c"} 1.5', ("a", {"b": "c"}, 1.5)),
        ('a{b="c",d="e",} 1e3 1796000000000', ("a", {"b": "c", "d": "e"}, 1000.0)),
        ('a{ b = "c" , d="e" } 1', ("a", {"b": "c", "d": "e"}, 1.0)),
        ('a{b="x\\"y\\\\z\\nw"} 1', ("a", {"b": 'x"y\\z\nw'}, 1.0)),
        ('a{b="}, c=\\"d\\""} 1', ("a", {"b": '}, c="d"'}, 1.0)),
        ('a{b=""} 0', ("a", {"b": ""}, 0.0)),
        ("a{} 0\r", ("a", {}, 0.0)),
        ("a +Inf", ("a", {}, float("inf"))),
        ("# HELP a b", None),
        ("# a 1", None),
        ("", None),
        ("a", None),
        ("a b", None),
        ('a{b="c} 1', None),
        ("a{b=c} 1", None),
        ('a{b="c" d="e"} 1', None),
        ("<html>not metrics</html>", None),
    ],
)
def test_lines(line: str, found: tuple[str, dict[str, str], float] | None) -> None:
    said = [(one.name, dict(one.labels), one.value) for one in samples(line)]
    assert said == ([] if found is None else [found])


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), st.text(max_size=12), max_size=4), st.integers())
def test_what_is_written_is_read(labels: dict[str, str], value: int) -> None:
    def quoted(text: str) -> str:
        return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    inner = ",".join(f'{name}="{quoted(text)}"' for name, text in labels.items())
    text = f"# TYPE x gauge\nx{{{inner}}} {value}\nlast 1\n"
    said = list(samples(text))
    assert [one.name for one in said] == ["x", "last"]
    assert said[0].labels == labels
    assert said[0].value == float(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("128", 128),
        ("0.92", 0.92),
        ("None", None),
        ("True", True),
        ("False", False),
        ("auto", "auto"),
        ("", ""),
        ("fp8_e4m3", "fp8_e4m3"),
        ("1e3", 1000.0),
    ],
)
def test_meanings(text: str, value: Any) -> None:
    said = meaning(text)
    assert (said, type(said)) == (value, type(value))
