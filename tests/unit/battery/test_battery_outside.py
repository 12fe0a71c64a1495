# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Others' benchmarks: how they are called, what is read of them, and what is said when they cannot be run."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from battery.command import run
from battery.course import AskSpeed
from battery.outcome import Measure, SpeedTask
from battery.outside import (
    BENCHY,
    VLLM,
    Outside,
    benchy_measures,
    interpreter,
    llama_benchy,
    measures,
    vllm_argv,
    vllm_bench,
    vllm_measures,
)

from tests.unit.battery.fake_engine import FakeEngine
from tests.unit.battery.stand_in import stand_in
from tests.unit.battery.test_battery_settings import settings_of

KEY = "hiddenhiddenhidden"
ASKED = Outside("http://127.0.0.1:8000", "copy", KEY, Path("/srv/models/copy"), "s1", seconds=20)
Call = Callable[[Outside, Path | None], Awaitable[tuple[Measure, ...]]]
BENCH = {
    "completed": 8,
    "failed": 0,
    "max_concurrency": 1,
    "output_throughput": 61.5,
    "median_ttft_ms": 412.0,
    "median_tpot_ms": 12.5,
}
REPORT = {
    "version": "0.4.0",
    "benchmarks": [
        {"concurrency": 2, "context_size": 0, "prompt_size": 2048, "response_size": 128},
        {
            "concurrency": 1,
            "context_size": 0,
            "prompt_size": 2048,
            "response_size": 128,
            "pp_throughput": {"mean": 1750.0, "std": 1.0, "values": [1749, 1751]},
            "tg_throughput": {"mean": 80.9, "std": 0.1, "values": [80.8, 81.0]},
            "e2e_ttft": {"mean": 1200.0, "std": 10.0, "values": [1190, 1210]},
        },
    ],
}


def program(folder: Path, script: str) -> Path:
    """A script that can be run, with Python's path in its first line as pip writes it."""
    return stand_in(folder / "program", f"import json, os, sys, time\nfrom pathlib import Path\n{script}")


def asked(call: Call, path: Path | None, asked: Outside = ASKED) -> tuple[Measure, ...]:
    async def go() -> tuple[Measure, ...]:
        return await call(asked, path)

    return asyncio.run(go())


# as steps of a run


@pytest.mark.parametrize(
    ("vllm", "benchy", "checkpoint", "names"),
    [
        (None, None, "/srv/models/copy", []),
        ("/opt/vllm/bin/vllm", None, "/srv/models/copy", [VLLM]),
        ("/opt/vllm/bin/vllm", "/opt/benchy/bin/llama-benchy", "/srv/models/copy", [VLLM, BENCHY]),
        ("/opt/vllm/bin/vllm", "/opt/benchy/bin/llama-benchy", None, []),
    ],
)
def test_those_that_the_settings_name_are_steps(
    tmp_path: Path, vllm: str | None, benchy: str | None, checkpoint: str | None, names: list[str]
) -> None:
    settings = settings_of(tmp_path, vllm_program=vllm, benchy_program=benchy, checkpoint=checkpoint)
    assert [name for name, _call in measures(settings, settings.api())] == names


def test_a_step_gives_their_figures_and_leaves_nothing_in_the_home(tmp_path: Path) -> None:
    """The lab's context holds no prompt of the usual length beside its answer."""
    told = tmp_path / "told"
    script = (
        f"Path({str(told)!r}).write_text(json.dumps([sys.argv, dict(os.environ)]))\n"
        "given = dict(zip(sys.argv, sys.argv[1:]))\n"
        f"Path(given['--result-dir'], 'result.json').write_text({json.dumps(BENCH)!r})"
    )
    named = {"vllm_program": str(program(tmp_path, script)), "checkpoint": "/srv/models/copy", "context_tokens": 3000}
    settings = settings_of(tmp_path, **named)
    ((_name, call),) = measures(settings, settings.api())
    got = asyncio.run(measured(call, SpeedTask(False, "s1", 3000, {}, 20.0)))
    assert [measure.values for measure in got] == [(61.5,), (80.0,), (0.412,)], got
    argv, environment = json.loads(told.read_text())
    given = dict(pairwise(argv))
    assert (given["--random-input-len"], given["--tokenizer"]) == ("1500", "/srv/models/copy")
    assert (environment["OPENAI_API_KEY"], environment["HOME"]) == (settings.api().key, given["--result-dir"])


