# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes with their verdicts. P and PC numbers are the collected reports of packages."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._cuda.judge import Wanted, judge
from ansible_collections.switchless.spark.plugins.module_utils._cuda.look import look
from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._driver.verdicts import SEVERITY
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Result
from tests.unit.cuda.cuda_world import (
    BOTH,
    FLIPPED,
    INSTALLED,
    NONE,
    NVCC_130,
    P12,
    P14A,
    P14B,
    P14C,
    PC01,
    Spark,
    spark,
)

ONLY_130 = """cuda - auto mode
  link best version is /usr/local/cuda-13.0
  link currently points to /usr/local/cuda-13.0
  link cuda is /usr/local/cuda
/usr/local/cuda-13.0 - priority 130
"""
SAME_131 = P14A.replace("12.1", "13.1").replace("121", "131")
FRESH = spark(toolkits={"13.0": NVCC_130}, display=Result(0, ONLY_130), installed={"cuda-toolkit-13-0": "13.0.2-1"})
EMPTY = spark(toolkits={}, leads_to=None, display=NONE, installed={"bash": "5"})
OLD = {"default": "12.6", "toolkits": ["12.6"], "serving": "12.6"}
NVCC_126 = P12.replace("13.3", "12.6").replace("V12.6.73", "V12.6.20")
MOVED = {"display": Result(0, FLIPPED), "leads_to": "/usr/local/cuda-13.3"}
FLIPPED_NODE = spark(**MOVED)

CASES: list[tuple[str, Spark, dict[str, Any], str, list[str], list[str]]] = [
    ("PC01 side by side", spark(), {}, "ok", ["link_right"], []),
    ("a stock Spark", FRESH, {}, "config", ["toolkit_missing"], ["cuda-toolkit-13-3"]),
    (
        "nothing there",
        EMPTY,
        {},
        "config",
        ["toolkit_missing", "toolkit_missing", "link_missing"],
        ["cuda-toolkit-13-0", "cuda-toolkit-13-3"],
    ),
    ("P14d 13.3 took the link", FLIPPED_NODE, {}, "config", ["link_moved"], []),
    ("P13 link and nvcc agree", FLIPPED_NODE, {"default": "13.3"}, "ok", ["link_right"], []),
    (
        "P14d a runtime package took the link",
        spark(
            toolkits=BOTH | {"13.1": None},
            display=Result(0, SAME_131),
            leads_to="/usr/local/cuda-13.1",
            installed=INSTALLED | {"cuda-cudart-13-1": "13.1.80-1"},
        ),
        {"default": "13.1", "toolkits": ["13.1"]},
        "config",
        ["nvcc_missing"],
        ["cuda-toolkit-13-1"],
    ),
    (
        "P14b manual, indented, not the best",
        spark(toolkits={"12.6": NVCC_126}, display=Result(0, P14B), leads_to="/usr/local/cuda-12.6"),
        OLD,
        "ok",
        ["link_right"],
        [],
    ),
    (
        "P14c an impossible listing",
        spark(toolkits={"12.6": NVCC_126}, display=Result(0, P14C), leads_to="/usr/local/cuda-12.6"),
        OLD,
        "unknown",
        ["link_unknown"],
        [],
    ),
    (
        "PC01 in auto mode",
        spark(display=Result(0, PC01.replace("manual", "auto"))),
        {},
        "unknown",
        ["link_unknown"],
        [],
    ),
    (
        "cuda-13 is not cuda",
        spark(display=Result(0, PC01.replace("cuda - ", "cuda-13 - "))),
        {},
        "unknown",
        ["link_unknown"],
        [],
    ),
    (
        "update-alternatives in another language",
        spark(display=Result(0, "cuda - manueller Modus\n  beste Version ist /usr/local/cuda-13.3\n")),
        {},
        "unknown",
        ["link_unknown"],
        [],
    ),
    ("the file says another thing", spark(leads_to="/usr/local/cuda-13.3"), {}, "unknown", ["link_disagrees"], []),
    ("a link made by hand", spark(by_hand=True, display=NONE), {}, "config", ["link_foreign"], []),
    ("a folder in its place", spark(folder=True, display=NONE), {}, "config", ["link_foreign"], []),
    (
        "toolkits by a .run file, not registered",
        spark(display=NONE, leads_to=None),
        {},
        "config",
        ["link_unregistered"],
        [],
    ),
    ("toolkits by a .run file", spark(installed={"bash": "5"}), {}, "ok", ["link_right"], []),
    (
        "only a part of the packages",
        spark(installed={"cuda-toolkit-13-0": "13.0.2-1", "cuda-nvcc-13-3": "13.3.73-1"}),
        {},
        "config",
        ["toolkit_partial"],
        ["cuda-toolkit-13-3"],
    ),
    ("nvcc of another version", spark(toolkits=BOTH | {"13.0": P12}), {}, "config", ["nvcc_other"], []),
    ("nvcc says nothing", spark(toolkits=BOTH | {"13.3": "Segmentation fault"}), {}, "unknown", ["nvcc_silent"], []),
    ("compat wanted", spark(), {"compat": True}, "config", ["compat_missing"], ["cuda-compat-13-3"]),
    ("compat there", spark(compat=["13.3"]), {"compat": True}, "ok", ["link_right"], []),
    (
        "a package and a version wanted",
        spark(),
        {"packages": ["bash", "cuda-nvcc-13-3=13.3.33-1", "tree"]},
        "config",
        ["package_missing", "package_missing"],
        ["cuda-nvcc-13-3=13.3.33-1", "tree"],
    ),
    ("no dpkg", spark(answers={"dpkg-query": None}), {}, "unknown", ["packages_unknown"], []),
    ("no driver", spark(loaded=False), {}, "ok", ["link_right"], []),
]


