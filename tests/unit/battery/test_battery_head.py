# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which lines of the head's journal are errors, and what its state file tells of the group."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from battery.head import Life, changed, error, error_lines, family, journal, life, records

from tests.unit.battery.stand_in import stand_in

ERRORS = [
    # S09, S10, S12, S16, S25 and their like of the collected serving cases, and what kernels and systemd say.
    "(Worker_TP11 pid=113) ERROR 08-10 23:02:36 [multiproc_executor.py:898] zmq.error.ZMQError: Address already in use",
    "(Worker_TP9 pid=111) ERROR 08-10 23:02:36 [multiproc_executor.py:898] WorkerProc failed to start.",
    (
        "(vLLMHttpServer pid=6840) (Worker pid=7181) ERROR 06-09 17:58:55 [multiproc_executor.py:852] "
        "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address."
    ),
    "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined.",
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    "(EngineCore pid=88) WARNING 08-10 23:02:36 [core.py:1] CUDA error: out of memory",
    "[2026-03-13 22:26:02] spark-a:71:99 [5] ibvwrap.c:262 NCCL WARN Call to ibv_modify_qp failed with 110",
    "NVRM: Xid (PCI:000f:01:00): 79, pid=1, GPU has fallen off the bus.",
    "Killed",
    "vllm@lab.service: A process of this unit has been killed by the OOM killer.",
    "vllm@lab.service: Main process exited, code=exited, status=1/FAILURE",
    "ERROR:    Exception in ASGI application",
    "AssertionError",
    "Fatal Python error: Segmentation fault",
    "CRITICAL 08-10 23:02:36 [launcher.py:1] it is over",
]
# N01 to N14 of the collected serving cases, and others that healthy servers write.
NEVER = [
    (
        "(EngineCore_DP0 pid=1088) WARNING 12-17 23:27:50 [ray_utils.py:207] tensor_parallel_size=2 is bigger than a "
        "reserved number of GPUs (1 GPUs) in a node 9b520231."
    ),
    (
        "(EngineCore_DP0 pid=1088) (RayWorkerWrapper pid=1171) WARNING 12-17 23:27:54 [symm_mem.py:67] "
        "SymmMemCommunicator: Device capability 12.1 not supported, communicator is not available."
    ),
    (
        "(EngineCore_DP0 pid=1088) (RayWorkerWrapper pid=1171) WARNING 12-17 23:27:54 [custom_all_reduce.py:92] Custom "
        "allreduce is disabled because this process group spans across nodes."
    ),
    (
        "spark-a:1:2 [0] init.cc:449 NCCL WARN Spectrum-X (SPCX) NCCL plugin is not supported on device:<nic:cluster>, "
        "skipping .. [repeated 3x across cluster]"
    ),
    (
        "  Found GPU0 NVIDIA GB10 which is of cuda capability 12.1. Minimum and Maximum cuda capability supported "
        "by this version of PyTorch is (8.0) - (12.0)"
    ),
    (
        "[W:onnxruntime:Default, device_discovery.cc:164 DiscoverDevicesForPlatform] GPU device discovery failed: "
        'device_discovery.cc:89 ReadFileContents Failed to open file: "/sys/class/drm/card0/device/vendor"'
    ),
    "[shm_broadcast.py:681] No available shared memory broadcast block found in 60 seconds.",
    "[rank0]:[W801 ProcessGroupNCCL.cpp:1565] Warning: WARNING: destroy_process_group() was not called before exit",
    (
        'Failed to check the "should dump" flag on TCPStore, (maybe TCPStore server has shut down too early), '
        "with error: Broken pipe"
    ),
    "NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.",
    "  SSH cmd <- 192.168.100.2 FAILED rc=255 (5.0s): ssh: connect to host 192.168.100.2 port 22: Connection timed out",
    "WARNING 12-17 23:27:54 [multiproc_executor.py:921] Reducing Torch parallelism from 112 threads to 1",
    "NVRM: nvCheckOkFailed: NV_ERR_NO_MEMORY (0x00000051)",
    "Worker VllmWorker-1 died, exit code: -15",
    "rank 3: arx: STALL while a graph is captured",
    'INFO:     127.0.0.1:53604 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
    "INFO 08-10 23:02:36 [loggers.py:1] Engine 000: Avg generation throughput: 70.2 tokens/s, Running: 1 reqs",
    "INFO 08-10 23:02:36 [logger.py:1] Received request: 'What does CUDA error 700 mean? Killed'",
    "Started vllm@lab.service - vLLM, recipe lab.",
    "",
]
TRACEBACK = """(EngineCore pid=88) ERROR 08-10 23:02:36 [core.py:898] EngineCore failed to start.
(EngineCore pid=88) ERROR 08-10 23:02:36 [core.py:898] Traceback (most recent call last):
(EngineCore pid=88) ERROR 08-10 23:02:36 [core.py:898]   File "core.py", line 891, in run_engine_core
(EngineCore pid=88) ERROR 08-10 23:02:36 [core.py:898]     raise RuntimeError("no")
(EngineCore pid=88) ERROR 08-10 23:02:36 [core.py:898]            ^^^^^^^^^^^^^^^^^^
(EngineCore pid=88) ERROR 08-10 23:02:36 [core.py:898] RuntimeError: no
Traceback (most recent call last):
  File "api.py", line 3, in <module>
    raise ValueError("RuntimeError: two")
ValueError: RuntimeError: two

During handling of the above exception, another exception occurred:
"""