async def measured(call: AskSpeed, task: SpeedTask) -> tuple[Measure, ...]:
    got = await call(FakeEngine(), task)
    assert isinstance(got, tuple)
    return got


# vllm bench serve


def test_the_arguments_of_vllm() -> None:
    argv = vllm_argv(ASKED, Path("/opt/vllm/bin/vllm"), Path("/tmp/x"))  # noqa: S108 (not used)
    assert argv[:5] == ["/opt/vllm/bin/vllm", "bench", "serve", "--backend", "openai"]
    given = dict(pairwise(argv))
    assert given["--base-url"] == "http://127.0.0.1:8000"
    assert given["--tokenizer"] == "/srv/models/copy"
    assert given["--random-input-len"] == "2048"
    assert given["--result-filename"] == "result.json"
    assert KEY not in " ".join(argv)


def test_another_run_has_another_seed() -> None:
    def seed(salt: str) -> str:
        asked = Outside("http://x", "m", KEY, Path("/m"), salt)
        argv = vllm_argv(asked, Path("vllm"), Path("d"))
        return argv[argv.index("--seed") + 1]

    assert seed("a") == seed("a") != seed("b")


SAVE = f"""
given = dict(zip(sys.argv, sys.argv[1:]))
assert os.environ["OPENAI_API_KEY"] == {KEY!r} and {KEY!r} not in " ".join(sys.argv)
Path(given["--result-dir"], given["--result-filename"]).write_text({json.dumps(BENCH)!r})
"""


def test_what_vllm_says(tmp_path: Path) -> None:
    note = "8 requests, 0 failed, 1 at once"
    assert asked(vllm_bench, program(tmp_path, SAVE)) == (
        Measure("outside_vllm_bench_output_tokens_per_second", "tokens/s", (61.5,), note),
        Measure("outside_vllm_bench_decode_tokens_per_second", "tokens/s", (80.0,), note),
        Measure("outside_vllm_bench_ttft_seconds", "s", (0.412,), note),
    )


def test_requests_that_all_failed_have_no_figures() -> None:
    got = vllm_measures(BENCH | {"completed": 0, "failed": 8})
    assert got == (Measure(VLLM, "", (), "0 requests, 8 failed, 1 at once"),)


# llama-benchy


def test_what_llama_benchy_says() -> None:
    note = "version 0.4.0, prompts of 2048 tokens, answers of 128"
    assert benchy_measures(REPORT) == (
        Measure("outside_llama_benchy_prefill_tokens_per_second", "tokens/s", (1749.0, 1751.0), note),
        Measure("outside_llama_benchy_decode_tokens_per_second", "tokens/s", (80.8, 81.0), note),
        Measure("outside_llama_benchy_ttft_seconds", "s", (1.19, 1.21), note),
    )