def codes(seen: dict[str, Any]) -> list[str]:
    """Without the notes, unless there is nothing else."""
    found = [reason["code"] for reason in seen["reasons"] if reason["verdict"] != "ok"]
    return found or [reason["code"] for reason in seen["reasons"] if reason["code"] != "driver_ceiling"]


@pytest.mark.parametrize(
    ("node", "arguments", "verdict", "expected", "lacking"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_verdict(
    ask: Any, node: Spark, arguments: dict[str, Any], verdict: str, expected: list[str], lacking: list[str]
) -> None:
    seen = ask(replace(node, asked=[]), **arguments)
    assert (seen["verdict"], codes(seen), seen["lacking"]) == (verdict, expected, lacking)
    assert all(reason["remedy"] for reason in seen["reasons"] if reason["verdict"] != "ok")


def test_what_it_returns(ask: Any) -> None:
    node = spark(memory='{"packages": ["tree", "cuda-toolkit-13-3"], "link": {"set": "/usr/local/cuda-13.0"}}')
    seen = ask(node)
    assert seen["toolkits"] == [
        {"version": "13.0", "path": "/usr/local/cuda-13.0", "nvcc": "13.0.88", "compat": False},
        {"version": "13.3", "path": "/usr/local/cuda-13.3", "nvcc": "13.3.73", "compat": False},
    ]
    assert seen["link"] == {
        "kind": "alternative",
        "target": "/etc/alternatives/cuda",
        "leads_to": "/usr/local/cuda-13.0",
    }
    assert seen["alternatives"]["priorities"] == {"/usr/local/cuda-13.0": 130, "/usr/local/cuda-13.3": 133}
    assert seen["remembered"] == {
        "packages": ["cuda-toolkit-13-3", "tree"],
        "installed": ["cuda-toolkit-13-3"],
        "link": {"set": "/usr/local/cuda-13.0"},
    }
    assert seen["serving_home"] == "/usr/local/cuda-13.3"
    assert ("/usr/local/cuda-13.3/bin/nvcc", "--version") in node.asked


def test_what_nvidia_smi_means(ask: Any) -> None:
    """P01, and the article: 13.0 after 13.3 was installed."""
    seen = ask(spark())
    assert (seen["smi"]["driver"], seen["smi"]["cuda"]) == ("580.173.02", "13.0")
    assert "no toolkit" in seen["smi"]["meaning"]
    assert seen["reasons"][-1]["code"] == "driver_ceiling"


def test_nvidia_smi_would_load_the_driver(ask: Any) -> None:
    node = spark(loaded=False)
    assert ask(node)["smi"] == {"driver": None, "cuda": None, "meaning": None}
    assert all("nvidia-smi" not in argv for argv in node.asked)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"packages": "all", "link": 1}', '{"packages": [1]}'])
def test_a_memory_that_is_none(ask: Any, text: str) -> None:
    assert ask(spark(memory=text))["remembered"] == {"packages": [], "installed": [], "link": None}


def test_a_version_that_is_none(ask: Any) -> None:
    assert ask(spark(), toolkits=["13", "13.3"]) == "'13' is no version of a toolkit; expected: one such as '13.0'"


def test_check_mode_is_the_same(ask: Any) -> None:
    assert ask(spark(), _ansible_check_mode=True)["verdict"] == "ok"


PROGRAMS = ("dpkg-query", "nvcc", "timeout", "update-alternatives")
LINKS = ("etc/alternatives/cuda", "usr/local/cuda", "usr/local/cuda-13.3/bin/nvcc", "sys/module/nvidia")
WRONG = [(node, arguments) for _name, node, arguments, verdict, _codes, _lacking in CASES if verdict != "ok"]


def judged(node: Spark, arguments: dict[str, Any], answers: dict[str, Any], gone: frozenset[str]) -> str:
    wanted = {"default": "13.0", "toolkits": ("13.0", "13.3"), "serving": "13.3"} | arguments
    node = replace(node, answers=dict(node.answers) | answers, asked=[])
    with tempfile.TemporaryDirectory() as folder:
        node.build(Path(folder))
        for name in gone:
            path = Path(folder, name)
            if path.is_symlink() or path.is_file():
                path.unlink()
            elif path.is_dir() and not any(path.iterdir()):
                path.rmdir()
        wants = Wanted(**{key: tuple(value) if isinstance(value, list) else value for key, value in wanted.items()})
        verdict: str = judge(look(Tree(folder), node), wants)["verdict"]
        return verdict


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(WRONG),
    st.frozensets(st.sampled_from(PROGRAMS), max_size=3),
    st.frozensets(st.sampled_from(LINKS), max_size=3),
)
def test_missing_evidence_makes_nothing_ok(
    case: tuple[Spark, dict[str, Any]], programs: frozenset[str], gone: frozenset[str]
) -> None:
    node, arguments = case
    assert judged(node, arguments, dict.fromkeys(programs), gone) != "ok"


@pytest.mark.parametrize("program", ["dpkg-query", "nvcc", "update-alternatives"])
def test_what_matters_is_missed(program: str) -> None:
    assert judged(spark(), {}, {program: None}, frozenset()) == "unknown"


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(PROGRAMS), st.text(max_size=80), st.sampled_from((0, 1, 2)))
def test_garbage_is_no_crash(program: str, text: str, rc: int) -> None:
    verdict = judged(spark(), {}, {program: Result(rc, text)}, frozenset())
    assert verdict in SEVERITY
    assert verdict != "ok" or program == "timeout"