@pytest.mark.parametrize("line", ERRORS)
def test_an_error_is_reported(line: str) -> None:
    assert error_lines([{"MESSAGE": line}]) == [line]


@pytest.mark.parametrize("line", NEVER)
def test_what_must_never_be_reported(line: str) -> None:
    assert error_lines([{"MESSAGE": line}]) == []


def test_of_a_traceback_its_last_line() -> None:
    prefix = "(EngineCore pid=88) ERROR 08-10 23:02:36 [core.py:898] "
    wanted = [f"{prefix}EngineCore failed to start.", f"{prefix}RuntimeError: no", "ValueError: RuntimeError: two"]
    assert error_lines([{"MESSAGE": TRACEBACK}]) == wanted
    assert error_lines([{"MESSAGE": line} for line in TRACEBACK.split("\n")]) == wanted


@pytest.mark.parametrize(
    "message",
    ["\x1b[31mValueError: x\x1b[0m", list(b"\x1b[31mValueError: x\x1b[0m"), "ValueError: x  \nValueError: x"],
)
def test_colours_bytes_and_what_is_said_twice(message: object) -> None:
    assert error_lines([{"MESSAGE": message}]) == ["ValueError: x"]


@pytest.mark.parametrize("message", [None, 3, {}, ["a"]])
def test_a_message_that_is_none(message: object) -> None:
    assert error_lines([{"MESSAGE": message}, {}]) == []


def test_many_errors_are_cut_and_counted() -> None:
    seen = error_lines({"MESSAGE": f"ValueError: {number}"} for number in range(80))
    assert len(seen) == 51
    assert seen[-1] == "and 30 more: journalctl -u on the head has them"


def test_records_that_are_none() -> None:
    assert list(records('{"MESSAGE": "a"}\nhalf {"MESS\n[1]\n\n{"MESSAGE": "b"}')) == [
        {"MESSAGE": "a"},
        {"MESSAGE": "b"},
    ]


def test_error_is_one_line() -> None:
    assert error("ValueError: x")
    assert not error("    ValueError: x")


# journalctl


def journalctl(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    stand_in(folder / "journalctl", f"import os, sys\n{script}", "-S")
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


def test_the_journal_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = tmp_path / "argv"
    line = json.dumps({"MESSAGE": "ValueError: x"})
    script = f"print(*sys.argv[1:], os.environ['LC_ALL'], file=open({str(seen)!r}, 'w')); print({line!r})"
    journalctl(tmp_path, monkeypatch, script)
    assert asyncio.run(journal("vllm@lab.service", 1_796_000_000.7)) == (["ValueError: x"], True)
    assert seen.read_text() == "-u vllm@lab.service -o json --all --no-pager --since @1796000000 C\n"


def test_a_quiet_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journalctl(tmp_path, monkeypatch, "print('-- No entries --')")
    assert asyncio.run(journal("vllm@lab.service", 0)) == ([], True)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("sys.exit('Failed to open journal')", "exit code 1: Failed to open journal"),
        (
            "print('Hint: You are currently not seeing messages from other users.', file=sys.stderr)",
            "group",
        ),
    ],
)
def test_a_journal_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    journalctl(tmp_path, monkeypatch, script)
    said, known = asyncio.run(journal("vllm@lab.service", 0))
    assert not known
    assert words in said[0]


def test_no_journalctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said, known = asyncio.run(journal("vllm@lab.service", 0))
    assert not known
    assert "journalctl could not be started: No such file" in said[0]


# the group


def state(**changes: Any) -> dict[str, Any]:
    """As the rank keeper of the head writes it."""
    return {"schema": 1, "state": "serving", "life": "aa", "child": 42, "ended": None} | changes


ENDED = {"reason": "rank_ended", "rank": 2, "host": "spark3", "detail": "exit status 0", "at": 1.0}


def test_the_state_file(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text(json.dumps(state(ended=ENDED)))
    assert life(path) == Life("aa", "serving", 42, "rank_ended on rank 2 (spark3): exit status 0")
    path.write_text(json.dumps(state(life=None, child=None, state="gathering")))
    assert life(path) == Life(None, "gathering", None, "")


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"life": "a', '{"ended": "x", "child": 1, "life": "a"}'])
def test_a_state_file_that_says_nothing(tmp_path: Path, text: str) -> None:
    path = tmp_path / "state.json"
    assert life(path) is None
    path.write_text(text)
    assert life(path) is None


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (Life("aa", "serving", 42, ""), None),
        (Life("bb", "serving", 43, "rank_ended on rank 2 (spark3): exit status 0"), "life aa, then bb; the one before"),
        (Life(None, "gathering", None, ""), "life aa, then None"),
        (Life("aa", "ending", 42, ""), "its state is ending, expected serving"),
    ],
)
def test_what_happened_to_the_group(after: Life, words: str | None) -> None:
    found = changed(Life("aa", "serving", 42, ""), after)
    assert len(found) == (words is not None)
    assert all((words or "") in each.evidence for each in found)


def test_a_process_and_its_descendants(tmp_path: Path) -> None:
    for pid, parent, name in [(1, 0, "init"), (42, 1, "vllm"), (50, 42, "a) S 1 (b"), (51, 50, "w"), (60, 1, "other")]:
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_text(f"{pid} ({name}) S {parent} 1 1 0")
    (tmp_path / "70").mkdir()
    (tmp_path / "70" / "stat").write_text("gone")
    assert family(42, tmp_path) == [42, 50, 51]


def test_a_child_of_this_process_is_found() -> None:
    with subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE) as child:
        try:
            assert child.pid in family(os.getpid())
        finally:
            child.kill()