def test_llama_benchy_is_run_with_a_book_and_a_hidden_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The module that is run stands in for it: it sees the key as an argument, the machine does not."""
    (tmp_path / "llama_benchy").mkdir()
    (tmp_path / "llama_benchy" / "__main__.py").write_text(
        "import hashlib, json, os, sys\n"
        "from pathlib import Path\n"
        "given = dict(zip(sys.argv, sys.argv[1:]))\n"
        f"assert given['--api-key'] == {KEY!r}\n"
        f"assert {KEY!r} not in Path('/proc/self/cmdline').read_text()\n"
        "assert given['--base-url'] == 'http://127.0.0.1:8000/v1'\n"
        "name = hashlib.md5(given['--book-url'].encode()).hexdigest()\n"
        "book = Path(os.path.expanduser('~'), '.cache', 'llama-benchy', name + '.txt').read_text()\n"
        "assert len(book.split()) > 50000\n"
        f"Path(given['--save-result']).write_text({json.dumps(REPORT)!r})\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    got = asked(llama_benchy, program(tmp_path, ""))
    assert [each.values for each in got] == [(1749.0, 1751.0), (80.8, 81.0), (1.19, 1.21)], got


@pytest.mark.parametrize(
    ("first", "found"),
    [
        (b"#!/opt/benchy/bin/python3.12\nimport x", "/opt/benchy/bin/python3.12"),
        (b"#!/opt/benchy/bin/python", "/opt/benchy/bin/python"),
        (b"#!/bin/sh\n'''exec' /a/python", None),
        (b"\x7fELF\x02", None),
        (b"", None),
    ],
)
def test_whose_python(tmp_path: Path, first: bytes, found: str | None) -> None:
    (tmp_path / "p").write_bytes(first)
    assert interpreter(tmp_path / "p") == found


def test_a_program_of_another_kind(tmp_path: Path) -> None:
    (tmp_path / "p").write_text("#!/bin/sh\n")
    (got,) = asked(llama_benchy, tmp_path / "p")
    assert "install llama-benchy in a virtual environment" in got.note


# what cannot be run


@pytest.mark.parametrize(("call", "name"), [(vllm_bench, VLLM), (llama_benchy, BENCHY)])
@pytest.mark.parametrize("path", [None, Path("/nowhere/program")])
def test_a_program_that_is_not_there(call: Call, name: str, path: Path | None) -> None:
    (got,) = asked(call, path)
    assert (got.name, got.values) == (name, ())
    assert f"is not there: seen {path}" in got.note


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (
            "sys.exit('cannot connect with ' + os.environ['OPENAI_API_KEY'])",
            "exit code 1: cannot connect with (the key)",
        ),
        ("", "it left no result: No such file"),
        (SAVE.replace(json.dumps(BENCH), "half {"), "its result is not what was expected (JSONDecodeError"),
        (SAVE.replace(json.dumps(BENCH), "{}"), "its result is not what was expected (KeyError"),
        (SAVE.replace(json.dumps(BENCH), "[]"), "its result is not what was expected (TypeError"),
    ],
)
def test_a_program_that_fails(tmp_path: Path, script: str, words: str) -> None:
    (got,) = asked(vllm_bench, program(tmp_path, script))
    assert (got.name, got.values) == (VLLM, ())
    assert words in got.note
    assert KEY not in got.note


def test_a_program_that_is_cut_off(tmp_path: Path) -> None:
    fields: dict[str, Any] = {name: getattr(ASKED, name) for name in Outside.__slots__} | {"seconds": 0.5}
    (got,) = asked(vllm_bench, program(tmp_path, "time.sleep(60)"), Outside(**fields))
    assert got.note.startswith("it was ended after 0.5 s")


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    """Also when the run that waits for it is stopped: a grandchild goes too."""
    os.mkfifo(tmp_path / "pid")
    script = "import subprocess, sys; c = subprocess.Popen(['sleep', '60']); open(sys.argv[1], 'w').write(str(c.pid))"

    async def go() -> str:
        running = asyncio.create_task(run([sys.executable, "-S", "-c", script, str(tmp_path / "pid")], 60.0))
        pid = await asyncio.to_thread((tmp_path / "pid").read_text)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return pid

    status = Path("/proc", asyncio.run(go()), "status")
    assert not status.exists() or "State:\tZ" in status.read_text()


def test_the_key_is_in_no_words_of_the_request() -> None:
    assert KEY not in repr(ASKED)
